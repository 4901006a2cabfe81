/**
 * Serves the kinds of CustomResourceDefinitions: from the moment a definition is stored, as described by its latest
 * state, until it is deleted, objects first. Part of the API server itself, so always active.
 *
 * Limits: a change of scope or names is treated as a change of the description, and a definition whose names were in
 * use is not checked again when they become free.
 */
import {
  type ChangeRecord,
  type DefinedKind,
  definedKinds,
  errorText,
  KindConflictError,
  type OpenApiDocuments,
  publishedKind,
  type Resource,
} from "../../apiserver/index.ts"
import { formatGvk } from "../../kube/offline.ts"
import { child, isSame, items, text, texts } from "../rules/fields.ts"
import type { Fields, MutableObject } from "../rules/kind-rules.ts"
import { customType } from "../schema/custom/custom-schema.ts"
import { applySchemaDefaults, dropNulls } from "../schema/custom/schema-defaults.ts"
import { compileRules } from "../schema/validations/compiled-rules.ts"
import { checkCustomObject } from "../schema/validations/rule-check.ts"
import type { Collection, LiveObject } from "../store/collection.ts"
import { stateOf } from "../store/object-encoding.ts"
import { refuse } from "../store/refusal.ts"
import type { ServedKinds } from "../store/served-kinds.ts"
import { timestamp } from "../store/stamps.ts"
import { trackReplacement } from "../writes/field-owners.ts"
import { invalidObject } from "../writes/request/write-failures.ts"
import { noDeleteOptions } from "../writes/request/write-options.ts"
import type { WritableKinds, WriteSurroundings } from "../writes/surroundings.ts"
import { definitionFinalizer, deleteObject, isDefinition } from "../writes/verbs/delete.ts"

// The names that a CustomResourceDefinition gets: those that no other definition of its group has (the naming
// controller).

interface NameConflict {
  readonly reason: string
  readonly message: string
}

interface AcceptedNames {
  /** `status.acceptedNames`. */
  readonly accepted: Fields
  /** The last of several, as the real server reports it. */
  readonly conflict: NameConflict | undefined
}

const nameConflict = (reason: string, name: string): NameConflict => ({
  reason,
  message: `"${name}" is already in use`,
})

/** `others` are the specs of the definitions already served. */
const acceptedNames = (spec: Fields | undefined, others: ReadonlyArray<Fields | undefined>): AcceptedNames => {
  const wanted = child(spec, "names") ?? {}
  const rivals = others.filter((other) => text(other, "group") === text(spec, "group"))
  const names = rivals.map((rival) => child(rival, "names"))
  const resources = new Set(
    names.flatMap((taken) => [text(taken, "plural"), text(taken, "singular"), ...texts(taken, "shortNames")]),
  )
  const kinds = new Set(names.flatMap((taken) => [text(taken, "kind"), text(taken, "listKind")]))
  const accepted: Fields = { ...wanted }
  let conflict: NameConflict | undefined
  const settle = (key: string, taken: ReadonlySet<string>, reason: string): void => {
    const name = text(wanted, key)
    if (name === "" || !taken.has(name)) return
    conflict = nameConflict(reason, name)
    accepted[key] = key === "kind" || key === "plural" ? "" : undefined
  }
  settle("plural", resources, "PluralConflict")
  settle("singular", resources, "SingularConflict")
  const short = texts(wanted, "shortNames").find((name) => resources.has(name))
  if (short !== undefined) {
    conflict = nameConflict("ShortNamesConflict", short)
    accepted.shortNames = undefined
  }
  settle("kind", kinds, "KindConflict")
  settle("listKind", kinds, "ListKindConflict")
  return { accepted, conflict }
}

interface CustomKindsSurroundings {
  readonly around: WriteSurroundings
  readonly kinds: ServedKinds
  readonly writable: WritableKinds
  readonly documents: OpenApiDocuments
}

const definitionKind = "apiextensions.k8s.io/v1.CustomResourceDefinition"

interface Definition {
  readonly name: string
  readonly spec: Fields | undefined
  readonly kinds: ReadonlyArray<DefinedKind>
}

