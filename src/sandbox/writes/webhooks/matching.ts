/**
 * Which requests a webhook is called for, and as which kind it sees them: its rules, its selectors, and never the configurations
 * of webhooks, so that a broken one can be repaired. Conditions are looked at afterwards (`asking.ts`).
 */

import type { RequestUser } from "../../../apiserver/http/access-control.ts"
import type { JsonObject, Resource, ResourceRegistry } from "../../../apiserver/kinds/resources.ts"
import { keyOf } from "../../../apiserver/watch/change.ts"
import { formatGvk, type GroupVersionKind } from "../../../kube/gvk.ts"
import { matchesLabels } from "../../../kube/label-selector.ts"
import { child } from "../../rules/fields.ts"
import type { Fields, MutableObject } from "../../rules/kind-rules.ts"
import type { ObjectStore } from "../../store/object-store.ts"
import type { Webhook, WebhookRule } from "./webhook.ts"

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

/** The kind as which the webhook is called: the requested one, or another view of the same objects; `undefined` if it is not called. */
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

/** An object of the request as another view of its kind; the body of a subresource of another kind is always the same. */
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
