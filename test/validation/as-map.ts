/** Plain values as the maps that MessagePack is encoded from. */
import type { MessagePackValue } from "../../src/trace/index.ts"

export const asMap = (value: unknown): MessagePackValue => {
  if (Array.isArray(value)) return value.map(asMap)
  if (typeof value !== "object" || value === null) return value as MessagePackValue
  return new Map(Object.entries(value).map(([key, inner]) => [key, asMap(inner)]))
}
