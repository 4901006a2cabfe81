/** The permissions that controllers need, computed from what they watch and what they declare to write. */

import { type Kind, kinds } from "../../kube/index.ts"
import {
  configurationKinds,
  configurationName,
  defaultPrefix,
  definitions,
  secretName,
  type WebhookAddress,
} from "../admission/registration.ts"
import { secrets } from "../admission/webhook-certificate.ts"
import { admissionTermsOf } from "./define-admission.ts"
import { type DefinedController, selectionsOf } from "./define-controller.ts"
import { RuleSet, type ScopedRules } from "./rule-set.ts"

export interface RulesOptions {
  /** Namespace of the Lease, if leader election is used. */
  readonly leaseNamespace?: string | undefined
}

const watching = ["get", "list", "watch"]
const changing = ["create", "update", "patch", "delete"]

/**
 * Rules with the fewest permissions for these controllers: reading what is watched; the declared writes; the finalizer; Events; the Lease. `kindOf` finds
 * the resource of a kind, for example by discovery; what it rejects with, this rejects with. Sorted, without repetitions, the whole cluster first.
 */
export const rulesOf = async (
  controllers: ReadonlyArray<DefinedController>,
  kindOf: (kind: string) => Promise<Kind>,
  { leaseNamespace }: RulesOptions = {},
): Promise<ReadonlyArray<ScopedRules>> => {
  const rights = new RuleSet()
  const allow = (kind: Kind, given: string | undefined, verbs: ReadonlyArray<string>, subresource = ""): void => {
    const { gvk, plural, namespaced } = kind
    const resources = [subresource === "" ? plural : `${plural}/${subresource}`]
    rights.allow(namespaced ? given : undefined, { apiGroups: [gvk.group], resources, verbs })
  }
  for (const controller of controllers) {
    for (const { kind, namespace } of selectionsOf(controller)) allow(await kindOf(kind), namespace, watching)
    for (const { kind: named, namespace, verbs } of controller.writes) {
      const [, kind = named, subresource] = /^(.*?\.[^/.]+)\/([a-z]+)$/.exec(named) ?? []
      const usual = subresource === undefined ? changing : ["update", "patch"]
      allow(await kindOf(kind), namespace, verbs ?? usual, subresource)
    }
    const subject = await kindOf(controller.for.kind)
    const { namespace } = controller.for
    if (controller.finalizer !== undefined) allow(subject, namespace, ["patch"])
    // Owner references with blockOwnerDeletion, where OwnerReferencesPermissionEnforcement is on.
    if (controller.owns.length > 0) allow(subject, namespace, ["update"], "finalizers")
    allow(kinds.events, namespace, ["create", "patch"])
  }
  if (leaseNamespace !== undefined) allow(kinds.leases, leaseNamespace, ["get", "create", "update"])
  return withoutReasons(rights)
}

const withoutReasons = (rights: RuleSet): ReadonlyArray<ScopedRules> =>
  rights.scopes().map(({ namespace, rules }) => ({ namespace, rules: rules.map(({ reasons: _, ...rule }) => rule) }))

/** The rules that registering the webhooks of these controllers needs besides; none without any. */
export const webhookRulesOf = async (
  controllers: ReadonlyArray<DefinedController>,
  kindOf: (kind: string) => Promise<Kind>,
  { prefix = defaultPrefix, service }: Pick<WebhookAddress, "prefix" | "service">,
): Promise<ReadonlyArray<ScopedRules>> => {
  const rights = new RuleSet()
  const allow = ({ gvk: { group }, plural }: Kind, name: string, verbs: ReadonlyArray<string>, namespace?: string) =>
    rights.allow(namespace, { apiGroups: [group], resources: [plural], resourceNames: [name], verbs })
  for (const controller of controllers) {
    const terms = admissionTermsOf(controller)
    if (terms === undefined) continue
    // Each is applied or, if the controller has no such function any more, removed.
    for (const kind of Object.values(configurationKinds)) {
      allow(kind, configurationName(prefix, terms.controller), ["create", "patch", "delete"])
      // Those of modules that are gone are named to the operator.
      rights.allow(undefined, { apiGroups: [kind.gvk.group], resources: [kind.plural], verbs: ["list"] })
    }
    if (terms.calls.includes("convert")) {
      const { gvk, plural } = await kindOf(controller.for.kind)
      allow(definitions, `${plural}.${gvk.group}`, ["patch"])
    }
    if (service !== undefined) allow(secrets, secretName(prefix), ["get", "update"], service.namespace)
  }
  return withoutReasons(rights)
}
