/** The NDJSON lines that are neither header, event, gap nor last line: they hold what only other formats have (see ndjson.ts). */

import {
  formatExactJson,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  parseExactJson,
} from "../../json/exact-json.ts"
import type { TraceItem } from "../../trace-item.ts"
import type { PodLifecycle } from "../simkube/simkube-trace.ts"
import { type Fail, integer, oneOf, own, string } from "./ndjson-fields.ts"

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
  const value: JsonValue | undefined = own(fields, name)
  const items: ReadonlyArray<JsonValue> | undefined = Array.isArray(value) ? value : undefined
  if (items?.every((item): item is JsonObject => isJsonObject(item)) !== true)
    throw fail("shape", `${name} is not an array of objects`)
  return items as ReadonlyArray<JsonObject>
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
