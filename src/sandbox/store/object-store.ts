/**
 * The sandbox's etcd: all objects of all kinds under one revision counter. Every put and every deletion takes the next
 * revision, even if nothing changed; a {@link ObjectStore.write}, the write of a client, takes none if it changes
 * nothing.
 *
 * A put stringifies the object once and keeps no reference to it: the caller may keep changing it.
 */

import {
  type Change,
  type ChangeRecord,
  type ChangeType,
  type GvkName,
  gvkName,
  type JsonFormat,
  type KubernetesObject,
  keyOf,
  makeChange,
  type Owner,
  parseObject,
  type Resource,
  restamped,
  type StoredAs,
  type StoredObject,
  UnknownKindError,
} from "../../apiserver/index.ts"
import type { Clock } from "../../clock.ts"
import { apiVersionOf } from "../../kube/offline.ts"
import type { MutableObject } from "../rules/kind-rules.ts"
import { Collection, type LiveObject } from "./collection.ts"
import type { Ledger } from "./ledger.ts"
import { type Encoding, encodeObject, isOmitted, isUnchanged, stateOf, withVersion } from "./object-encoding.ts"
import {
  assemble,
  digestOf,
  type Identity,
  type Randomness,
  specTextOf,
  stampsOf,
  systemRandomness,
  timestamp,
} from "./stamps.ts"
import { UnknownObjectError } from "./store-errors.ts"

// The decoded objects of the states that clients wrote last: the next write to such an object need not parse it again,
// which was a fifth of a patch's cost.
//
// An object is handed out only once, so it is as good as newly parsed: the caller may change it, and if that write
// fails, the next one parses the state.
//
// Bounded by the JSON size of the kept objects; the oldest are dropped first. Decoded JSON takes some five times its
// text.

/** Bytes of JSON: some 10 MB decoded. */
const keptBytes = 2 * 1024 * 1024

export class ParsedStates {
  readonly #objects = new Map<Change, MutableObject>()
  #bytes = 0

  /** The object of a state, without any other reference to it. */
  take(change: Change): MutableObject {
    const object = this.#objects.get(change)
    if (object === undefined) return stateOf(change)
    this.forget(change)
    return object
  }

