/** An object as two traces are compared by it: without what belongs to one cluster or one moment, and the same for the same content. */
import { hash } from "node:crypto"
import {
  exactJsonIn,
  formatExactJson,
  IntegralFloat,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  MAX_DEPTH,
  withProperty,
} from "../json/exact-json.ts"
import { sortedKeys } from "../json/key-order.ts"
import { isDeeper } from "../json/nesting.ts"
import { replayObject } from "../sanitising/replay-object.ts"

/**
 * What of an object is compared. `replayed`: what a replay would create; of references to owners nothing, because the names of owners are generated in each cluster. `all`: every
 * field.
 */
export type ComparedFields = "replayed" | "all"

const noOwner = (): boolean => false

/**
 * Keys in order and numbers as their values, so that equal objects have equal texts. Bytes that are no object count as null; an object that is nested too deeply to be
 * looked into as its text.
 */
export const comparedObject = (gvk: string, bytes: Uint8Array, fields: ComparedFields): JsonValue => {
  const object = exactJsonIn(bytes)
  if (!isJsonObject(object)) return null
  if (isDeeper(object, MAX_DEPTH)) return Buffer.from(bytes).toString("utf8")
  return inOrder(fields === "all" ? object : replayObject(gvk, object, noOwner))
}

const inOrder = (value: JsonValue): JsonValue => {
  if (value instanceof IntegralFloat) return value.value
  if (Array.isArray(value)) return (value as ReadonlyArray<JsonValue>).map(inOrder)
  if (!isJsonObject(value)) return value
  let ordered: Record<string, JsonValue> = {}
  for (const key of sortedKeys(value))
    ordered = withProperty(ordered, key, inOrder((value as JsonObject)[key] as JsonValue))
  return ordered
}

/** Stands for an object that is gone; no state has it. */
export const gone = 0

/**
 * A number for a state, at least 1 and below 2^52. That two of a million different states of one object share one has a chance of one in ten thousand; it would hide a
 * difference.
 */
export const hashOf = (compared: JsonValue): number => {
  const bytes = hash("sha256", formatExactJson(compared), "buffer")
  return 1 + ((bytes.readUIntBE(0, 6) * 16 + ((bytes[6] ?? 0) >> 4)) % (2 ** 52 - 1))
}
