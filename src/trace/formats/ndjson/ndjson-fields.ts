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

/** Creates the error for a line, whose number it knows. */
export type Fail = (reason: "shape" | "format", detail: string) => Error

/** An object of a line. Every method throws the error from `fail` if the field is missing or another one. */
export class Fields {
  readonly all: JsonObject
  readonly fail: Fail

  constructor(all: JsonObject, fail: Fail) {
    this.all = all
    this.fail = fail
  }

  has(name: string): boolean {
    return this.own(name) !== undefined
  }

  /** An own field, never an inherited one. */
  own(name: string): JsonValue | undefined {
    return Object.hasOwn(this.all, name) ? this.all[name] : undefined
  }

  string(name: string): string {
    const value = this.own(name)
    if (typeof value !== "string") throw this.fail("shape", `${name} is not a string`)
    return value
  }

  integer(name: string): number {
    const value = this.own(name)
    if (typeof value !== "number" || !Number.isSafeInteger(value)) throw this.fail("shape", `${name} is not an integer`)
    return value
  }

  oneOf<A extends string>(name: string, allowed: ReadonlyArray<A>): A {
    const value = this.own(name)
    const found = allowed.find((candidate) => candidate === value)
    if (found === undefined) throw this.fail("shape", `${name} is none of ${allowed.join(", ")}`)
    return found
  }

  object(name: string): Fields {
    const value = this.own(name)
    if (!isJsonObject(value)) throw this.fail("shape", `${name} is not an object`)
    return new Fields(value, this.fail)
  }

  strings(name: string): ReadonlyArray<string> {
    const value = this.own(name)
    if (!isArrayOf(value, (item) => typeof item === "string"))
      throw this.fail("shape", `${name} is not an array of strings`)
    return value
  }

  objects(name: string): ReadonlyArray<Fields> {
    const value = this.own(name)
    if (!isArrayOf(value, isJsonObject)) throw this.fail("shape", `${name} is not an array of objects`)
    return value.map((each) => new Fields(each, this.fail))
  }

  /** What `read` makes of a field that a line may lack, under its name. */
  optional<Name extends string, Value>(
    name: Name,
    read: (fields: Fields, name: Name) => Value,
  ): { readonly [_ in Name]?: Value } {
    return this.has(name) ? ({ [name]: read(this, name) } as { [_ in Name]: Value }) : {}
  }
}

const isArrayOf = <A extends JsonValue>(
  value: JsonValue | undefined,
  is: (item: JsonValue) => item is A,
): value is ReadonlyArray<A> => Array.isArray(value) && value.every(is)

const integer = (fields: Fields, name: string): number => fields.integer(name)
const string = (fields: Fields, name: string): string => fields.string(name)

/** An item, and the name under which the last line counts it. */
interface OtherItem {
  readonly item: TraceItem
  readonly counted: "configs" | "batches" | "index" | "lifecycles"
}

const CONFIG_START = Buffer.from('{"config":')
const CLOSING_BRACE = 0x7d
const MAX_U64 = 2n ** 64n - 1n
const STATES = ["empty", "running", "finished"] as const
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
  "dropped-before-upload",
  "unlogged",
]

