/** Attributes as OTLP/JSON has them. Texts are cut so that one object of a damaged trace does not make a request too large. */

/** What an attribute may be; integers only. Members without a value are left out. */
type AttributeValue = string | number | boolean | ReadonlyArray<string> | undefined

/** By name, as the semantic conventions have them where they know a name. */
export type Attributes = Readonly<Record<string, AttributeValue>>

/** Characters of one text: more than the messages of Kubernetes need, and what collectors usually keep. */
const LONGEST_TEXT = 4096

type AnyValue =
  | { readonly stringValue: string }
  | { readonly intValue: string }
  | { readonly boolValue: boolean }
  | { readonly arrayValue: { readonly values: ReadonlyArray<AnyValue> } }

/** One attribute, as it is written. */
interface KeyValue {
  readonly key: string
  readonly value: AnyValue
}

/** The attributes that have a value, in order. */
export const keyValues = (attributes: Attributes): ReadonlyArray<KeyValue> =>
  Object.entries(attributes).flatMap(([key, value]) => (value === undefined ? [] : [{ key, value: anyValue(value) }]))

/** A text that fits, without halves of characters, which protobuf does not have. */
export const fittingText = (text: string): string =>
  (text.length > LONGEST_TEXT ? `${text.slice(0, LONGEST_TEXT)}…` : text).toWellFormed()

const anyValue = (value: Exclude<AttributeValue, undefined>): AnyValue => {
  if (typeof value === "string") return { stringValue: fittingText(value) }
  // JSON of protobuf has numbers of 64 bits as texts.
  if (typeof value === "number") return { intValue: String(value) }
  if (typeof value === "boolean") return { boolValue: value }
  return { arrayValue: { values: value.map(anyValue) } }
}