  /** `change` was encoded from the object. Not for custom kinds: their keys are sorted as they are encoded. */
  keep(resource: Resource, change: Change, object: MutableObject): void {
    if (resource.custom === true) return
    this.#objects.set(change, asEncoded(resource, change, object))
    this.#bytes += change.line.length
    for (const oldest of this.#objects.keys()) {
      if (this.#bytes <= keptBytes) break
      this.forget(oldest)
    }
  }

  forget(change: Change): void {
    if (this.#objects.delete(change)) this.#bytes -= change.line.length
  }
}

/** The object as decoding would yield it: without undefined members, and with the state's version. */
const asEncoded = ({ gvk }: Resource, { revision }: Change, object: MutableObject): MutableObject => {
  const metadata: Record<string, unknown> = {}
  for (const key of Object.keys(object.metadata)) {
    const value = object.metadata[key]
    if (!isOmitted(value)) metadata[key] = value
  }
  metadata.resourceVersion = String(revision)
  const state: MutableObject = { kind: gvk.kind, apiVersion: apiVersionOf(gvk), metadata }
  for (const key of Object.keys(object)) {
    if (object[key] !== undefined && !Object.hasOwn(state, key)) state[key] = object[key]
  }
  return state
}

interface ObjectStoreOptions {
  readonly clock: Clock
  /** Default: the machine's. */
  readonly random?: Randomness
  readonly ledger: Ledger
  readonly format: JsonFormat
  /** Changes kept per kind. */
  readonly historyLimit: number
  /** The revision before the first change. */
  readonly revision: bigint
}

/** Called for a change after all watchers; may itself write. */
type StoreObserver = (collection: Collection, record: ChangeRecord) => void

export class ObjectStore {
  readonly #options: ObjectStoreOptions
  readonly #collections = new Map<string, Collection>()
  /** Kinds that are another view of a stored one, by name. */
  readonly #views = new Map<string, StoredAs>()
  readonly #observers: StoreObserver[] = []
  readonly #parsed = new ParsedStates()
  #revision: bigint
  /** The start of the history: a kind that is opened later is complete from here as well, since it had no objects. */
  #base: bigint

  constructor(options: ObjectStoreOptions) {
    this.#options = options
    this.#revision = options.revision
    this.#base = options.revision
  }

  /** The revision of the newest change of any kind. */
  get revision(): bigint {
    return this.#revision
  }

  get ledger(): Ledger {
    return this.#options.ledger
  }

  get format(): JsonFormat {
    return this.#options.format
  }

  /** For parts of the server itself; the subscription cannot be ended. */
  observe(observer: StoreObserver): void {
    this.#observers.push(observer)
  }

  /** The next change gets the revision after this one; nothing else changes. */
  advanceTo(revision: bigint): void {
    this.#revision = revision
  }

  /** Replaces the history: each kind gets the given objects (none if it is not mentioned) and an empty history. */
  replace(revision: bigint, objects: ReadonlyMap<Collection, ReadonlyMap<string, LiveObject>>): void {
    this.#revision = revision
    this.#base = revision
    for (const collection of this.#collections.values())
      collection.reset(objects.get(collection) ?? new Map(), revision)
  }

  /** A kind that is stored as another one gets that one's collection, which must be open. */
  open(resource: Resource): Collection {
    if (resource.storedAs !== undefined) {
      const collection = this.collection(resource.storedAs.gvk)
      this.#views.set(gvkName(resource.gvk), resource.storedAs)
      return collection
    }
    const collection = new Collection(resource, this.#options.historyLimit, this.#base)
    this.#collections.set(gvkName(resource.gvk), collection)
    return collection
  }

  /** Replaces the description of an open collection's kind; its objects stay. */
  reopen(resource: Resource): void {
    if (resource.storedAs === undefined) this.collection(resource.gvk).resource = resource
    else this.open(resource)
  }

  /** Closing a view leaves the objects in place. */
  close(resource: Resource): void {
    if (!this.#views.delete(gvkName(resource.gvk))) this.#collections.delete(gvkName(resource.gvk))
  }

  /** Throws {@link UnknownKindError}. */
  collection(gvk: GvkName): Collection {
    const name = gvkName(gvk)
    const view = this.#views.get(name)
    const collection = this.#collections.get(view === undefined ? name : gvkName(view.gvk))
    if (collection === undefined) throw new UnknownKindError({ gvk: name })
    return collection
  }

  collections(): IterableIterator<Collection> {
    return this.#collections.values()
  }

  put(gvk: GvkName, given: KubernetesObject): StoredObject {
    const collection = this.collection(gvk)
    const view = this.#views.get(gvkName(gvk))
    const object = view === undefined ? given : (view.toStored(given) as KubernetesObject)
    const { resource } = collection
    const namespace = resource.namespaced ? (object.metadata.namespace ?? "default") : ""
    const { name } = object.metadata
    const existing = collection.live.get(keyOf(namespace, name))
    const { stored, next } = this.stamp(resource, object, namespace, existing, ++this.#revision)
    this.#apply(collection, { change: next.change, previous: existing?.change }, next)
    return this.#seenAs(gvk, stored)
  }

  /** Stores a state with its own identity; only the version is the store's. See `Sandbox.load`. */
  load(gvk: GvkName, given: KubernetesObject): StoredObject {
    const collection = this.collection(gvk)
    const view = this.#views.get(gvkName(gvk))
    const object = (view === undefined ? given : view.toStored(given)) as MutableObject
    const { namespaced } = collection.resource
    const namespace = namespaced ? String(object.metadata.namespace ?? "default") : ""
    const metadata: MutableObject["metadata"] = { ...object.metadata, ...(namespaced && { namespace }) }
    const key = keyOf(namespace, String(metadata.name))
    const existing = collection.live.get(key)
    if (existing !== undefined && existing.change.uid !== metadata.uid) this.#delete(collection, existing)
    const change = this.write(collection, { ...object, metadata }, collection.live.get(key))
    return this.#seenAs(gvk, parseObject(change))
  }

  list(gvk: GvkName): ReadonlyArray<StoredObject> {
    const objects = [...this.collection(gvk).live.values()]
    return objects.map(({ change }) => this.#seenAs(gvk, parseObject(change)))
  }

  get(gvk: GvkName, namespace: string, name: string): StoredObject | undefined {
    const { live, resource } = this.collection(gvk)
    const object = live.get(keyOf(resource.namespaced ? namespace : "", name))
    return object === undefined ? undefined : this.#seenAs(gvk, parseObject(object.change))
  }

  /** Throws {@link UnknownObjectError}. */
  delete(gvk: GvkName, namespace: string, name: string): StoredObject {
    const collection = this.collection(gvk)
    const existing = collection.live.get(keyOf(collection.resource.namespaced ? namespace : "", name))
    if (existing === undefined) throw new UnknownObjectError({ gvk: gvkName(gvk), namespace, name })
    return this.#seenAs(gvk, parseObject(this.#delete(collection, existing)))
  }

  #seenAs(gvk: GvkName, stored: StoredObject): StoredObject {
    const view = this.#views.get(gvkName(gvk))
    return view === undefined ? stored : (view.fromStored(stored) as StoredObject)
  }

  /** Deletes every object of a kind, each with its event and its revision; none if the kind is only a view. */
  deleteAll(resource: Resource): void {
    if (resource.storedAs !== undefined) return
    const collection = this.collection(resource.gvk)
    for (const object of [...collection.live.values()]) this.#delete(collection, object)
  }

  /**
   * Stores a whole object, including metadata, as the state of its name. Takes no version and calls no listener if
   * nothing differs from `before`, the existing state parsed. `object.metadata.resourceVersion` is ignored. The store
   * owns the object from then on. `readBack`: see {@link LiveObject}.
   */
  write(
    collection: Collection,
    object: MutableObject,
    existing?: LiveObject,
    before?: MutableObject,
    readBack = false,
  ): Change {
    const { format } = this.#options
    const encoding = encodeObject(collection.resource, object)
    if (existing !== undefined && before !== undefined && (existing.readBack ?? false) === readBack) {
      if (isUnchanged(existing.change, before, encoding, object, format)) return existing.change
    }
    const change = this.#change(collection, existing === undefined ? "ADDED" : "MODIFIED", object, encoding)
    if (existing !== undefined) this.#parsed.forget(existing.change)
    this.#parsed.keep(collection.resource, change, object)
    this.#apply(collection, { change, previous: existing?.change }, readBack ? { change, readBack } : { change })
    return change
  }

  /** The object of a state, for a caller about to write the next one: as if newly parsed, but often without parsing. */
  takeParsed(change: Change): MutableObject {
    return this.#parsed.take(change)
  }

  /** Removes an object. `last`, if given, is the last state of its DELETED event, if it is not the stored one. */
  remove(collection: Collection, existing: LiveObject, last?: MutableObject): Change {
    if (last === undefined) return this.#delete(collection, existing)
    const change = this.#change(collection, "DELETED", last, encodeObject(collection.resource, last))
    return this.#forget(collection, existing, change)
  }

  /** Encodes an object with a revision, without storing it. */
  stamp(
    resource: Resource,
    object: KubernetesObject,
    namespace: string,
    existing: LiveObject | undefined,
    revision: bigint,
  ): { stored: StoredObject; next: LiveObject } {
    const spec = specTextOf(object)
    const identity = this.#identity(spec, existing)
    const { stored, json } = assemble(resource, object, namespace, identity, revision, spec)
    const type: ChangeType = existing === undefined ? "ADDED" : "MODIFIED"
    const { labels, name, deletionTimestamp } = object.metadata
    const fields = {
      type,
      uid: identity.uid,
      namespace,
      name,
      labels: labels && { ...labels },
      revision,
      terminating: typeof deletionTimestamp === "string",
      owners: ownersOf(stored.metadata),
    }
    return { stored, next: { change: makeChange(fields, json, this.#options.format), stamps: identity } }
  }

  #identity(spec: string, existing: LiveObject | undefined): Identity {
    const specDigest = digestOf(spec)
    if (existing === undefined) {
      const { clock, random = systemRandomness } = this.#options
      return { uid: random.uid(), creationTimestamp: timestamp(clock), generation: spec === "" ? 0 : 1, specDigest }
    }
    const { uid } = existing.change
    const { creationTimestamp, generation, specDigest: before } = existing.stamps ?? stampsOf(existing.change)
    return { uid, creationTimestamp, generation: specDigest === before ? generation : generation + 1, specDigest }
  }

  #change(collection: Collection, type: ChangeType, object: MutableObject, encoding: Encoding): Change {
    const { uid, namespace, name, labels, deletionTimestamp } = object.metadata
    const revision = ++this.#revision
    const fields = {
      type,
      uid: String(uid),
      namespace: collection.resource.namespaced ? String(namespace) : "",
      name: String(name),
      // Copied, because the next write may change the object; label values are known to be text.
      labels: labels === undefined || labels === null ? undefined : { ...(labels as Readonly<Record<string, string>>) },
      revision,
      terminating: typeof deletionTimestamp === "string",
      owners: ownersOf(object.metadata),
    }
    return makeChange(fields, withVersion(encoding, revision), this.#options.format)
  }

  #delete(collection: Collection, existing: LiveObject): Change {
    const change = restamped(existing.change, "DELETED", ++this.#revision, this.#options.format)
    return this.#forget(collection, existing, change)
  }

  #forget(collection: Collection, existing: LiveObject, change: Change): Change {
    this.#parsed.forget(existing.change)
    this.#apply(collection, { change, previous: existing.change }, undefined)
    return change
  }

  #apply(collection: Collection, record: ChangeRecord, next: LiveObject | undefined): void {
    this.#options.ledger.record(collection.name, record.change)
    collection.apply(record, next)
    for (const observer of this.#observers) observer(collection, record)
  }
}

/** Copied, so that they keep nothing else of the object in memory. */
const ownersOf = ({ ownerReferences }: Readonly<Record<string, unknown>>): ReadonlyArray<Owner> | undefined =>
  Array.isArray(ownerReferences) && ownerReferences.length > 0
    ? ownerReferences.map(({ apiVersion, kind, name, uid, blockOwnerDeletion }) => ({
        apiVersion,
        kind,
        name,
        uid,
        ...(blockOwnerDeletion === true ? { blockOwnerDeletion } : {}),
      }))
    : undefined
