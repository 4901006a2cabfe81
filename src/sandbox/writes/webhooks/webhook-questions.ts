/**
 * What all webhooks together say about a request: the mutating ones one after the other, each about what the one before
 * left, and the validating ones at once.
 */
import {
  type Failure,
  fail,
  groupDetail,
  internalError,
  qualifiedName,
  type Resource,
} from "../../../apiserver/index.ts"
import { messageOf } from "../../../message-of.ts"
import { CostLimitError, EvaluationError, Meter } from "../../cel/evaluation.ts"
import { dynamicValue, type Value } from "../../cel/values.ts"
import { applyJsonPatch } from "../../patch/json/json-patch.ts"
import { isJsonObject, type JsonObject, type JsonValue } from "../../patch/json/json-value.ts"
import { PatchError } from "../../patch/patch-failure.ts"
import { isSame } from "../../rules/fields.ts"
import type { MutableObject } from "../../rules/kind-rules.ts"
import { Refusal } from "../../store/refusal.ts"
import { type AdmissionAttributes, asView, calledAs, type Served, type Webhook, type Webhooks } from "./webhook.ts"
import { requestIn, type WebhookAnswer, type WebhookCaller } from "./webhook-caller.ts"

// `matchConditions` of a webhook: it is called only if all of them are true. A condition that fails counts like a webhook that does not
// answer, unless another one is false.

/** Whether a webhook is to be called as `view`, or why the request is refused instead. */
const meetsConditions = (webhook: Webhook, attributes: AdmissionAttributes, view: Resource): boolean | Failure => {
  if (webhook.conditions.length === 0) return true
  const variables = variablesOf(attributes, view)
  const problems: string[] = []
  const meter = new Meter()
  for (const { expression, program } of webhook.conditions) {
    try {
      if (program.run(variables, meter) === false) return false
    } catch (error) {
      if (!(error instanceof EvaluationError || error instanceof CostLimitError)) throw error
      problems.push(`expression '${expression}' resulted in error: ${error.message}`)
      if (error instanceof CostLimitError) break
    }
  }
  if (problems.length === 0) return true
  return webhook.isFailureIgnored ? false : forbiddenBy(problems, attributes)
}

const variablesOf = (attributes: AdmissionAttributes, view: Resource): Readonly<Record<string, Value>> => {
  const { object, oldObject, resource } = attributes
  const shown = (state: typeof object): Value => dynamicValue(asView(state, attributes, resource, view) ?? null)
  return {
    object: shown(object),
    oldObject: shown(oldObject),
    request: requestIn(attributes, view),
    namespaceObject: null,
  }
}

const forbiddenBy = (problems: ReadonlyArray<string>, { resource, name }: AdmissionAttributes): Failure => {
  const all = problems.length === 1 ? String(problems[0]) : `[${problems.join(", ")}]`
  return fail(403, `${qualifiedName(resource)} ${JSON.stringify(name)} is forbidden: ${all}`, {
    reason: "Forbidden",
    details: { ...(name !== "" && { name }), ...groupDetail(resource), kind: resource.plural },
  })
}

export interface Verdict {
  /** Why the request is refused; absent if it is not. */
  readonly failure?: Failure
  readonly warnings: ReadonlyArray<string>
  /** JSON of the object as the webhooks left it; absent if none changed it. */
  readonly object?: string
}

/** How an object changes between webhooks. Both may throw Refusal. */
export interface Reshaping {
  /** An object with its defaults, made of a patched document. */
  readonly settle: (document: JsonValue) => MutableObject
  /** Built-in admission, which follows once more if a webhook has changed the object. */
  readonly readmit: (object: MutableObject) => void
}

/** A request, and what it takes to ask about it. */
export interface Asked {
  readonly webhooks: Webhooks
  readonly attributes: AdmissionAttributes
  readonly served: Served
  readonly caller: WebhookCaller
}

/** Never rejects for what webhooks do. */
export const askMutating = async (asked: Asked, reshaping: Reshaping): Promise<Verdict> => {
  const run = new MutatingRun(asked, reshaping)
  const failure = await run.run()
  return { warnings: run.warnings, ...(failure === undefined ? run.result : { failure }) }
}

/** Waits for all of them; the first refusal in their order counts. */
export const askValidating = async ({ webhooks, attributes, served, caller }: Asked): Promise<Verdict> => {
  const called = webhooks.of("validating").flatMap((webhook) => {
    const view = calledAs(webhook, attributes, served)
    const isMet = view !== undefined && meetsConditions(webhook, attributes, view)
    return isMet === false || view === undefined ? [] : [{ webhook, view, isMet }]
  })
  const answers = await Promise.all(
    called.map(({ webhook, view, isMet }): Promise<WebhookAnswer> | WebhookAnswer =>
      isMet === true ? caller.call(webhook, attributes, view) : { type: "refused", failure: isMet, warnings: [] },
    ),
  )
  const failures = called.map(({ webhook }, index) => failureIn(webhook, answers[index] as WebhookAnswer))
  const failure = failures.find((candidate) => candidate !== undefined)
  return { warnings: answers.flatMap(warningsOf), ...(failure !== undefined && { failure }) }
}

