/**
 * The sandbox's etcd: all objects of all kinds under one revision counter. Every put and every deletion takes the next
 * revision, also when nothing changed (a real server drops updates without effect).
 *
 * A put stringifies the object once and keeps no reference to it: the caller may go on changing it.
 */

import { hash, randomUUID } from "node:crypto"
import type { Clock } from "../runtime/clock.ts"
import { type Change, type ChangeType, keyOf, makeChange, parseObject, restamped, typeMembers } from "./change.ts"
import { Collection, type LiveObject } from "./collection.ts"
import { UnknownKindError, UnknownObjectError } from "./errors.ts"
import type { JsonFormat } from "./json-spacing.ts"
import type { KubernetesObject, StoredObject } from "./kubernetes-object.ts"
import type { Ledger } from "./ledger.ts"
import { type GvkName, gvkName, type Resource } from "./resources.ts"

export interface ObjectStoreOptions {
  readonly clock: Clock
  readonly ledger: Ledger
  readonly format: JsonFormat
  /** Changes kept per kind. */
  readonly historyLimit: number
  /** The revision before the first change. */
  readonly revision: bigint
}

/** What an object is stamped with; an existing object keeps everything but the revision. */
interface Identity {
  readonly uid: string
  readonly creationTimestamp: string
  readonly generation: number
  readonly specDigest: string
}

export class ObjectStore {
  readonly #options: ObjectStoreOptions
  readonly #collections = new Map<string, Collection>()
  #revision: bigint
  /** Where this past begins: a kind opened later is complete from here on too, having had no objects. */
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

  /** The next change gets the revision after this one; nothing else moves. */
  advanceTo(revision: bigint): void {
    this.#revision = revision
  }

