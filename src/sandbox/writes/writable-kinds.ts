/** Everything that writes need to know about a kind, assembled once and kept until the kind is removed. */

import type { KubernetesObject } from "../../apiserver/kinds/kubernetes-object.ts"
import type { Resource } from "../../apiserver/kinds/resources.ts"
import { formatGvk } from "../../kube/gvk.ts"
import { anyType } from "../patch/managed-fields/type-walk.ts"
import type { KindRules, MutableObject } from "../rules/kind-rules.ts"
import { objectMetaType, type SchemaCatalogue } from "../schema/catalogue.ts"
import type { KubernetesType } from "../schema/kubernetes-type.ts"
import type { ObjectStore } from "../store/object-store.ts"
import type { WritableKind } from "./surroundings.ts"

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
  object as unknown as KubernetesObject as unknown as MutableObject

/** The type of a kind registered without a schema: any members beside the usual metadata. */
const schemaless = (): KubernetesType => ({
  ...anyType,
  kind: "object",
  fields: new Map([["metadata", objectMetaType()]]),
  isNullable: false,
})
