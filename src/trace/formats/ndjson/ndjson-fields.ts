/**
 * Checks the fields of one NDJSON line one by one: what each kind of line must contain (see ndjson.ts), and the message if it does not.
 * Written by hand because a schema costs more per line than parsing it.
 */

import type { Action, EventTimes, LateCause, LateChanges, TraceEvent, TraceGapReason } from "../../event.ts"
import {
  formatExactJson,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  parseExactJson,
} from "../../json/exact-json.ts"
import type { Sanitised, TraceItem } from "../../trace-item.ts"
import type { PodLifecycle } from "../simkube/simkube-trace.ts"
import { NDJSON_FORMAT, NDJSON_VERSION, type NdjsonCounts, type NdjsonHeader } from "./ndjson.ts"

/** An item, and the name under which the last line counts it. */
interface OtherItem {
  readonly item: TraceItem
  readonly counted: "configs" | "batches" | "index" | "lifecycles"
}

const CONFIG_START = Buffer.from('{"config":')
const CLOSING_BRACE = 0x7d
const MAX_U64 = 2n ** 64n - 1n
const STATES = ["empty", "running", "finished"] as const

/** The item of a line, `undefined` if it is of another sort. Throws the error from `fail`. */
export const otherItemOf = (fields: JsonObject, line: Uint8Array, fail: Fail): OtherItem | undefined => {
  if (Object.hasOwn(fields, "config")) {
    const config = objectOf(fields, "config", fail)
    return { item: { type: "config", config: configBytes(config, line) }, counted: "configs" }
  }
  if (Object.hasOwn(fields, "batch")) {
    const time = integer(objectOf(fields, "batch", fail), "time", fail)
    return { item: { type: "batch", time }, counted: "batches" }
  }
  if (Object.hasOwn(fields, "index")) {
    const entry = objectOf(fields, "index", fail)
    const item = { type: "index", gvk: string(entry, "gvk", fail), name: string(entry, "name", fail) } as const
    return { item: { ...item, hash: hashOf(entry, fail) }, counted: "index" }
  }
  if (!Object.hasOwn(fields, "lifecycles")) return undefined
  const owned = objectOf(fields, "lifecycles", fail)
  const pods = new Map<bigint, ReadonlyArray<PodLifecycle>>()
  for (const pod of objectsOf(owned, "pods", fail))
    pods.set(
      hashOf(pod, fail),
      objectsOf(pod, "lives", fail).map((life) => lifeOf(life, fail)),
    )
  const [gvk, owner] = [string(owned, "gvk", fail), string(owned, "owner", fail)]
  return { item: { type: "lifecycles", gvk, owner, pods }, counted: "lifecycles" }
}

/** The original bytes if the line has our form, so that the order of entries is kept; otherwise formatted anew. */
const configBytes = (config: JsonObject, line: Uint8Array): Uint8Array => {
  const bytes = Buffer.from(line.buffer, line.byteOffset, line.length)
  if (bytes.subarray(0, CONFIG_START.length).equals(CONFIG_START) && bytes.at(-1) === CLOSING_BRACE) {
    const raw = bytes.subarray(CONFIG_START.length, -1)
    if (isWhole(raw)) return raw
  }
  return Buffer.from(formatExactJson(config))
}

const isWhole = (json: Uint8Array): boolean => {
  try {
    return isJsonObject(parseExactJson(json))
  } catch {
    // The line had another field after the configuration.
    return false
  }
}

const objectOf = (fields: JsonObject, name: string, fail: Fail): JsonObject => {
  const value = own(fields, name)
  if (!isJsonObject(value)) throw fail("shape", `${name} is not an object`)
  return value
}

const objectsOf = (fields: JsonObject, name: string, fail: Fail): ReadonlyArray<JsonObject> => {
  const value = own(fields, name)
  if (!isArrayOf(value, isJsonObject)) throw fail("shape", `${name} is not an array of objects`)
  return value
}

const hashOf = (fields: JsonObject, fail: Fail): bigint => {
  const digits = string(fields, "hash", fail)
  const hash = /^\d{1,20}$/.test(digits) ? BigInt(digits) : MAX_U64 + 1n
  if (hash > MAX_U64) throw fail("shape", "hash is not an unsigned 64-bit integer in decimal digits")
  return hash
}