/** The item of a line, `undefined` if it is of another sort. */
export const otherItemOf = (fields: Fields, line: Uint8Array): OtherItem | undefined => {
  if (fields.has("config")) {
    const config = configBytes(fields.object("config").all, line)
    return { item: { type: "config", config }, counted: "configs" }
  }
  if (fields.has("batch"))
    return { item: { type: "batch", time: fields.object("batch").integer("time") }, counted: "batches" }
  if (fields.has("index")) {
    const entry = fields.object("index")
    const item = { type: "index", gvk: entry.string("gvk"), name: entry.string("name"), hash: hashOf(entry) } as const
    return { item, counted: "index" }
  }
  if (!fields.has("lifecycles")) return undefined
  const owned = fields.object("lifecycles")
  const pods = new Map(owned.objects("pods").map((pod) => [hashOf(pod), pod.objects("lives").map(lifeOf)]))
  const owner = { gvk: owned.string("gvk"), owner: owned.string("owner") }
  return { item: { type: "lifecycles", ...owner, pods }, counted: "lifecycles" }
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

const hashOf = (fields: Fields): bigint => {
  const digits = fields.string("hash")
  const hash = /^\d{1,20}$/.test(digits) ? BigInt(digits) : MAX_U64 + 1n
  if (hash > MAX_U64) throw fields.fail("shape", "hash is not an unsigned 64-bit integer in decimal digits")
  return hash
}

const lifeOf = (fields: Fields): PodLifecycle => {
  const state = fields.oneOf("state", STATES)
  if (state === "empty") return { state }
  const start = fields.integer("start")
  return state === "running" ? { state, start } : { state, start, end: fields.integer("end") }
}

/** The first line. Fails with `format` if it is not a header of this version, with `shape` if a field is wrong. */
export const headerOf = (fields: Fields): NdjsonHeader => {
  if (fields.own("format") !== NDJSON_FORMAT) throw fields.fail("format", `not a trace: no "format":"${NDJSON_FORMAT}"`)
  const version = fields.own("version")
  if (version !== NDJSON_VERSION) {
    const shown =
      version === undefined || typeof version === "number" ? `version ${version}` : "a version that is no integer"
    throw fields.fail("format", `${shown}, expected ${NDJSON_VERSION}`)
  }
  // Null means unknown; a header without the field is not one of ours.
  const window = fields.own("window") === null ? undefined : fields.object("window")
  const [kinds, parts] = [fields.strings("kinds"), fields.objects("incomplete")]
  return {
    ...(window !== undefined && { window: { start: window.integer("start"), end: window.integer("end") } }),
    cut: fields.integer("cut"),
    kinds,
    incomplete: parts.map((part) => ({
      gvk: part.string("gvk"),
      ...part.optional("namespace", string),
      state: part.string("state"),
    })),
    ...fields.optional("late", () => fields.objects("late").map(lateOf)),
    ...fields.optional("times", () => fields.oneOf("times", TIMES)),
    ...fields.optional("sanitised", () => fields.object("sanitised").oneOf("for", SANITISED)),
    ...fields.optional("withoutStatus", () => fields.strings("withoutStatus")),
    ...fields.optional("livesFrom", integer),
    ...fields.optional("clusterUid", string),
  }
}

const lateOf = (range: Fields): LateChanges => ({
  gvk: range.string("gvk"),
  namespace: range.string("namespace"),
  notBefore: range.integer("notBefore"),
  notAfter: range.integer("notAfter"),
  receivedFrom: range.integer("receivedFrom"),
  receivedTo: range.integer("receivedTo"),
  events: range.integer("events"),
  cause: range.oneOf("cause", LATE_CAUSES),
})

/** The last line; `undefined` if this is another line. */
export const countsOf = (fields: Fields): NdjsonCounts | undefined => {
  if (!fields.has("end")) return undefined
  const counts = fields.object("end")
  return {
    snapshot: counts.integer("snapshot"),
    events: counts.integer("events"),
    gaps: counts.integer("gaps"),
    ...counts.optional("configs", integer),
    ...counts.optional("batches", integer),
    ...counts.optional("index", integer),
    ...counts.optional("lifecycles", integer),
    ...counts.optional("unchanged", integer),
  }
}

/** Any other line. `object`: the bytes of its object, empty if it has none. */
export const eventOf = (fields: Fields, object: Uint8Array): TraceEvent => {
  const sequence = fields.integer("sequence")
  const time = fields.integer("time")
  const gvk = fields.string("gvk")
  if (fields.own("action") === "gap")
    return {
      type: "gap",
      sequence,
      time,
      gvk,
      // Absent in lines written before gaps had a namespace.
      namespace: fields.has("namespace") ? fields.string("namespace") : "",
      fromVersion: fields.string("fromVersion"),
      toVersion: fields.string("toVersion"),
      fromTime: fields.integer("fromTime"),
      toTime: fields.integer("toTime"),
      reason: fields.oneOf("reason", GAP_REASONS),
      detail: fields.string("detail"),
    }
  return {
    type: "object",
    sequence,
    time,
    ...(fields.has("received") && { received: fields.integer("received") }),
    gvk,
    action: fields.oneOf("action", ACTIONS),
    uid: fields.string("uid"),
    namespace: fields.string("namespace"),
    name: fields.string("name"),
    resourceVersion: fields.string("resourceVersion"),
    object,
  }
}

/** Whether the line is marked as part of the start snapshot. */
export const isSnapshotLine = (fields: Fields): boolean => {
  const mark = fields.own("snapshot") ?? false
  if (typeof mark !== "boolean") throw fields.fail("shape", "snapshot is not a boolean")
  return mark
}