export class CustomKinds {
  readonly #surroundings: CustomKindsSurroundings
  /** By name of the definition. */
  readonly #definitions = new Map<string, Definition>()

  constructor(surroundings: CustomKindsSurroundings) {
    this.#surroundings = surroundings
    surroundings.around.store.observe((collection, record) => this.#observe(collection, record))
  }

  /** After the store's history has been replaced: serves the kinds of the definitions it holds now, and no others. */
  rebuild(): void {
    const collection = this.#surroundings.around.store.collection(definitionKind)
    for (const name of [...this.#definitions.keys()]) if (!collection.live.has(name)) this.#withdraw(name)
    for (const name of [...collection.live.keys()]) this.#enforce(collection, name)
  }

  #observe(collection: Collection, { change }: ChangeRecord): void {
    if (isDefinition(collection.resource)) {
      if (change.type === "DELETED") this.#withdraw(change.name)
      else if (change.terminating === true) this.#clear(collection, change.name)
      else this.#enforce(collection, change.name)
    } else if (collection.resource.custom === true && change.type === "DELETED") {
      this.#finishClearing(collection.resource)
    }
  }

  #enforce(collection: Collection, name: string): void {
    const existing = collection.live.get(name)
    if (existing === undefined) return
    const object = stateOf(existing.change)
    const spec = child(object, "spec")
    const known = this.#definitions.get(name)
    if (known !== undefined && isSame(known.spec, spec)) return
    const kinds = definedKinds(object)
    const others = [...this.#definitions.values()].filter((definition) => definition.name !== name)
    const names = acceptedNames(
      spec,
      others.map((definition) => definition.spec),
    )
    const conflict = names.conflict ?? this.#serve(known?.kinds ?? [], kinds)
    if (conflict === undefined) this.#definitions.set(name, { name, spec, kinds })
    this.#report(collection, name, conflict, names.accepted)
  }

  /** Returns the conflict, if there is one. */
  #serve(before: ReadonlyArray<DefinedKind>, after: ReadonlyArray<DefinedKind>): NameConflict | undefined {
    const { kinds, writable, documents } = this.#surroundings
    const key = ({ resource }: DefinedKind): string => formatGvk(resource.gvk)
    const remaining = new Set(after.map(key))
    for (const old of before.toReversed()) if (!remaining.has(key(old))) this.#remove(old.resource)
    for (const kind of after) {
      const old = before.find((candidate) => key(candidate) === key(kind))
      try {
        if (old === undefined) kinds.add(kind.resource)
        else kinds.replace(old.resource, kind.resource)
      } catch (error) {
        if (error instanceof KindConflictError) return nameConflict("PluralConflict", kind.resource.plural)
        throw error
      }
      if (old !== undefined) writable.forget(old.resource)
      describe(writable, kind)
      documents.add(publishedKind(kind))
    }
    return undefined
  }

  #remove(resource: Resource): void {
    const { kinds, writable, documents } = this.#surroundings
    writable.forget(resource)
    documents.remove(resource.gvk)
    kinds.remove(resource)
  }

  #withdraw(name: string): void {
    for (const { resource } of this.#definitions.get(name)?.kinds.toReversed() ?? []) this.#remove(resource)
    this.#definitions.delete(name)
  }

