/** The webhooks of a stored configuration, read once per stored state. */

import {
  type Change,
  type JsonObject,
  keyOf,
  type RequestUser,
  type Resource,
  type ResourceRegistry,
} from "../../../apiserver/index.ts"
import {
  formatGvk,
  type GroupVersionKind,
  type LabelSelector,
  matchesLabels,
  requirementsOf,
} from "../../../kube/offline.ts"
import { compileCondition } from "../../cel/condition.ts"
import type { Program } from "../../cel/program.ts"
import { reviewVersions } from "../../rules/extensions.ts"
import { child, items, number, selectorIn, text, texts } from "../../rules/fields.ts"
import type { Fields, MutableObject } from "../../rules/kind-rules.ts"
import type { Collection } from "../../store/collection.ts"
import { stateOf } from "../../store/object-encoding.ts"
import type { ObjectStore } from "../../store/object-store.ts"
import type { WebhookService } from "./webhook-caller.ts"

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

interface WebhookRule {
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
  namespaceSelector: requirementsOf(selectorIn(webhook, "namespaceSelector") ?? {}),
  objectSelector: requirementsOf(selectorIn(webhook, "objectSelector") ?? {}),
  isFailureIgnored: text(webhook, "failurePolicy") === "Ignore",
  timeoutMs: (number(webhook, "timeoutSeconds") ?? 10) * 1000,
  isReinvoked: text(webhook, "reinvocationPolicy") === "IfNeeded",
  hasSideEffects: !["None", "NoneOnDryRun"].includes(text(webhook, "sideEffects")),
  reviewVersion: texts(webhook, "admissionReviewVersions").find((version) => reviewVersions.includes(version)) ?? "v1",
  target: targetOf(child(webhook, "clientConfig")),
  conditions: items(webhook, "matchConditions").map(conditionOf),
})

/**
 * Stored conditions have been compiled once; one that has bypassed that (`sandbox.put`) is a defect of whoever put it
 * there.
 */
const conditionOf = (condition: Fields): MatchCondition => {
  const expression = text(condition, "expression").trim()
  const program = compileCondition(expression)
  if (typeof program === "string") throw new Error(`a stored condition is invalid: ${program}`)
  return { expression, program }
}

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

// Which requests a webhook is called for, and as which kind it sees them: its rules, its selectors, and never the
// configurations of webhooks, so that a broken one can be repaired. Conditions are looked at afterwards
// (`webhook-questions.ts`).

/** A request as webhooks see it. */
export interface AdmissionAttributes {
  readonly operation: "CREATE" | "UPDATE" | "DELETE"
  /** As requested. */
  readonly resource: Resource
  readonly subresource: string
  /** Of the object: not the resource's for subresources such as `scale`. */
  readonly kind: GroupVersionKind
  /** Empty for cluster-scoped kinds; for a Namespace its own name. */
  readonly namespace: string
  /** Empty for a name that is not generated yet, and for each object of a deleted collection. */
  readonly name: string
  /** Absent for deletions. */
  readonly object: MutableObject | undefined
  /** Absent for creations. */
  readonly oldObject: MutableObject | undefined
  readonly user: RequestUser
  /** CreateOptions, UpdateOptions or DeleteOptions. */
  readonly options: Fields
  readonly dryRun: boolean
}

/** What a server serves, and the objects that it has. */
export interface Served {
  readonly registry: ResourceRegistry
  readonly store: ObjectStore
}

const configurations = "admissionregistration.k8s.io"

/**
 * The kind as which the webhook is called: the requested one, or another view of the same objects; `undefined` if it is
 * not called.
 */
export const calledAs = (webhook: Webhook, attributes: AdmissionAttributes, served: Served): Resource | undefined => {
  const { resource } = attributes
  if (resource.gvk.group === configurations) return undefined
  if (!selectsNamespace(webhook, attributes, served.store) || !selectsObject(webhook, attributes)) return undefined
  if (webhook.rules.some((rule) => fits(rule, attributes, resource))) return resource
  if (webhook.isExact) return undefined
  const views = served.registry.all().filter((view) => view !== resource && storedName(view) === storedName(resource))
  return views.length === 0
    ? undefined
    : webhook.rules.flatMap((rule) => views.filter((view) => fits(rule, attributes, view)))[0]
}

const storedName = ({ gvk, storedAs }: Resource): string => formatGvk(storedAs?.gvk ?? gvk)

/**
 * An object of the request as another view of its kind; the body of a subresource of another kind is always the same.
 */
export const asView = <Value extends object | undefined>(
  object: Value,
  { kind, resource }: AdmissionAttributes,
  from: Resource,
  to: Resource,
): Value => {
  if (object === undefined || from === to || kind !== resource.gvk) return object
  const stored = from.storedAs?.toStored(object as JsonObject) ?? object
  return (to.storedAs?.fromStored(stored as JsonObject) ?? stored) as Value
}

const fits = (rule: WebhookRule, { operation, subresource }: AdmissionAttributes, resource: Resource): boolean =>
  (rule.scope === "*" || (rule.scope === "Namespaced") === resource.namespaced) &&
  includes(rule.operations, operation) &&
  includes(rule.groups, resource.gvk.group) &&
  includes(rule.versions, resource.gvk.version) &&
  rule.resources.some((pattern) => {
    const [plural = "", below = ""] = pattern.split("/")
    return (plural === "*" || plural === resource.plural) && (below === "*" || below === subresource)
  })

const includes = (list: ReadonlyArray<string>, value: string): boolean => list.includes("*") || list.includes(value)

/** A Namespace has the labels that it is written with; other cluster-scoped objects are always selected. */
const selectsNamespace = (
  { namespaceSelector }: Webhook,
  { operation, resource, subresource, namespace, object }: AdmissionAttributes,
  store: ObjectStore,
): boolean => {
  const isNamespace = resource.gvk.group === "" && resource.plural === "namespaces"
  if (namespaceSelector.length === 0 || (!resource.namespaced && !isNamespace)) return true
  if (isNamespace && subresource === "" && operation !== "DELETE") {
    return matchesLabels(namespaceSelector, child(object?.metadata, "labels"))
  }
  return matchesLabels(
    namespaceSelector,
    store.collection("v1.Namespace").live.get(keyOf("", namespace))?.change.labels,
  )
}

/** Either state may be the selected one. */
const selectsObject = ({ objectSelector }: Webhook, { object, oldObject }: AdmissionAttributes): boolean =>
  objectSelector.length === 0 ||
  [object, oldObject].some(
    (state) => state !== undefined && matchesLabels(objectSelector, child(state.metadata, "labels")),
  )
