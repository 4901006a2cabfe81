/**
 * The object stored by a put through the control interface: the caller's, stamped with identity, version and
 * generation. Nothing is defaulted or checked; writes over HTTP are separate (writes/).
 */
import { hash, randomInt, randomUUID } from "node:crypto"
import {
  type Change,
  type KubernetesObject,
  parseObject,
  type Resource,
  type StoredObject,
  typeMembers,
} from "../../apiserver/index.ts"
import type { Clock } from "../../clock.ts"
import { apiVersionOf } from "../../kube/offline.ts"
import type { Stamps } from "./collection.ts"

/** The stamps of an object; an existing object keeps all but the revision. */
export interface Identity extends Stamps {
  readonly uid: string
}

export const specTextOf = (object: KubernetesObject): string =>
  object.spec === undefined ? "" : JSON.stringify(object.spec)

/** SHA-1: 1.5 µs for a typical spec, and resistance to forgery is not needed here. */
export const digestOf = (spec: string): string => (spec === "" ? "" : hash("sha1", spec, "base64"))

/** The stamps of a state, derived from the object. */
export const stampsOf = (change: Change): Stamps => {
  const object = parseObject(change)
  const { creationTimestamp, generation = 0 } = object.metadata
  return { creationTimestamp, generation, specDigest: digestOf(specTextOf(object)) }
}

/** The stored object and its JSON, `spec` being the JSON of the spec, which is not stringified a second time. */
export const assemble = (
  resource: Resource,
  object: KubernetesObject,
  namespace: string,
  identity: Identity,
  revision: bigint,
  spec: string,
): { stored: StoredObject; json: string } => {
  const { name, namespace: _namespace, generation: _generation, ...given } = object.metadata
  const { uid, creationTimestamp, generation } = identity
  // Names first, then the server's own fields, then the caller's: almost the order of ObjectMeta as Go encodes it.
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
  const { kind } = resource.gvk
  return { stored: { kind, apiVersion: apiVersionOf(resource.gvk), ...members, metadata }, json: `${json}}` }
}

/** Removes what only the server may set; a client that sends back what it has read must not overwrite it. */
const withoutStamps = (metadata: Readonly<Record<string, unknown>>): Record<string, unknown> => {
  const { uid: _uid, resourceVersion: _version, creationTimestamp: _created, ...given } = metadata
  return given
}

const sortedKeys = <T extends object>(value: T): T =>
  Object.fromEntries(Object.entries(value).sort(([left], [right]) => (left < right ? -1 : 1))) as T

// Times as Kubernetes writes them.

/** The last second that was formatted: the same one is needed thousands of times. */
let lastSecond = Number.NaN
let lastText = ""

/** RFC 3339 with whole seconds, UTC; `seconds` are added to the clock's time. */
export const timestamp = (clock: Clock, seconds = 0): string => {
  const second = Math.floor(clock.wallMicros() / 1_000_000) + seconds
  if (second !== lastSecond) {
    lastSecond = second
    lastText = `${new Date(second * 1000).toISOString().slice(0, 19)}Z`
  }
  return lastText
}

// Randomness as a capability: the random values of objects that a server creates.

export interface Randomness {
  /** A UUID of version 4. */
  uid(): string
  /** `length` characters as the real server appends them to a `generateName`. */
  suffix(length: number): string
}

/** No vowels, no 0, 1 and 3, so that names contain no words. The set of apimachinery's rand package. */
const alphabet = "bcdfghjklmnpqrstvwxz2456789"

export const systemRandomness: Randomness = {
  uid: () => randomUUID(),
  suffix(length) {
    let text = ""
    while (text.length < length) text += alphabet[randomInt(alphabet.length)]
    return text
  },
}
