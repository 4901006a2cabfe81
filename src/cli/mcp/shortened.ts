/** A value that is too long for an answer, with its longest parts left out and marked. */
import {
  formatExactJson,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  withProperty,
} from "../../trace/json/exact-json.ts"

/** bytes that a mark takes; parts are not made shorter than that. */
const shortest = 64

/** bytes of a value as JSON. */
export const bytesOf = (value: JsonValue): number => Buffer.byteLength(formatExactJson(value))

/**
 * The value itself if its JSON has at most so many bytes, else a copy of about that length at most: texts are cut, of lists and objects what comes last is left
 * out, and each says how much is missing.
 */
export const shortened = (value: JsonValue, bytes: number): JsonValue => {
  const size = bytesOf(value)
  if (size <= bytes) return value
  if (typeof value === "string") return cut(value, Math.max(0, bytes - shortest), size)
  if (Array.isArray(value)) return shortenedList(value as ReadonlyArray<JsonValue>, bytes)
  return isJsonObject(value) ? shortenedObject(value, bytes) : value
}

const cut = (text: string, bytes: number, size: number): string => {
  // What a character takes as JSON is at most six bytes; a cut in the middle of a pair would be no text.
  let end = 0
  for (let taken = 0; end < text.length; ) {
    const character = String.fromCodePoint(text.codePointAt(end) ?? 0)
    taken += Buffer.byteLength(JSON.stringify(character)) - 2
    if (taken > bytes) break
    end += character.length
  }
  return `${text.slice(0, end)}… (${size} bytes in all)`
}

/** What each of the parts may take: short ones what they need, and the others the same share of the rest. */
const shareOf = (sizes: ReadonlyArray<number>, bytes: number): number => {
  const ascending = sizes.toSorted((one, other) => one - other)
  let left = bytes
  for (const [index, size] of ascending.entries()) {
    const share = left / (ascending.length - index)
    if (size > share) return Math.max(shortest, Math.floor(share))
    left -= size
  }
  return bytes
}

const shortenedList = (items: ReadonlyArray<JsonValue>, bytes: number): JsonValue => {
  const kept: JsonValue[] = []
  const share = shareOf(
    items.map((item) => bytesOf(item) + 1),
    bytes - shortest,
  )
  let left = bytes - shortest
  for (const item of items) {
    const part = shortened(item, share)
    left -= bytesOf(part) + 1
    if (left < 0) break
    kept.push(part)
  }
  return kept.length === items.length ? kept : [...kept, `… (${items.length - kept.length} more items)`]
}

const shortenedObject = (object: JsonObject, bytes: number): JsonValue => {
  const names = Object.keys(object)
  const frame = (name: string): number => bytesOf(name) + 2
  const share = shareOf(
    names.map((name) => bytesOf(object[name] as JsonValue) + frame(name)),
    bytes - shortest,
  )
  let kept: Record<string, JsonValue> = {}
  let left = bytes - shortest
  let count = 0
  for (const name of names) {
    const part = shortened(object[name] as JsonValue, share - frame(name))
    left -= bytesOf(part) + frame(name)
    if (left < 0) break
    kept = withProperty(kept, name, part)
    count++
  }
  return count === names.length ? kept : withProperty(kept, "…", `${names.length - count} more members`)
}
