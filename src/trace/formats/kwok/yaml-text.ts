/**
 * Writes JSON values as block YAML that YAML 1.1 and 1.2 readers understand alike: a string is plain only if no version reads it as
 * anything else; all others are quoted with JSON's escapes. Characters that YAML treats as unprintable or as a line break are escaped, so
 * that one string stays one line.
 */

import { IntegralFloat, isIntegerNumber, isJsonObject, type JsonObject, type JsonValue } from "../../json/exact-json.ts"

/** Words, paths and names; neither numbers nor anything that starts like an indicator. */
const PLAIN = /^[A-Za-z/][A-Za-z0-9_./-]*$/
/** Words that YAML 1.1 reads as a boolean or null. */
const RESERVED = /^(?:y|n|yes|no|on|off|true|false|null)$/i
/** Characters that JSON does not escape; the last are U+FFFE and U+FFFF. */
const UNPRINTABLE = /[\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/g
/** libyaml and its descendants accept no longer key in the short form (1,024 characters). */
const LONGEST_KEY = 1_000

/** The lines of a non-empty object, each with its line feed and with `pad` in front. */
export const formatYaml = (object: JsonObject, pad = ""): string => {
  let text = ""
  for (const key of Object.keys(object)) {
    const name = formatString(key)
    const value = formatValue(object[key] as JsonValue, pad)
    text += name.length > LONGEST_KEY ? `${pad}? ${name}\n${pad}:${value}` : `${pad}${name}:${value}`
  }
  return text
}

/** The text after a colon, including its line feed. */
const formatValue = (value: JsonValue, pad: string): string => {
  if (isJsonObject(value)) return Object.keys(value).length === 0 ? " {}\n" : `\n${formatYaml(value, `${pad}  `)}`
  if (isList(value)) return value.length === 0 ? " []\n" : `\n${formatList(value, pad)}`
  return ` ${formatScalar(value)}\n`
}

/** As Kubernetes writes them: the dashes are at the indentation of the key. */
const formatList = (list: ReadonlyArray<JsonValue>, pad: string): string => {
  let text = ""
  const inner = `${pad}  `
  for (const item of list) {
    if (isJsonObject(item) && Object.keys(item).length > 0)
      text += `${pad}- ${formatYaml(item, inner).slice(inner.length)}`
    else if (isList(item) && item.length > 0) text += `${pad}- ${formatList(item, inner).slice(inner.length)}`
    else text += `${pad}-${formatValue(item, pad)}`
  }
  return text
}

const formatScalar = (value: JsonValue): string => {
  if (typeof value === "string") return formatString(value)
  if (value instanceof IntegralFloat) return `${value.value}.0`
  if (typeof value !== "number" || isIntegerNumber(value)) return String(value)
  if (Object.is(value, -0)) return "-0.0"
  const digits = String(value)
  return Number.isInteger(value) && !digits.includes("e") ? `${digits}.0` : digits
}

const formatString = (text: string): string => {
  if (PLAIN.test(text) && !RESERVED.test(text)) return text
  return JSON.stringify(text.toWellFormed()).replaceAll(
    UNPRINTABLE,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  )
}

const isList = (value: JsonValue): value is ReadonlyArray<JsonValue> => Array.isArray(value)
