/**
 * A write that webhooks are asked about. Writes are synchronous, so that nothing can come between what they read and
 * what they store; an answer takes time. So such a write is attempted, and left by a {@link Suspension}, before it has
 * stored anything, where it needs a verdict that there is not yet. The webhooks are called, their verdict is remembered
 * together with the question, and the write is attempted again, from its start.
 *
 * An attempt sees the stored state of its own moment. If that state changed while webhooks were asked, the write gets
 * its conflict, or a patch is applied to the new state, which is another question: webhooks are asked again, as the
 * real server does. All attempts have the same time and the same random values, so that the same state makes the same
 * question.
 */
import { type Eventually, type Failure, fail } from "../../apiserver/index.ts"
import type { Clock } from "../../clock.ts"
import { formatGvk } from "../../kube/offline.ts"
import type { MutableObject } from "../rules/kind-rules.ts"
import { refuse } from "../store/refusal.ts"
import type { Randomness } from "../store/stamps.ts"
import type { WriteSurroundings } from "./surroundings.ts"
import { type AdmissionAttributes, calledAs, type WebhookType } from "./webhooks/webhook.ts"
import {
  askMutating,
  askValidating,
  type Reshaping,
  type Verdict,
  type WebhookHost,
} from "./webhooks/webhook-questions.ts"

/** ms: the real server's limit for a request. */
const requestLimit = 60_000

/** Leaves an attempt. */
export class Suspension extends Error {
  readonly question: string
  readonly ask: () => Promise<Verdict>

  constructor(question: string, ask: () => Promise<Verdict>) {
    super("a webhook has to be asked first")
    this.question = question
    this.ask = ask
  }
}

/** What the attempts of one write share. */
class Journal {
  readonly verdicts = new Map<string, Verdict>()
  readonly clock: Clock
  readonly #random: Randomness
  readonly #drawn: string[] = []
  #next = 0
  #kept: { readonly value: unknown } | undefined

  constructor({ clock, random }: WriteSurroundings) {
    const now = clock.wallMicros()
    this.clock = {
      wallMicros: () => now,
      monotonicMs: () => clock.monotonicMs(),
      after: (delayMs, action) => clock.after(delayMs, action),
    }
    this.#random = random
  }

  readonly random: Randomness = {
    uid: () => this.#draw(() => this.#random.uid()),
    suffix: (length) => this.#draw(() => this.#random.suffix(length)),
  }

  /** The value that the first attempt made. One per write. */
  once<Value>(make: () => Value): Value {
    this.#kept ??= { value: make() }
    return this.#kept.value as Value
  }

  beginAttempt(): void {
    this.#next = 0
  }

  #draw(make: () => string): string {
    const value = this.#drawn[this.#next] ?? make()
    this.#drawn[this.#next++] = value
    return value
  }
}

/**
 * The result of an attempt, at once if no webhook has to be asked. Throws or rejects as the last attempt does, and with
 * the Refusal of a request that takes too long.
 */
export const admitted = <Result>(
  around: WriteSurroundings,
  attempt: (around: WriteSurroundings) => Result,
): Eventually<Result> => {
  const outcome = tried(around, attempt)
  return outcome instanceof Suspension ? attempted(around, attempt) : outcome
}

const attempted = async <Result>(
  around: WriteSurroundings,
  attempt: (around: WriteSurroundings) => Result,
): Promise<Result> => {
  const journal = new Journal(around)
  const webhooks = around.webhooks.answeredBy(journal)
  const own = { ...around, clock: journal.clock, random: journal.random, webhooks }
  const deadline = around.clock.monotonicMs() + requestLimit
  for (;;) {
    journal.beginAttempt()
    const outcome = tried(own, attempt)
    if (!(outcome instanceof Suspension)) return outcome
    if (around.clock.monotonicMs() > deadline) return refuse(tookTooLong)
    journal.verdicts.set(outcome.question, await outcome.ask())
  }
}

const tried = <Result>(
  around: WriteSurroundings,
  attempt: (around: WriteSurroundings) => Result,
): Result | Suspension => {
  try {
    return attempt(around)
  } catch (error) {
    if (error instanceof Suspension) return error
    throw error
  }
}

const tookTooLong: Failure = fail(
  504,
  "Timeout: request did not complete within requested timeout - context deadline exceeded",
  { reason: "Timeout", details: { causes: [] } },
)

/** Where writes meet webhooks: gives them the verdict on a request, or suspends them until there is one. */
export class WebhookAdmission {
  readonly #host: WebhookHost
  readonly #journal: Journal | undefined

  /** Without a journal there are no verdicts: every question suspends. */
  constructor(host: WebhookHost, journal?: Journal) {
    this.#host = host
    this.#journal = journal
  }

  /** Whether there are any webhooks; writes need to know no more where there are none. */
  get areAny(): boolean {
    return this.#host.webhooks.areAny
  }

  /** The same for the attempts of one write. */
  answeredBy(journal: Journal): WebhookAdmission {
    return new WebhookAdmission(this.#host, journal)
  }

  isCalled(type: WebhookType, attributes: AdmissionAttributes): boolean {
    const { webhooks, served } = this.#host
    return webhooks.of(type).some((webhook) => calledAs(webhook, attributes, served) !== undefined)
  }

  /** The changed object; `undefined` if no webhook changes it. Throws Refusal, Suspension. */
  mutate(attributes: AdmissionAttributes, reshaping: Reshaping, warnings: string[]): MutableObject | undefined {
    const ask = () => askMutating(this.#host, attributes, reshaping)
    const object = this.#verdict("mutating", attributes, warnings, ask)?.object
    return object === undefined ? undefined : JSON.parse(object)
  }

  /** Throws Refusal, Suspension. */
  validate(attributes: AdmissionAttributes, warnings: string[]): void {
    this.#verdict("validating", attributes, warnings, () => askValidating(this.#host, attributes))
  }

  /** See {@link Journal.once}. Suspends a write without a journal, which thereby gets one. */
  once<Value>(make: () => Value): Value {
    if (this.#journal === undefined) throw new Suspension("", async () => ({ warnings: [] }))
    return this.#journal.once(make)
  }

  #verdict(
    type: WebhookType,
    attributes: AdmissionAttributes,
    warnings: string[],
    ask: () => Promise<Verdict>,
  ): Verdict | undefined {
    if (!this.isCalled(type, attributes)) return undefined
    const { operation, resource, subresource, name, object, oldObject } = attributes
    const gvk = formatGvk(resource.gvk)
    const question = JSON.stringify([type, operation, gvk, subresource, name, object, oldObject])
    const verdict = this.#journal?.verdicts.get(question)
    if (verdict === undefined) throw new Suspension(question, ask)
    warnings.push(...verdict.warnings)
    if (verdict.failure !== undefined) refuse(verdict.failure)
    return verdict
  }
}
