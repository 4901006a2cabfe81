/**
 * A recorded state of an object as the server sends it: the watch line around the recorded bytes. Nothing is parsed unless a selector, a table or an
 * unusual object needs it, so a kind with 100,000 objects costs little more than its bytes.
 */
import { type Change, type ChangeType, type Resource, typeMembers } from "../../apiserver/index.ts"
import { apiVersionOf, parseGvk } from "../../kube/offline.ts"
import { exactJsonIn, formatExactJson, isJsonObject, type JsonObject, metadataOf } from "../../trace/index.ts"
import type { PastChange } from "../past/past.ts"
import type { RecordedResource } from "./recorded-resource.ts"

type Identity = Pick<PastChange, "uid" | "namespace" | "name" | "isStatusUnknown">

export class RecordedState implements Change {
  readonly type: ChangeType
  readonly uid: string
  readonly namespace: string
  readonly name: string
  readonly isStatusUnknown: boolean
  readonly revision: bigint
  readonly line: Buffer
  readonly chunk: Buffer
  readonly objectStart: number
  readonly objectEnd: number
  #labels: Readonly<Record<string, string>> | undefined | null = null

  constructor(
    type: ChangeType,
    { uid, namespace, name, isStatusUnknown }: Identity,
    revision: bigint,
    object: Uint8Array,
  ) {
    this.type = type
    this.isStatusUnknown = isStatusUnknown
    this.uid = uid
    this.namespace = namespace
    this.name = name
    this.revision = revision
    const head = `{"type":"${type}","object":`
    const length = head.length + object.length + lineEnd.length
    const size = `${length.toString(16)}\r\n`
    this.chunk = Buffer.allocUnsafeSlow(size.length + length + 2)
    this.chunk.write(size + head, "latin1")
    this.chunk.set(object, size.length + head.length)
    this.chunk.write(`${lineEnd}\r\n`, size.length + head.length + object.length, "latin1")
    this.line = this.chunk.subarray(size.length, -2)
    this.objectStart = head.length
    this.objectEnd = head.length + object.length
  }

  get labels(): Readonly<Record<string, string>> | undefined {
    if (this.#labels !== null) return this.#labels
    const labels = metadataOf(this.object)?.labels
    this.#labels = isJsonObject(labels) ? (labels as Readonly<Record<string, string>>) : undefined
    return this.#labels
  }

  get object(): Buffer {
    return this.line.subarray(this.objectStart, this.objectEnd)
  }
}

const lineEnd = "}\n"

/**
 * The object's bytes as a server of its kind writes them: beginning with `kind` and `apiVersion`, which older
 * recordings and foreign traces may lack, and with a resourceVersion, because clients continue from there. Bytes that
 * have both already are returned as they are.
 */
export const servedObject = (
  { stored, kind, convert }: RecordedResource,
  { object, version, isNumbered }: PastChange,
): Uint8Array => {
  if (!isNumbered && convert === undefined) {
    const [expected, swapped] = typesOf(stored)
    if (startsWith(object, expected)) return object
    if (startsWith(object, swapped)) {
      object.write(expected, "latin1")
      return object
    }
  }
  const parsed = exactJsonIn(object)
  const gvk = parseGvk(kind.gvk)
  // What cannot be read is sent as it was recorded.
  if (!isJsonObject(parsed) || gvk === undefined) return object
  const { kind: _kind, apiVersion: _apiVersion, ...rest } = isNumbered ? numbered(parsed, version) : parsed
  const typed = { kind: gvk.kind, apiVersion: apiVersionOf(gvk), ...rest }
  return Buffer.from(formatExactJson((convert?.(typed) as JsonObject | undefined) ?? typed))
}

/** Clients need a version of every object, also of those whose own is not a number or was left out of a trace. */
const numbered = (object: JsonObject, version: bigint): JsonObject => {
  const metadata = isJsonObject(object.metadata) ? object.metadata : {}
  return { ...object, metadata: { ...metadata, resourceVersion: String(version) } }
}

const known = new WeakMap<Resource, readonly [string, string]>()

/** The beginning of an object as this kind of resource is written, and the same with the two members in the other order. */
const typesOf = (resource: Resource): readonly [string, string] => {
  const texts = known.get(resource) ?? ([`{${typeMembers(resource)},`, `{${swappedMembers(resource)},`] as const)
  known.set(resource, texts)
  return texts
}

const swappedMembers = (resource: Resource): string => typeMembers({ ...resource, custom: resource.custom !== true })

const startsWith = (bytes: Buffer, text: string): boolean => bytes.toString("latin1", 0, text.length) === text