  /** Two writes, two versions, as by the real controllers. */
  #report(collection: Collection, name: string, conflict: NameConflict | undefined, acceptedNames: Fields): void {
    const time = timestamp(this.#surroundings.around.clock)
    const accepted =
      conflict === undefined
        ? condition("NamesAccepted", "True", "NoConflicts", "no conflicts found", time)
        : condition("NamesAccepted", "False", conflict.reason, conflict.message, time)
    this.#setStatus(collection, name, (status, spec) => ({
      ...withCondition(status, accepted),
      acceptedNames,
      storedVersions: storedVersions(status, spec),
    }))
    const established =
      conflict === undefined
        ? condition("Established", "True", "InitialNamesAccepted", "the initial names have been accepted", time)
        : condition("Established", "False", "NotAccepted", "not all names are accepted", time)
    this.#setStatus(collection, name, (status) => withCondition(status, established))
  }

  #setStatus(collection: Collection, name: string, change: (status: Fields, spec: Fields | undefined) => Fields): void {
    const existing = collection.live.get(name)
    if (existing === undefined) return
    const before = stateOf(existing.change)
    const metadata = { ...before.metadata }
    const status = change(child(before, "status") ?? {}, child(before, "spec"))
    const after: MutableObject = { ...before, metadata, status }
    const { around } = this.#surroundings
    metadata.managedFields = trackReplacement(
      around,
      around.kindOf(collection.resource),
      before,
      after,
      "apiserver",
      "status",
    )
    this.#surroundings.around.store.write(collection, after, existing, before)
  }

  /** Deletes the objects of the kind; those with finalizers keep the definition until they are gone. */
  #clear(collection: Collection, name: string): void {
    const { around } = this.#surroundings
    const [stored] = this.#definitions.get(name)?.kinds ?? []
    if (stored === undefined) return this.#release(collection, name)
    const kind = around.kindOf(stored.resource)
    for (const object of [...kind.collection.live.values()]) {
      // The real server's own code deletes them, without admission.
      if (object.change.terminating !== true) deleteObject(around, kind, object, noDeleteOptions, () => undefined)
    }
    if (kind.collection.live.size === 0) this.#release(collection, name)
  }

  #finishClearing(resource: Resource): void {
    const { around } = this.#surroundings
    for (const { name, kinds } of this.#definitions.values()) {
      if (kinds[0]?.resource.plural !== resource.plural || kinds[0].resource.gvk.group !== resource.gvk.group) continue
      const collection = around.store.collection(definitionKind)
      const left = around.store.collection(resource.gvk).live.size
      if (left === 0 && collection.live.get(name)?.change.terminating === true) this.#release(collection, name)
    }
  }

  #release(collection: Collection, name: string): void {
    const existing = collection.live.get(name)
    if (existing === undefined) return
    const before = stateOf(existing.change)
    const finalizers = texts(before.metadata, "finalizers").filter((finalizer) => finalizer !== definitionFinalizer)
    const after: MutableObject = { ...before, metadata: { ...before.metadata, finalizers } }
    this.#end(collection, existing, after, before, finalizers.length === 0)
  }

  #end(collection: Collection, existing: LiveObject, after: MutableObject, before: MutableObject, last: boolean): void {
    const { store } = this.#surroundings.around
    // Watchers see the state that was stored, with the finalizer.
    if (last) store.remove(collection, existing)
    else store.write(collection, after, existing, before)
  }
}

/**
 * Checks objects of the kind as the real server does: drops nulls, sets defaults, then validates, by schema and then by
 * rules.
 */
const describe = (writable: WritableKinds, { resource, schema }: DefinedKind): void => {
  const type = customType(schema)
  const rules = schema && compileRules(schema)
  writable.describe(resource, type, {
    setDefaults: (object) => {
      dropNulls(type, object)
      applySchemaDefaults(type, object)
    },
    check: (object, old, warnings) => {
      const { errors, tolerated } = checkCustomObject(schema, rules, object, old)
      warnings.push(...tolerated.map(errorText))
      if (errors.length > 0) refuse(invalidObject(resource, String(object.metadata.name ?? ""), errors))
    },
  })
}

const condition = (
  type: string,
  status: string,
  reason: string,
  message: string,
  lastTransitionTime: string,
): Fields => ({
  type,
  status,
  lastTransitionTime,
  reason,
  message,
})

/** An unchanged condition keeps its time. */
const withCondition = (status: Fields, next: Fields): Fields => {
  const conditions = items(status, "conditions")
  const known = conditions.find((candidate) => text(candidate, "type") === next.type)
  if (known === undefined) return { ...status, conditions: [...conditions, next] }
  const kept = known.status === next.status ? { ...next, lastTransitionTime: known.lastTransitionTime } : next
  return { ...status, conditions: conditions.map((candidate) => (candidate === known ? kept : candidate)) }
}

const storedVersions = (status: Fields, spec: Fields | undefined): ReadonlyArray<string> => {
  const known = texts(status, "storedVersions")
  const stored = text(
    items(spec, "versions").find((version) => version.storage === true),
    "name",
  )
  return known.includes(stored) || stored === "" ? known : [...known, stored]
}
