/**
 * One state of one object, encoded once. The watch line made here is the only copy: every watcher gets the same
 * bytes, list items are slices of it, the ledger and the history refer to it.
 */

import { apiVersionOf } from "../../kube/offline.ts"
import type { JsonFormat } from "./json-spacing.ts"
import type { StoredObject } from "./kubernetes-object.ts"
import type { Resource } from "./resources.ts"

// Memory for watch lines. They are long-lived and most of a server's memory, so they share slabs with nothing else: a freed
// body or response would leave its space unused for as long as a line beside it lives. Node's own pool also leaves up to a
// fifth of a slab unused (12 lines of 4.3 kB in 64 KiB instead of 15).

/** Bytes. A line keeps its whole slab alive, so at worst each line costs this much. */
const slabBytes = 64 * 1024

let slab = Buffer.allocUnsafeSlow(slabBytes)
let used = 0

/** UTF-8 of `text`, whose length is `bytes`. A long line gets its own memory. */
const lineBytes = (text: string, bytes: number): Buffer => {
  if (bytes > slabBytes / 4) {
    const own = Buffer.allocUnsafeSlow(bytes)
    own.write(text)
    return own
  }
  if (used + bytes > slabBytes) {
    slab = Buffer.allocUnsafeSlow(slabBytes)
    used = 0
  }
  const start = used
  used += bytes
  slab.write(text, start, bytes)
  return slab.subarray(start, used)
}

export type ChangeType = "ADDED" | "MODIFIED" | "DELETED"

/** One of `metadata.ownerReferences`. */
export interface Owner {
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
  readonly uid: string
  readonly blockOwnerDeletion?: boolean
}

export interface Change {
  readonly type: ChangeType
  readonly uid: string
  /** The empty string for cluster-scoped objects. */
  readonly namespace: string
  readonly name: string
  readonly labels: Readonly<Record<string, string>> | undefined
  readonly revision: bigint
  /** Whether the object carries a deletionTimestamp; absent means it does not. */
  readonly terminating?: boolean
  /** `metadata.ownerReferences`; absent for none. */
  readonly owners?: ReadonlyArray<Owner> | undefined
  /** Whether the object's status may be older than the moment that is shown; absent means it is not. */
  readonly isStatusUnknown?: boolean
  /** The watch line, line feed included. */
  readonly line: Buffer
  /** The line as a chunk of a chunked response; absent for recorded lines. The line is a view into it. */
  readonly chunk?: Buffer
  /** The position of the object in the line: [start, end) in bytes. */
  readonly objectStart: number
  readonly objectEnd: number
}

/** A change with the state it replaced; absent when the object was not there before. */
export interface ChangeRecord {
  readonly change: Change
  readonly previous: Change | undefined
}

/** How a collection orders and finds its objects: `namespace/name`, or `name` for cluster-scoped kinds. */
export const keyOf = (namespace: string, name: string): string => (namespace === "" ? name : `${namespace}/${name}`)

/** The object's JSON; a view into the line, not a copy. */
export const objectBytes = (change: Change): Buffer => change.line.subarray(change.objectStart, change.objectEnd)

/** The object, parsed anew at every call. */
export const parseObject = (change: Change): StoredObject => JSON.parse(objectBytes(change).toString("utf8"))

interface EncodedLine {
  readonly line: Buffer
  readonly chunk: Buffer
  readonly objectStart: number
}

/** A watch line around the JSON of an object, framed as a chunk: made once and sent to every watcher as it is. */
export const encodeLine = (type: string, object: string, format: JsonFormat): EncodedLine => {
  const head = format(`{"type":"${type}","object":`)
  const text = `${head}${format(object)}}\n`
  const bytes = Buffer.byteLength(text)
  const size = `${bytes.toString(16)}\r\n`
  const chunk = lineBytes(`${size}${text}\r\n`, size.length + bytes + 2)
  return { line: chunk.subarray(size.length, -2), chunk, objectStart: head.length }
}

/** The members `kind` and `apiVersion` as this kind of resource is encoded: custom resources come with sorted keys. */
export const typeMembers = (resource: Resource): string => {
  const kind = `"kind":"${resource.gvk.kind}"`
  const apiVersion = `"apiVersion":"${apiVersionOf(resource.gvk)}"`
  return resource.custom === true ? `${apiVersion},${kind}` : `${kind},${apiVersion}`
}

export const makeChange = (
  fields: Omit<Change, "line" | "chunk" | "objectStart" | "objectEnd">,
  object: string,
  format: JsonFormat,
): Change => {
  const { line, chunk, objectStart } = encodeLine(fields.type, object, format)
  return { ...fields, line, chunk, objectStart, objectEnd: line.length - 2 }
}

/**
 * The same object under another type and version: the event of a deletion (the last state with the deletion's version).
 * Goes through `JSON.parse`, so integers beyond 2^53 would be rounded; objects put through the control interface contain none.
 */
export const restamped = (change: Change, type: ChangeType, revision: bigint, format: JsonFormat): Change => {
  const object = parseObject(change)
  const json = JSON.stringify({ ...object, metadata: { ...object.metadata, resourceVersion: String(revision) } })
  const { uid, namespace, name, labels, terminating = false, isStatusUnknown = false, owners } = change
  return makeChange(
    { type, uid, namespace, name, labels, revision, terminating, isStatusUnknown, owners },
    json,
    format,
  )
}

/** The same state under another type, without touching the object's bytes. */
export const retyped = (change: Change, type: ChangeType, format: JsonFormat): Buffer => {
  const head = Buffer.from(format(`{"type":"${type}","object":`))
  return Buffer.concat([head, change.line.subarray(change.objectStart)])
}

/**
 * The object as a list holds it: without `kind` and `apiVersion`, unless the kind is custom. Returns consecutive pieces,
 * so that nothing is copied; compact built-in objects begin with exactly the members to leave out.
 */
export const listItem = (change: Change, resource: Resource): ReadonlyArray<Buffer> => {
  const object = objectBytes(change)
  if (resource.custom === true) return [object]
  const prefix = `{${typeMembers(resource)},`
  if (object.toString("latin1", 0, prefix.length) === prefix) return [openBrace, object.subarray(prefix.length)]
  const { apiVersion: _apiVersion, kind: _kind, ...rest } = parseObject(change)
  return [Buffer.from(JSON.stringify(rest))]
}

const openBrace = Buffer.from("{")
