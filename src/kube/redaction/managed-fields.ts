/** Whether `metadata.managedFields` may hold secret values: it names fields by keys, but some items of lists and sets by what they are. */
import type { JsonBytes } from "../scanner/json/json-bytes.ts"
import type { RedactionRules } from "./redaction-rules.ts"

const finalizersKey = Buffer.from('"f:finalizers"')
const itemOfSet = Buffer.from('"v:')
const itemOfList = Buffer.from('"k:')
/** A list whose items are told apart by their values too. */
const valueInName = Buffer.from('\\"value\\"')

/**
 * Whether names of fields in managedFields, in `[start, end)`, may hold values that a rule replaces. Metadata is never replaced, so its finalizers, a set,
 * may stay, and variables are known by their names. Of names with escapes, which no API server writes, nothing is assumed.
 */
export const mayHoldValues = (json: JsonBytes, start: number, end: number, rules: RedactionRules): boolean => {
  const fields = json.bytes.subarray(start, end)
  if (fields.includes("\\u") || fields.includes(valueInName)) return true
  if (rules.addresses === true && fields.includes("://")) return true
  if (rules.pointers.length > 0) return fields.includes(itemOfList) || fields.includes(itemOfSet)
  for (let at = fields.indexOf(itemOfSet); at >= 0; at = fields.indexOf(itemOfSet, at)) {
    const item = at
    // The nearest may be an empty one beside the item, in the set that has both.
    for (
      let set = fields.lastIndexOf(finalizersKey, item);
      at === item;
      set = fields.lastIndexOf(finalizersKey, set - 1)
    ) {
      if (set < 0) return true
      const value = json.skipColon(start + set + finalizersKey.length)
      const setEnd = value < 0 ? 0 : json.skipValue(value) - start
      if (setEnd > item) at = setEnd
      else if (set === 0) return true
    }
  }
  return false
}
