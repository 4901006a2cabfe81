import { isJsonObject, type JsonValue, withProperty } from "./exact-json-value.ts"

/** Without null members at any depth; null items of lists stay. The same value if there are none. */
export const withoutNulls = (value: JsonValue): JsonValue => {
  if (Array.isArray(value)) {
    const items = value.map(withoutNulls)
    return items.some((item, index) => item !== value[index]) ? items : value
  }
  if (!isJsonObject(value)) return value
  let isSame = true
  let kept: Record<string, JsonValue> = {}
  for (const key of Object.keys(value)) {
    const item = value[key] as JsonValue
    const inner = withoutNulls(item)
    if (inner !== item || item === null) isSame = false
    if (item !== null) kept = withProperty(kept, key, inner)
  }
  return isSame ? value : kept
}
