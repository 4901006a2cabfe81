/** The parts of the server that every write needs. */

import type { JsonFormat } from "../../apiserver/answers/json-spacing.ts"
import type { OnTrouble } from "../../apiserver/http/trouble.ts"
import type { Resource, ResourceRegistry } from "../../apiserver/kinds/resources.ts"
import type { Clock } from "../../clock.ts"
import type { Access, Caller } from "../access/access.ts"
import type { AccountTokens } from "../access/account-tokens.ts"
import type { Randomness } from "../randomness.ts"
import type { KindRules, MutableObject } from "../rules/kind-rules.ts"
import type { KubernetesType } from "../schema/kubernetes-type.ts"
import type { Collection } from "../store/collection.ts"
import type { ObjectStore } from "../store/object-store.ts"
import type { Admission } from "./admission/admission.ts"
import type { QuotaBook } from "./quotas/quota-book.ts"
import type { WebhookAdmission } from "./webhooks/webhook-admission.ts"

/** A kind as writes see it; made once per kind, not per write. */
export interface WritableKind {
  readonly resource: Resource
  readonly collection: Collection
  readonly rules: KindRules
  /** Of the requested kind; without a schema every JSON value fits. */
  readonly type: KubernetesType
  /** Converts an object to the stored kind, for kinds that are a view of another one. */
  readonly toStored: (object: MutableObject) => MutableObject
  readonly fromStored: (object: MutableObject) => MutableObject
  /**
   * Checks a custom object against its schema and the rules in it; throws Refusal. `old` is the object that it replaces; a rule that
   * was broken before is a warning.
   */
  readonly checkSchema: (object: MutableObject, old: MutableObject | undefined, warnings: string[]) => void
}

export interface WriteSurroundings {
  readonly store: ObjectStore
  readonly registry: ResourceRegistry
  readonly clock: Clock
  readonly random: Randomness
  readonly format: JsonFormat
  readonly admission: Admission
  readonly webhooks: WebhookAdmission
  /** Absent without the controllers of a cluster: the status of a quota then says nothing, and nothing is limited. */
  readonly quotas?: QuotaBook
  readonly tokens: AccountTokens
  /** Absent without authorization. */
  readonly access?: Access
  /** Whose write it is. Absent: one that may do everything. */
  readonly caller?: Caller
  /** Called for defects of the server itself. */
  readonly onTrouble: OnTrouble
  kindOf(resource: Resource): WritableKind
}
