/** Finds the places that JSON pointers with `*` name, in bytes. */
import { parseJsonPointer } from "../json-pointer.ts"
import type { JsonBytes } from "../scanner/json/json-bytes.ts"
import { isKey, type MemberWalk } from "./member-walk.ts"
import type { RedactionRules } from "./redaction-rules.ts"
import type { ValueForm } from "./value-hash.ts"

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
