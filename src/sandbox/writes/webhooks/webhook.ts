/** The webhooks of a stored configuration, read once per stored state. */

import type { Change } from "../../../apiserver/watch/change.ts"
import { type LabelSelector, type LabelSelectorObject, requirementsOf } from "../../../kube/label-selector.ts"
import { compileCondition } from "../../cel/condition.ts"
import type { Program } from "../../cel/program.ts"
import { reviewVersions } from "../../rules/extensions.ts"
import { child, items, number, text, texts } from "../../rules/fields.ts"
import type { Fields } from "../../rules/kind-rules.ts"
import type { Collection } from "../../store/collection.ts"
import type { ObjectStore } from "../../store/object-store.ts"
import { stateOf } from "../answer.ts"
import type { WebhookService } from "./service-endpoint.ts"

export type WebhookType = "mutating" | "validating"

/** One entry of a MutatingWebhookConfiguration or a ValidatingWebhookConfiguration. */
export interface Webhook {
  readonly type: WebhookType
  /** As messages show it: `pods.example.com`. */
  readonly name: string
  readonly rules: ReadonlyArray<WebhookRule>
  /** `matchPolicy: Exact`: rules mean no other version or group of the same objects. */
  readonly isExact: boolean
  readonly namespaceSelector: LabelSelector
  readonly objectSelector: LabelSelector
  /** `failurePolicy: Ignore`: a webhook that does not answer properly is left out. */
  readonly isFailureIgnored: boolean
  readonly timeoutMs: number
  /** `reinvocationPolicy: IfNeeded`. */
  readonly isReinvoked: boolean
  /** Whether a dry run must not call it. */
  readonly hasSideEffects: boolean
  /** The first of its `admissionReviewVersions` that there is. */
  readonly reviewVersion: string
  readonly target: WebhookTarget
  /** `matchConditions`. */
  readonly conditions: ReadonlyArray<MatchCondition>
}

interface MatchCondition {
  readonly expression: string
  readonly program: Program
}

export interface WebhookRule {
  readonly groups: ReadonlyArray<string>
  readonly versions: ReadonlyArray<string>
  /** `pods`, `pods/status`, `pods/*` with all subresources, `*` without any, or both wildcards. */
  readonly resources: ReadonlyArray<string>
  readonly operations: ReadonlyArray<string>
  readonly scope: string
}

interface WebhookTarget {
  /** Where requests are sent to; for a Service its name in the cluster, which its certificate must have. */
  readonly url: string
  /** `undefined` for a URL. */
  readonly service: WebhookService | undefined
  /** PEM. */
  readonly certificateAuthority: string | undefined
}

/** The stored configurations. */
export class Webhooks {
  readonly #mutating: Collection
  readonly #validating: Collection
  readonly #read = new WeakMap<Change, ReadonlyArray<Webhook>>()

  constructor(store: ObjectStore) {
    this.#mutating = store.collection("admissionregistration.k8s.io/v1.MutatingWebhookConfiguration")
    this.#validating = store.collection("admissionregistration.k8s.io/v1.ValidatingWebhookConfiguration")
  }

  /** Whether there is any configuration. */
  get areAny(): boolean {
    return this.#mutating.live.size > 0 || this.#validating.live.size > 0
  }

  /** In the order in which they are called: by the name of their configuration, then as listed there. */
  of(type: WebhookType): ReadonlyArray<Webhook> {
    const { live } = type === "mutating" ? this.#mutating : this.#validating
    const changes = Array.from(live.values(), ({ change }) => change)
    changes.sort((left, right) => (left.name < right.name ? -1 : 1))
    return changes.flatMap((change) => {
      const known = this.#read.get(change) ?? items(stateOf(change), "webhooks").map((one) => webhookOf(type, one))
      this.#read.set(change, known)
      return known
    })
  }
}

const webhookOf = (type: WebhookType, webhook: Fields): Webhook => ({
  type,
  name: text(webhook, "name"),
  rules: items(webhook, "rules").map((rule) => ({
    groups: texts(rule, "apiGroups"),
    versions: texts(rule, "apiVersions"),
    resources: texts(rule, "resources"),
    operations: texts(rule, "operations"),
    scope: text(rule, "scope") || "*",
  })),
  isExact: text(webhook, "matchPolicy") === "Exact",
  namespaceSelector: requirementsOf(selectorIn(webhook, "namespaceSelector")),
  objectSelector: requirementsOf(selectorIn(webhook, "objectSelector")),
  isFailureIgnored: text(webhook, "failurePolicy") === "Ignore",
  timeoutMs: (number(webhook, "timeoutSeconds") ?? 10) * 1000,
  isReinvoked: text(webhook, "reinvocationPolicy") === "IfNeeded",
  hasSideEffects: !["None", "NoneOnDryRun"].includes(text(webhook, "sideEffects")),
  reviewVersion: texts(webhook, "admissionReviewVersions").find((version) => reviewVersions.includes(version)) ?? "v1",
  target: targetOf(child(webhook, "clientConfig")),
  conditions: items(webhook, "matchConditions").map(conditionOf),
})

/** Stored conditions have been compiled once; one that has bypassed that (`sandbox.put`) is a defect of whoever put it there. */
const conditionOf = (condition: Fields): MatchCondition => {
  const expression = text(condition, "expression").trim()
  const program = compileCondition(expression)
  if (typeof program === "string") throw new Error(`a stored condition is invalid: ${program}`)
  return { expression, program }
}

const selectorIn = (webhook: Fields, key: string): LabelSelectorObject =>
  (child(webhook, key) ?? {}) as LabelSelectorObject

const targetOf = (config: Fields | undefined): WebhookTarget => {
  const service = serviceOf(child(config, "service"))
  const bundle = text(config, "caBundle")
  return {
    url:
      service === undefined
        ? text(config, "url")
        : `https://${service.name}.${service.namespace}.svc:${service.port}${service.path}`,
    service,
    certificateAuthority: bundle === "" ? undefined : Buffer.from(bundle, "base64").toString("utf8"),
  }
}

const serviceOf = (service: Fields | undefined): WebhookService | undefined =>
  service && {
    namespace: text(service, "namespace"),
    name: text(service, "name"),
    port: number(service, "port") ?? 443,
    path: text(service, "path").replace(/^\/?/, "/"),
  }