  /** Another past: each kind holds the objects given (none if it is not mentioned) and no history. */
  replace(revision: bigint, objects: ReadonlyMap<Collection, ReadonlyMap<string, LiveObject>>): void {
    this.#revision = revision
    this.#base = revision
    for (const collection of this.#collections.values())
      collection.reset(objects.get(collection) ?? new Map(), revision)
  }

  open(resource: Resource): Collection {
    const collection = new Collection(resource, this.#options.historyLimit, this.#base)
    this.#collections.set(gvkName(resource.gvk), collection)
    return collection
  }

  close(resource: Resource): void {
    this.#collections.delete(gvkName(resource.gvk))
  }

  /** Throws {@link UnknownKindError}. */
  collection(gvk: GvkName): Collection {
    const name = gvkName(gvk)
    const collection = this.#collections.get(name)
    if (collection === undefined) throw new UnknownKindError({ gvk: name })
    return collection
  }

  collections(): IterableIterator<Collection> {
    return this.#collections.values()
  }

  put(gvk: GvkName, object: KubernetesObject): StoredObject {
    const collection = this.collection(gvk)
    const { resource } = collection
    const namespace = resource.namespaced ? (object.metadata.namespace ?? "default") : ""
    const { name } = object.metadata
    const existing = collection.live.get(keyOf(namespace, name))
    const { stored, next } = this.stamp(resource, object, namespace, existing, ++this.#revision)
    this.#options.ledger.record(gvkName(resource.gvk), next.change)
    collection.apply({ change: next.change, previous: existing?.change }, next)
    return stored
  }

  get(gvk: GvkName, namespace: string, name: string): StoredObject | undefined {
    const { live, resource } = this.collection(gvk)
    const object = live.get(keyOf(resource.namespaced ? namespace : "", name))
    return object === undefined ? undefined : parseObject(object.change)
  }

  /** Throws {@link UnknownObjectError}. */
  delete(gvk: GvkName, namespace: string, name: string): StoredObject {
    const collection = this.collection(gvk)
    const existing = collection.live.get(keyOf(collection.resource.namespaced ? namespace : "", name))
    if (existing === undefined) throw new UnknownObjectError({ gvk: gvkName(gvk), namespace, name })
    return parseObject(this.#delete(collection, existing))
  }

  /** Deletes every object of a kind, each with its event and its revision. */
  deleteAll(resource: Resource): void {
    const collection = this.collection(resource.gvk)
    for (const object of [...collection.live.values()]) this.#delete(collection, object)
  }

  /** Encodes an object as it stands at a revision, without storing it. */
  stamp(
    resource: Resource,
    object: KubernetesObject,
    namespace: string,
    existing: LiveObject | undefined,
    revision: bigint,
  ): { stored: StoredObject; next: LiveObject } {
    const spec = object.spec === undefined ? "" : JSON.stringify(object.spec)
    const identity = this.#identity(spec, existing)
    const { stored, json } = assemble(resource, object, namespace, identity, revision, spec)
    const type: ChangeType = existing === undefined ? "ADDED" : "MODIFIED"
    const { labels, name } = object.metadata
    const fields = { type, uid: identity.uid, namespace, name, labels: labels && { ...labels }, revision }
    const change = makeChange(fields, json, this.#options.format)
    const { creationTimestamp, generation, specDigest } = identity
    return { stored, next: { change, creationTimestamp, generation, specDigest } }
  }

  /** The bookkeeping of a live object, won back from one of its states. */
  revive(change: Change): LiveObject {
    const { metadata, spec } = parseObject(change)
    const { creationTimestamp, generation = 0 } = metadata
    return {
      change,
      creationTimestamp,
      generation,
      specDigest: digestOf(spec === undefined ? "" : JSON.stringify(spec)),
    }
  }

  #identity(spec: string, existing: LiveObject | undefined): Identity {
    const specDigest = digestOf(spec)
    if (existing === undefined) {
      const creationTimestamp = timestamp(this.#options.clock)
      return { uid: randomUUID(), creationTimestamp, generation: spec === "" ? 0 : 1, specDigest }
    }
    const { change, creationTimestamp, generation } = existing
    const bump = specDigest !== existing.specDigest
    return { uid: change.uid, creationTimestamp, generation: bump ? generation + 1 : generation, specDigest }
  }

  #delete(collection: Collection, existing: LiveObject): Change {
    const change = restamped(existing.change, "DELETED", ++this.#revision, this.#options.format)
    this.#options.ledger.record(gvkName(collection.resource.gvk), change)
    collection.apply({ change, previous: existing.change }, undefined)
    return change
  }
}

/** SHA-1: 1.5 µs for a usual spec, and nobody here needs to resist forgery. */
const digestOf = (spec: string): string => (spec === "" ? "" : hash("sha1", spec, "base64"))

const timestamp = (clock: Clock): string =>
  `${new Date(Math.floor(clock.wallMicros() / 1000)).toISOString().slice(0, 19)}Z`

/** The stored object and its JSON, `spec` being the JSON of the spec, which is not stringified a second time. */
const assemble = (
  resource: Resource,
  object: KubernetesObject,
  namespace: string,
  identity: Identity,
  revision: bigint,
  spec: string,
): { stored: StoredObject; json: string } => {
  const { name, namespace: _namespace, generation: _generation, ...given } = object.metadata
  const { uid, creationTimestamp, generation } = identity
  // Names first, then the server's own fields, then what was given: the order of ObjectMeta as Go encodes it, nearly.
  let metadata: StoredObject["metadata"] = {
    name,
    ...(namespace === "" ? {} : { namespace }),
    uid,
    resourceVersion: String(revision),
    ...(generation === 0 ? {} : { generation }),
    creationTimestamp,
    ...withoutStamps(given),
  }
  if (resource.custom === true) metadata = sortedKeys(metadata)
  const { apiVersion: _apiVersion, kind: _kind, metadata: _metadata, ...rest } = object
  const members = resource.custom === true ? sortedKeys(rest) : rest
  let json = `{${typeMembers(resource)},"metadata":${JSON.stringify(metadata)}`
  for (const [key, value] of Object.entries(members)) {
    const text = key === "spec" ? spec : JSON.stringify(value)
    if (text !== undefined && text !== "") json += `,${JSON.stringify(key)}:${text}`
  }
  const { group, version, kind } = resource.gvk
  const apiVersion = group === "" ? version : `${group}/${version}`
  return { stored: { kind, apiVersion, ...members, metadata }, json: `${json}}` }
}

/** What only the server may set; a client that sends back what it has read must not overwrite it. */
const withoutStamps = (metadata: Readonly<Record<string, unknown>>): Record<string, unknown> => {
  const { uid: _uid, resourceVersion: _version, creationTimestamp: _created, ...given } = metadata
  return given
}

const sortedKeys = <T extends object>(value: T): T =>
  Object.fromEntries(Object.entries(value).sort(([left], [right]) => (left < right ? -1 : 1))) as T
