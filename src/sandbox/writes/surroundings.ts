/** The parts of the server that every write needs. */
import {
  type JsonFormat,
  keyOf,
  type OnTrouble,
  objectNotFound,
  type Resource,
  type ResourceRegistry,
} from "../../apiserver/index.ts"
import type { Clock } from "../../clock.ts"
import { formatGvk } from "../../kube/offline.ts"
import type { Access, Caller } from "../access/access.ts"
import type { AccountTokens } from "../access/account-tokens.ts"
import { anyType } from "../patch/managed-fields/type-walk.ts"
import { isWhole } from "../rules/fields.ts"
import type { KindRules, MutableObject } from "../rules/kind-rules.ts"
import { objectMetaType, type SchemaCatalogue } from "../schema/catalogue.ts"
import type { KubernetesType } from "../schema/kubernetes-type.ts"
import type { Collection, LiveObject } from "../store/collection.ts"
import type { ObjectStore } from "../store/object-store.ts"
import { refuse } from "../store/refusal.ts"
import type { Randomness } from "../store/stamps.ts"
import type { Admission } from "./admission.ts"
import type { QuotaBook } from "./quotas.ts"
import type { WebhookAdmission } from "./webhook-attempts.ts"

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
   * Checks a custom object against its schema and the rules in it; throws Refusal. `old` is the object that it
   * replaces; a rule that was broken before is a warning.
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

/** An object that must exist, with its kind. Throws Refusal. */
export const existingOf = (
  around: WriteSurroundings,
  { resource, namespace, name }: { readonly resource: Resource; readonly namespace: string; readonly name: string },
): { readonly kind: WritableKind; readonly existing: LiveObject } => {
  const kind = around.kindOf(resource)
  const existing = kind.collection.live.get(keyOf(namespace, name)) ?? refuse(objectNotFound(resource, name))
  return { kind, existing }
}

// Everything that writes need to know about a kind, assembled once and kept until the kind is removed.

/** The additions of a custom kind's schema to its rules. Both may throw Refusal. */
interface SchemaRules {
  readonly setDefaults: (object: MutableObject) => void
  readonly check: WritableKind["checkSchema"]
}

export class WritableKinds {
  readonly #store: ObjectStore
  readonly #types: SchemaCatalogue
  readonly #rulesOf: (resource: Resource) => KindRules
  readonly #checks = new Map<string, SchemaRules>()
  readonly #kinds = new Map<Resource, WritableKind>()

  constructor(store: ObjectStore, types: SchemaCatalogue, rulesOf: (resource: Resource) => KindRules) {
    this.#store = store
    this.#types = types
    this.#rulesOf = rulesOf
  }

  of(resource: Resource): WritableKind {
    const known = this.#kinds.get(resource)
    if (known !== undefined) return known
    const { storedAs } = resource
    const kind: WritableKind = {
      resource,
      collection: this.#store.collection(resource.gvk),
      rules: this.#rules(resource),
      type: this.#types.of(resource.gvk) ?? schemaless(),
      toStored: storedAs === undefined ? same : (object) => converted(storedAs.toStored(object)),
      fromStored: storedAs === undefined ? same : (object) => converted(storedAs.fromStored(object)),
      checkSchema: this.#checks.get(formatGvk(resource.gvk))?.check ?? accepted,
    }
    this.#kinds.set(resource, kind)
    return kind
  }

  #rules(resource: Resource): KindRules {
    const rules = this.#rulesOf(resource)
    const schema = this.#checks.get(formatGvk(resource.gvk))
    return schema === undefined ? rules : { ...rules, setDefaults: schema.setDefaults }
  }

  /** Sets or replaces the schema of a kind; it applies from the next write. */
  describe(resource: Resource, type: KubernetesType, rules: SchemaRules): void {
    this.#types.add(resource.gvk, type)
    this.#checks.set(formatGvk(resource.gvk), rules)
    this.#kinds.delete(resource)
  }

  forget(resource: Resource): void {
    this.#types.remove(resource.gvk)
    this.#checks.delete(formatGvk(resource.gvk))
    this.#kinds.delete(resource)
  }
}

const same = (object: MutableObject): MutableObject => object
const accepted = (): undefined => undefined
const converted = (object: Readonly<Record<string, unknown>>): MutableObject =>
  isWhole(object) ? object : { ...object, metadata: {} }

/** The type of a kind registered without a schema: any members beside the usual metadata. */
const schemaless = (): KubernetesType => ({
  ...anyType,
  kind: "object",
  fields: new Map([["metadata", objectMetaType()]]),
  isNullable: false,
})