const lifeOf = (fields: JsonObject, fail: Fail): PodLifecycle => {
  const state = oneOf(fields, "state", STATES, fail)
  if (state === "empty") return { state }
  const start = integer(fields, "start", fail)
  return state === "running" ? { state, start } : { state, start, end: integer(fields, "end", fail) }
}

/** Creates the error for a line, whose number it knows. */
export type Fail = (reason: "shape" | "format", detail: string) => Error

const ACTIONS: ReadonlyArray<Action> = ["applied", "deleted", "vanished"]
const SANITISED: ReadonlyArray<Sanitised> = ["none", "simkube", "replay"]
const TIMES: ReadonlyArray<EventTimes> = ["happened", "received"]
const LATE_CAUSES: ReadonlyArray<LateCause> = ["stopped", "disconnected", "delayed"]
const GAP_REASONS: ReadonlyArray<TraceGapReason> = [
  "expired",
  "overload",
  "stopped",
  "cluster-restored",
  "damaged",
  "unlogged",
]

/** The first line. Throws the error from `fail`: `format` if it is not a header of this version, `shape` if a field is wrong. */
export const headerOf = (fields: JsonObject, fail: Fail): NdjsonHeader => {
  if (own(fields, "format") !== NDJSON_FORMAT) throw fail("format", `not a trace: no "format":"${NDJSON_FORMAT}"`)
  const version = own(fields, "version")
  if (version !== NDJSON_VERSION) {
    const shown =
      version === undefined || typeof version === "number" ? `version ${version}` : "a version that is no integer"
    throw fail("format", `${shown}, expected ${NDJSON_VERSION}`)
  }
  const window = own(fields, "window")
  const incomplete = own(fields, "incomplete")
  const kinds = own(fields, "kinds")
  // Null means unknown; a header without the field is not one of ours.
  if (window !== null && !isJsonObject(window)) throw fail("shape", "window is not an object")
  const sanitised = own(fields, "sanitised")
  if (sanitised !== undefined && !isJsonObject(sanitised)) throw fail("shape", "sanitised is not an object")
  if (!isArrayOf(kinds, isString)) throw fail("shape", "kinds is not an array of strings")
  if (!isArrayOf(incomplete, isJsonObject)) throw fail("shape", "incomplete is not an array of objects")
  const late = own(fields, "late")
  if (late !== undefined && !isArrayOf(late, isJsonObject)) throw fail("shape", "late is not an array of objects")
  const withoutStatus = own(fields, "withoutStatus")
  if (withoutStatus !== undefined && !isArrayOf(withoutStatus, isString))
    throw fail("shape", "withoutStatus is not an array of strings")
  return {
    ...(window !== null && {
      window: { start: integer(window, "start", fail), end: integer(window, "end", fail) },
    }),
    cut: integer(fields, "cut", fail),
    kinds,
    incomplete: incomplete.map((part) => ({
      gvk: string(part, "gvk", fail),
      ...(own(part, "namespace") !== undefined && { namespace: string(part, "namespace", fail) }),
      state: string(part, "state", fail),
    })),
    ...(late !== undefined && { late: late.map((range) => lateOf(range, fail)) }),
    ...(own(fields, "times") !== undefined && { times: oneOf(fields, "times", TIMES, fail) }),
    ...(sanitised !== undefined && { sanitised: oneOf(sanitised, "for", SANITISED, fail) }),
    ...(withoutStatus !== undefined && { withoutStatus }),
    ...(own(fields, "livesFrom") !== undefined && { livesFrom: integer(fields, "livesFrom", fail) }),
    ...(own(fields, "clusterUid") !== undefined && { clusterUid: string(fields, "clusterUid", fail) }),
  }
}

const lateOf = (range: JsonObject, fail: Fail): LateChanges => ({
  gvk: string(range, "gvk", fail),
  namespace: string(range, "namespace", fail),
  notBefore: integer(range, "notBefore", fail),
  notAfter: integer(range, "notAfter", fail),
  receivedFrom: integer(range, "receivedFrom", fail),
  receivedTo: integer(range, "receivedTo", fail),
  events: integer(range, "events", fail),
  cause: oneOf(range, "cause", LATE_CAUSES, fail),
})

