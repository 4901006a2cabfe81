/** Parses the JSON of a log, which anyone with access to the cluster may have caused. */
import { exactJsonIn, isJsonObject, type JsonValue } from "../../trace/json/exact-json.ts"

/** Levels of nesting. Real objects stay below 100; to write a value again takes stack for each level, which ends at some 5,000. */
const deepest = 1000

/** A shorter text cannot be nested so deeply that anything ends. */
const shortestDeep = 2 * deepest

/** `undefined`: not JSON, or nested more than 1000 levels deep. */
export const parsedText = (text: string | Uint8Array): JsonValue | undefined => {
  const value = exactJsonIn(text)
  return text.length > shortestDeep && value !== undefined && isDeeper(value, deepest) ? undefined : value
}

const isDeeper = (value: JsonValue, levels: number): boolean => {
  if (Array.isArray(value)) {
    if (levels === 0) return true
    for (const each of value as ReadonlyArray<JsonValue>) if (isDeeper(each, levels - 1)) return true
    return false
  }
  if (!isJsonObject(value)) return false
  if (levels === 0) return true
  for (const name of Object.keys(value)) if (isDeeper(value[name] as JsonValue, levels - 1)) return true
  return false
}