const warningsOf = (answer: WebhookAnswer): ReadonlyArray<string> => (answer.type === "failed" ? [] : answer.warnings)

/** `undefined` if the request may continue. */
const failureIn = (webhook: Webhook, answer: WebhookAnswer): Failure | undefined => {
  if (answer.type === "allowed") return undefined
  if (answer.type === "refused") return answer.failure
  if (webhook.isFailureIgnored) return undefined
  return internalError(`failed calling webhook ${JSON.stringify(webhook.name)}: ${answer.problem}`)
}

/**
 * Two rounds at most: if a webhook has changed the object, built-in admission runs once more, and so do the webhooks with
 * `reinvocationPolicy: IfNeeded` that have not seen the latest change.
 */
class MutatingRun {
  readonly warnings: string[] = []
  readonly #asked: Asked
  readonly #reshaping: Reshaping
  /** Reinvocable webhooks that have seen the object as it is now. */
  readonly #informed = new Set<Webhook>()
  readonly #outdated = new Set<Webhook>()
  #object: MutableObject | undefined
  #isChanged = false

  constructor(asked: Asked, reshaping: Reshaping) {
    const { object } = asked.attributes
    this.#asked = asked
    this.#reshaping = reshaping
    this.#object = object === undefined ? undefined : (JSON.parse(JSON.stringify(object)) as MutableObject)
  }

  get result(): Pick<Verdict, "object"> {
    return this.#isChanged ? { object: JSON.stringify(this.#object) } : {}
  }

  /** Returns why the request is refused. */
  async run(): Promise<Failure | undefined> {
    const webhooks = this.#asked.webhooks.of("mutating")
    for (const webhook of webhooks) {
      const failure = await this.#call(webhook)
      if (failure !== undefined) return failure
    }
    if (!this.#isChanged || this.#object === undefined) return undefined
    const object = this.#object
    const before = JSON.stringify(object)
    const refusal = failureOf(() => this.#reshaping.readmit(object))
    if (refusal !== undefined) return refusal
    if (JSON.stringify(object) !== before) this.#outdate()
    for (const webhook of webhooks) {
      const failure = this.#outdated.has(webhook) ? await this.#call(webhook) : undefined
      if (failure !== undefined) return failure
    }
    return undefined
  }

  async #call(webhook: Webhook): Promise<Failure | undefined> {
    const { attributes, served, caller } = this.#asked
    const now = { ...attributes, object: this.#object }
    const view = calledAs(webhook, now, served)
    if (view === undefined) return undefined
    const isMet = meetsConditions(webhook, now, view)
    if (isMet !== true) return isMet === false ? undefined : isMet
    const answer = await caller.call(webhook, now, view)
    this.warnings.push(...warningsOf(answer))
    const failure = failureIn(webhook, answer) ?? this.#change(webhook, answer, view)
    if (webhook.isReinvoked) this.#informed.add(webhook)
    return failure
  }

  #change({ name }: Webhook, answer: WebhookAnswer, view: Resource): Failure | undefined {
    const patch = answer.type === "allowed" ? answer.patch : undefined
    if (patch === undefined || patch === null || (Array.isArray(patch) && patch.length === 0)) return undefined
    const before = this.#object
    if (before === undefined) {
      return internalError(
        `admission webhook ${JSON.stringify(name)} attempted to modify the object, which is not supported for this operation`,
      )
    }
    return failureOf(() => {
      const { attributes } = this.#asked
      const { resource } = attributes
      const seen = asView(before, attributes, resource, view) as unknown as JsonObject
      const patched = applyJsonPatch(seen, patch)
      const after = this.#reshaping.settle(
        isJsonObject(patched) ? asView(patched, attributes, view, resource) : patched,
      )
      if (isSame(before, after)) return
      this.#object = after
      this.#isChanged = true
      this.#outdate()
    })
  }

  #outdate(): void {
    for (const webhook of this.#informed) this.#outdated.add(webhook)
    this.#informed.clear()
  }
}

/** The failure that a step throws. A patch that cannot be applied is the webhook's defect: 500. */
const failureOf = (step: () => void): Failure | undefined => {
  try {
    step()
    return undefined
  } catch (error) {
    if (error instanceof Refusal) return error.failure
    if (error instanceof PatchError) return internalError(error.problem)
    return internalError(messageOf(error))
  }
}