/** The last line; `undefined` if this is another line. */
export const countsOf = (fields: JsonObject, fail: Fail): NdjsonCounts | undefined => {
  const counts = own(fields, "end")
  if (counts === undefined) return undefined
  if (!isJsonObject(counts)) throw fail("shape", "end is not an object")
  return {
    snapshot: integer(counts, "snapshot", fail),
    events: integer(counts, "events", fail),
    gaps: integer(counts, "gaps", fail),
    ...optionalCount(counts, "configs", fail),
    ...optionalCount(counts, "batches", fail),
    ...optionalCount(counts, "index", fail),
    ...optionalCount(counts, "lifecycles", fail),
    ...optionalCount(counts, "unchanged", fail),
  }
}

/** Any other line. `object`: the bytes of its object, empty if it has none. */
export const eventOf = (fields: JsonObject, object: Uint8Array, fail: Fail): TraceEvent => {
  const sequence = integer(fields, "sequence", fail)
  const time = integer(fields, "time", fail)
  const gvk = string(fields, "gvk", fail)
  if (own(fields, "action") === "gap")
    return {
      type: "gap",
      sequence,
      time,
      gvk,
      // Absent in lines written before gaps had a namespace.
      namespace: own(fields, "namespace") === undefined ? "" : string(fields, "namespace", fail),
      fromVersion: string(fields, "fromVersion", fail),
      toVersion: string(fields, "toVersion", fail),
      fromTime: integer(fields, "fromTime", fail),
      toTime: integer(fields, "toTime", fail),
      reason: oneOf(fields, "reason", GAP_REASONS, fail),
      detail: string(fields, "detail", fail),
    }
  return {
    type: "object",
    sequence,
    time,
    ...(own(fields, "received") !== undefined && { received: integer(fields, "received", fail) }),
    gvk,
    action: oneOf(fields, "action", ACTIONS, fail),
    uid: string(fields, "uid", fail),
    namespace: string(fields, "namespace", fail),
    name: string(fields, "name", fail),
    resourceVersion: string(fields, "resourceVersion", fail),
    object,
  }
}

/** Whether the line is marked as part of the start snapshot. */
export const isSnapshotLine = (fields: JsonObject, fail: Fail): boolean => {
  const mark = own(fields, "snapshot") ?? false
  if (typeof mark !== "boolean") throw fail("shape", "snapshot is not a boolean")
  return mark
}

const optionalCount = <Name extends "configs" | "batches" | "index" | "lifecycles" | "unchanged">(
  counts: JsonObject,
  name: Name,
  fail: Fail,
): { readonly [name in Name]?: number } =>
  own(counts, name) === undefined ? {} : ({ [name]: integer(counts, name, fail) } as { [name in Name]: number })

/** An own field, never an inherited one. */
const own = (fields: JsonObject, name: string): JsonValue | undefined =>
  Object.hasOwn(fields, name) ? fields[name] : undefined

const isString = (value: JsonValue): value is string => typeof value === "string"

const isArrayOf = <A extends JsonValue>(
  value: JsonValue | undefined,
  is: (item: JsonValue) => item is A,
): value is ReadonlyArray<A> => Array.isArray(value) && value.every(is)

/** A string field; throws the error from `fail`. */
const string = (fields: JsonObject, name: string, fail: Fail): string => {
  const value = own(fields, name)
  if (typeof value !== "string") throw fail("shape", `${name} is not a string`)
  return value
}

/** An integer field; throws the error from `fail`. */
const integer = (fields: JsonObject, name: string, fail: Fail): number => {
  const value = own(fields, name)
  if (typeof value !== "number" || !Number.isSafeInteger(value)) throw fail("shape", `${name} is not an integer`)
  return value
}

/** A field with one of the allowed values; throws the error from `fail`. */
const oneOf = <A extends string>(fields: JsonObject, name: string, allowed: ReadonlyArray<A>, fail: Fail): A => {
  const value = own(fields, name)
  const found = allowed.find((candidate) => candidate === value)
  if (found === undefined) throw fail("shape", `${name} is none of ${allowed.join(", ")}`)
  return found
}
