/** Parses the JSON of a log, which anyone with access to the cluster may have caused. */
import { exactJsonIn, type JsonValue, MAX_DEPTH } from "../../trace/json/exact-json.ts"
import { isDeeper } from "../../trace/json/nesting.ts"

/** A shorter text cannot be nested so deeply that anything ends. */
const shortestDeep = 2 * MAX_DEPTH

/** `undefined`: not JSON, or nested more than {@link MAX_DEPTH} levels deep, which no other format of traces holds either. */
export const parsedText = (text: string | Uint8Array): JsonValue | undefined => {
  const value = exactJsonIn(text)
  return text.length > shortestDeep && isDeeper(value, MAX_DEPTH) ? undefined : value
}
