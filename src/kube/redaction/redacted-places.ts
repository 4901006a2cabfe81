/** Finds the places that JSON pointers with `*` name, in bytes. */
import { parseJsonPointer } from "../json-pointer.ts"
import type { JsonBytes } from "../scanner/json/json-bytes.ts"
import { isKey, type MemberWalk } from "./member-walk.ts"
import type { RedactionRules } from "./redaction-rules.ts"
import type { ValueForm } from "./value-hash.ts"

// Whether `metadata.managedFields` may hold secret values: it names fields by keys, but some items of lists and sets by what they are.

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

const COMMA = 44
const OPEN_BRACKET = 91
const CLOSE_BRACKET = 93
const OPEN_BRACE = 123

/** One step of a pointer. */
interface PlaceToken {
  readonly isAny: boolean
  /** As a key of an object, with its quotes. */
  readonly key: Buffer
  /** As the index of an array's element; NaN: none. */
  readonly index: number
}

/** A pointer, prepared. */
export interface RedactedPlace {
  readonly tokens: ReadonlyArray<PlaceToken>
  readonly form: ValueForm
  /** Whether it holds values of a Secret. */
  readonly isOfSecret: boolean
}

/** What has to be replaced by its place: the values of a Secret, and what pointers name. */
export const redactedPlaces = ({ secret, pointers }: RedactionRules): ReadonlyArray<RedactedPlace> => [
  ...(secret ? secretPlaces : []),
  ...pointers.map((pointer) => placeOf(pointer, "text", false)),
]

const placeOf = (pointer: string, form: ValueForm, isOfSecret = true): RedactedPlace => {
  const tokens = parseJsonPointer(pointer)
  if (tokens === undefined) throw new Error(`not a JSON pointer to a part of an object: ${pointer}`)
  return { tokens: tokens.map(tokenOf), form, isOfSecret }
}

const tokenOf = (token: string): PlaceToken => ({
  isAny: token === "*",
  key: Buffer.from(JSON.stringify(token)),
  index: /^(?:0|[1-9]\d{0,8})$/.test(token) ? Number(token) : Number.NaN,
})

/** The first place of a value decides about its form. API servers accept Secrets of docker's types only with an object in these two. */
const secretPlaces: ReadonlyArray<RedactedPlace> = [
  placeOf("/data/.dockerconfigjson", "encoded-object"),
  placeOf("/data/.dockercfg", "encoded-object"),
  placeOf("/data", "encoded"),
  placeOf("/stringData", "text"),
]

/** Calls `found` with the span of each value that the tokens lead to, from the value at `position` of the loaded JSON. */
export const eachPlace = (
  json: JsonBytes,
  walk: MemberWalk,
  position: number,
  tokens: ReadonlyArray<PlaceToken>,
  found: (start: number, end: number) => void,
  depth = 0,
): void => {
  const token = tokens[depth]
  if (token === undefined) return found(position, json.skipValue(position))
  const { bytes, view } = json
  const enter = (at: number): void => eachPlace(json, walk, at, tokens, found, depth + 1)
  const first = view.getUint8(position)
  if (first === OPEN_BRACE) {
    walk.each(position, (key, keyEnd, value) => {
      if (token.isAny || isKey(bytes, key, keyEnd, token.key)) enter(value)
    })
  } else if (first === OPEN_BRACKET) {
    let at = json.skipSpace(position + 1)
    for (let index = 0; view.getUint8(at) !== CLOSE_BRACKET; index++) {
      if (token.isAny || index === token.index) enter(at)
      at = json.skipSpace(json.skipValue(at))
      if (view.getUint8(at) === COMMA) at = json.skipSpace(at + 1)
    }
  }
}
