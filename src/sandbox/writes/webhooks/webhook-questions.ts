/**
 * What all webhooks together say about a request: the mutating ones one after the other, each about what the one before
 * left, and the validating ones at once.
 */
import { type Failure, internalError, type Resource } from "../../../apiserver/index.ts"
import { messageOf } from "../../../message-of.ts"
import { CostLimitError, EvaluationError, Meter } from "../../cel/evaluation.ts"
import { dynamicValue, type Value } from "../../cel/values.ts"
import { applyJsonPatch } from "../../patch/json/json-patch.ts"
import { asJson, isJsonObject, type JsonValue } from "../../patch/json/json-value.ts"
import { PatchError } from "../../patch/patch-failure.ts"
import { copied, isSame } from "../../rules/fields.ts"
import type { MutableObject } from "../../rules/kind-rules.ts"
import { Refusal, refuse } from "../../store/refusal.ts"
import { forbiddenObject } from "../request/write-failures.ts"
import { type AdmissionAttributes, asView, calledAs, type Served, type Webhook, type Webhooks } from "./webhook.ts"
import { requestIn, type WebhookAnswer, type WebhookCaller } from "./webhook-caller.ts"

/**
 * Whether all `matchConditions` of a webhook are true, so that it is to be called as `view`; or why the request is
 * refused instead. A condition that fails counts like a webhook that does not answer, unless another one is false.
 */
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
  return forbiddenObject(resource, name, all)
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

/** What it takes to ask. */
export interface WebhookHost {
  readonly webhooks: Webhooks
  readonly served: Served
  readonly caller: WebhookCaller
}

/** The answer of one webhook about a request as `view` shows it; `undefined` if it is not for it. */
const ask = async ({ served, caller }: WebhookHost, webhook: Webhook, attributes: AdmissionAttributes) => {
  const view = calledAs(webhook, attributes, served)
  const isMet = view !== undefined && meetsConditions(webhook, attributes, view)
  if (view === undefined || isMet === false) return undefined
  const answer: WebhookAnswer =
    isMet === true ? await caller.call(webhook, attributes, view) : { type: "refused", failure: isMet, warnings: [] }
  return {
    view,
    warnings: answer.type === "failed" ? [] : answer.warnings,
    failure: failureIn(webhook, answer),
    patch: answer.type === "allowed" ? answer.patch : undefined,
  }
}

/** `undefined` if the request may continue. */
const failureIn = (webhook: Webhook, answer: WebhookAnswer): Failure | undefined => {
  if (answer.type === "allowed") return undefined
  if (answer.type === "refused") return answer.failure
  if (webhook.isFailureIgnored) return undefined
  return internalError(`failed calling webhook ${JSON.stringify(webhook.name)}: ${answer.problem}`)
}

/** Waits for all of them; the first refusal in their order counts. Never rejects for what webhooks do. */
export const askValidating = async (host: WebhookHost, attributes: AdmissionAttributes): Promise<Verdict> => {
  const asked = await Promise.all(host.webhooks.of("validating").map((webhook) => ask(host, webhook, attributes)))
  const failure = asked.find((one) => one?.failure !== undefined)?.failure
  return { warnings: asked.flatMap((one) => one?.warnings ?? []), ...(failure !== undefined && { failure }) }
}

/** Never rejects for what webhooks do. */
export const askMutating = async (
  host: WebhookHost,
  attributes: AdmissionAttributes,
  reshaping: Reshaping,
): Promise<Verdict> => {
  const run = new MutatingRun(host, attributes, reshaping)
  try {
    return { warnings: run.warnings, ...(await run.run()) }
  } catch (error) {
    if (error instanceof Refusal) return { warnings: run.warnings, failure: error.failure }
    throw error
  }
}

/**
 * Two rounds at most: if a webhook has changed the object, built-in admission runs once more, and so do the webhooks with
 * `reinvocationPolicy: IfNeeded` that have not seen the latest change. Everything here throws Refusal.
 */
class MutatingRun {
  readonly warnings: string[] = []
  readonly #host: WebhookHost
  readonly #attributes: AdmissionAttributes
  readonly #reshaping: Reshaping
  /** Reinvocable webhooks that have seen the object as it is now. */
  readonly #informed = new Set<Webhook>()
  readonly #outdated = new Set<Webhook>()
  #object: MutableObject | undefined
  #isChanged = false

  constructor(host: WebhookHost, attributes: AdmissionAttributes, reshaping: Reshaping) {
    this.#host = host
    this.#attributes = attributes
    this.#reshaping = reshaping
    this.#object = attributes.object && copied(attributes.object)
  }

  async run(): Promise<Pick<Verdict, "object">> {
    const webhooks = this.#host.webhooks.of("mutating")
    for (const webhook of webhooks) await this.#call(webhook)
    const object = this.#object
    if (!this.#isChanged || object === undefined) return {}
    const before = JSON.stringify(object)
    reshape(() => this.#reshaping.readmit(object))
    if (JSON.stringify(object) !== before) this.#outdate()
    for (const webhook of webhooks) if (this.#outdated.has(webhook)) await this.#call(webhook)
    return { object: JSON.stringify(this.#object) }
  }

  async #call(webhook: Webhook): Promise<void> {
    const asked = await ask(this.#host, webhook, { ...this.#attributes, object: this.#object })
    if (asked === undefined) return
    const { view, warnings, failure, patch } = asked
    this.warnings.push(...warnings)
    if (failure !== undefined) refuse(failure)
    const isEmpty = patch === undefined || patch === null || (Array.isArray(patch) && patch.length === 0)
    if (!isEmpty) this.#change(webhook, patch, view)
    if (webhook.isReinvoked) this.#informed.add(webhook)
  }

  #change({ name }: Webhook, patch: unknown, view: Resource): void {
    const before = this.#object
    if (before === undefined) {
      const problem = "attempted to modify the object, which is not supported for this operation"
      return refuse(internalError(`admission webhook ${JSON.stringify(name)} ${problem}`))
    }
    reshape(() => {
      const { resource } = this.#attributes
      const patched = applyJsonPatch(asJson(asView(before, this.#attributes, resource, view)), patch)
      const after = this.#reshaping.settle(
        isJsonObject(patched) ? asView(patched, this.#attributes, view, resource) : patched,
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

/** A patch that cannot be applied is the webhook's defect: 500. */
const reshape = (step: () => void): void => {
  try {
    step()
  } catch (error) {
    if (error instanceof Refusal) throw error
    refuse(internalError(error instanceof PatchError ? error.problem : messageOf(error)))
  }
}
