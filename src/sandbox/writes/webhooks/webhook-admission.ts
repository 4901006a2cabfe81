/** Where writes meet webhooks: gives them the verdict on a request, or suspends them until there is one. */

import { formatGvk } from "../../../kube/gvk.ts"
import type { MutableObject } from "../../rules/kind-rules.ts"
import { refuse } from "../refusal.ts"
import { type Journal, Suspension } from "./admitted.ts"
import { type Asked, askMutating, askValidating, type Reshaping, type Verdict } from "./asking.ts"
import { type AdmissionAttributes, calledAs, type Served } from "./matching.ts"
import type { Webhooks, WebhookType } from "./webhook.ts"
import type { WebhookCaller } from "./webhook-caller.ts"

export class WebhookAdmission {
  readonly #webhooks: Webhooks
  readonly #served: Served
  readonly #caller: WebhookCaller
  readonly #journal: Journal | undefined

  /** Without a journal there are no verdicts: every question suspends. */
  constructor(webhooks: Webhooks, served: Served, caller: WebhookCaller, journal?: Journal) {
    this.#webhooks = webhooks
    this.#served = served
    this.#caller = caller
    this.#journal = journal
  }

  /** Whether there are any webhooks; writes need to know no more where there are none. */
  get areAny(): boolean {
    return this.#webhooks.areAny
  }

  /** The same for the attempts of one write. */
  answeredBy(journal: Journal): WebhookAdmission {
    return new WebhookAdmission(this.#webhooks, this.#served, this.#caller, journal)
  }

  isCalled(type: WebhookType, attributes: AdmissionAttributes): boolean {
    return this.#webhooks.of(type).some((webhook) => calledAs(webhook, attributes, this.#served) !== undefined)
  }

  /** The changed object; `undefined` if no webhook changes it. Throws Refusal, Suspension. */
  mutate(attributes: AdmissionAttributes, reshaping: Reshaping, warnings: string[]): MutableObject | undefined {
    if (!this.isCalled("mutating", attributes)) return undefined
    const asked = this.#asked(attributes)
    const verdict = this.#verdict("mutating", attributes, warnings, () => askMutating(asked, reshaping))
    return verdict.object === undefined ? undefined : (JSON.parse(verdict.object) as MutableObject)
  }

  /** Throws Refusal, Suspension. */
  validate(attributes: AdmissionAttributes, warnings: string[]): void {
    if (!this.isCalled("validating", attributes)) return
    const asked = this.#asked(attributes)
    this.#verdict("validating", attributes, warnings, () => askValidating(asked))
  }

  /** See {@link Journal.once}. Suspends a write without a journal, which thereby gets one. */
  once<Value>(make: () => Value): Value {
    if (this.#journal === undefined) throw new Suspension("", async () => ({ warnings: [] }))
    return this.#journal.once(make)
  }

  #asked(attributes: AdmissionAttributes): Asked {
    return { webhooks: this.#webhooks, attributes, served: this.#served, caller: this.#caller }
  }

  #verdict(
    type: WebhookType,
    attributes: AdmissionAttributes,
    warnings: string[],
    ask: () => Promise<Verdict>,
  ): Verdict {
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
