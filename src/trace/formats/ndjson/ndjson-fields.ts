/**
 * Checks the fields of one NDJSON line one by one: what each kind of line must contain (see ndjson.ts), and the message if it does not.
 * Written by hand because a schema costs more per line than parsing it.
 */

import type { Action, EventTimes, LateCause, LateChanges, TraceEvent, TraceGapReason } from "../../event.ts"
import { isJsonObject, type JsonObject, type JsonValue } from "../../json/exact-json.ts"
import type { Sanitised } from "../../trace-item.ts"
import { NDJSON_FORMAT, NDJSON_VERSION, type NdjsonCounts, type NdjsonHeader } from "./ndjson.ts"

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
export const own = (fields: JsonObject, name: string): JsonValue | undefined =>
  Object.hasOwn(fields, name) ? fields[name] : undefined

const isString = (value: JsonValue): value is string => typeof value === "string"

const isArrayOf = <A extends JsonValue>(
  value: JsonValue | undefined,
  is: (item: JsonValue) => item is A,
): value is ReadonlyArray<A> => Array.isArray(value) && value.every(is)

/** A string field; throws the error from `fail`. */
export const string = (fields: JsonObject, name: string, fail: Fail): string => {
  const value = own(fields, name)
  if (typeof value !== "string") throw fail("shape", `${name} is not a string`)
  return value
}

/** An integer field; throws the error from `fail`. */
export const integer = (fields: JsonObject, name: string, fail: Fail): number => {
  const value = own(fields, name)
  if (typeof value !== "number" || !Number.isSafeInteger(value)) throw fail("shape", `${name} is not an integer`)
  return value
}

/** A field with one of the allowed values; throws the error from `fail`. */
export const oneOf = <A extends string>(fields: JsonObject, name: string, allowed: ReadonlyArray<A>, fail: Fail): A => {
  const value = own(fields, name)
  const found = allowed.find((candidate) => candidate === value)
  if (found === undefined) throw fail("shape", `${name} is none of ${allowed.join(", ")}`)
  return found
}
