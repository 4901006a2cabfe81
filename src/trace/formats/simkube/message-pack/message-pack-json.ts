/**
 * MessagePack as JSON text and back, keeping the order of entries, so that a file can be rewritten unchanged. Numbers keep their kind and
 * value (exact-json.ts): a float with an integral value is written with its fraction (`1.0`).
 */

import { IntegralFloat, isIntegerNumber, parseOrderedJson } from "../../../json/exact-json.ts"
import { MessagePackError, type MessagePackValue } from "./message-pack.ts"
import type { MessagePackWriter } from "./message-pack-writer.ts"

/**
 * Appends the value of a JSON text.
 * @throws MalformedJsonError, MessagePackError (`depth`); what was written before the error stays.
 */
export const writeOrderedJson = (out: MessagePackWriter, json: Uint8Array): void =>
  out.writeValue(parseOrderedJson(json))

/**
 * JSON text of a decoded value. Floats that JSON cannot represent become null, as in SimKube's reader.
 * @throws MessagePackError (`type`) if a key is not a string. Its offset is 0, because the value's position is no longer known.
 */
export const formatOrderedJson = (value: MessagePackValue): string => {
  if (typeof value === "string") return JSON.stringify(value)
  if (typeof value === "number") return formatNumber(value)
  if (value === null || typeof value === "boolean" || typeof value === "bigint") return String(value)
  if (value instanceof IntegralFloat) return `${value.value}.0`
  if (isList(value)) return `[${value.map(formatOrderedJson).join(",")}]`
  let text = ""
  for (const [key, item] of value) {
    if (typeof key !== "string")
      throw new MessagePackError({ reason: "type", offset: 0, detail: "a key inside an object is not a string" })
    text += `${text === "" ? "" : ","}${JSON.stringify(key)}:${formatOrderedJson(item)}`
  }
  return `{${text}}`
}

const isList = (value: object): value is ReadonlyArray<MessagePackValue> => Array.isArray(value)

const formatNumber = (value: number): string => {
  if (isIntegerNumber(value)) return String(value)
  if (!Number.isFinite(value)) return "null"
  if (Object.is(value, -0)) return "-0"
  const digits = String(value)
  return Number.isInteger(value) && !digits.includes("e") ? `${digits}.0` : digits
}
