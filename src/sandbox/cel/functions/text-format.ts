/** `"%s and %.2f".format([…])`: the verbs s, d, f, e, b, x, X and o, numbers written as in American English. */

import type { Meter } from "../meter.ts"
import { fail } from "../problems.ts"
import { Duration, List, Mapping, Timestamp, TypeName, typeNameOf, Uint, type Value } from "../values.ts"
import { durationText, timestampText } from "./time-texts.ts"

const defaultPrecision = 6
/** What JavaScript's formatting of numbers allows. */
const highestPrecision = 100

/** Throws EvaluationError. */
export const formatText = (format: string, values: ReadonlyArray<Value>, meter: Meter): string => {
  let next = 0
  let length = 0
  const text = format.replace(/%(?:%|(?:\.(\d+))?([a-zA-Z]?))/g, (clause, digits: string | undefined, verb: string) => {
    if (clause === "%%") return "%"
    if (next >= values.length) return fail(`index ${next} out of range`)
    const precision = digits === undefined ? defaultPrecision : Number(digits)
    const shown = written(verb, values[next++] ?? null, precision, meter)
    length += shown.length
    meter.reserve(length)
    return shown
  })
  return text
}

const written = (verb: string, value: Value, precision: number, meter: Meter): string => {
  if (precision > highestPrecision) return fail(`precision ${precision} is too high`)
  switch (verb) {
    case "s":
      return plain(value, meter)
    case "d":
      return String(wholeOf(value) ?? misfit("decimal clause can only be used on integers", value))
    case "f":
      return fixed(doubleOf(value) ?? misfit("fixed-point clause can only be used on doubles", value), precision)
    case "e":
      return scientific(doubleOf(value) ?? misfit("scientific clause can only be used on doubles", value), precision)
    case "b":
      if (typeof value === "boolean") return value ? "1" : "0"
      return (wholeOf(value) ?? misfit("only integers and bools can be formatted as binary", value)).toString(2)
    case "o":
      return (wholeOf(value) ?? misfit("octal clause can only be used on integers", value)).toString(8)
    case "x":
      return hexadecimal(value)
    case "X":
      return hexadecimal(value).toUpperCase()
    default:
      return fail(`could not parse formatting clause: unrecognized formatting clause "${verb}"`)
  }
}

const misfit = (rule: string, value: Value): never =>
  fail(`error during formatting: ${rule}, was given ${typeNameOf(value)}`)

const wholeOf = (value: Value): bigint | undefined =>
  typeof value === "bigint" ? value : value instanceof Uint ? value.value : undefined

const doubleOf = (value: Value): number | undefined => {
  if (typeof value === "number") return value
  return value === "NaN" || value === "Infinity" || value === "-Infinity" ? Number(value) : undefined
}

const fixed = (value: number, precision: number): string => {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "NaN" : value > 0 ? "∞" : "-∞"
  const digits = { minimumFractionDigits: precision, maximumFractionDigits: precision }
  return new Intl.NumberFormat("en-US", digits).format(value)
}

const superscripts = "⁰¹²³⁴⁵⁶⁷⁸⁹"

const scientific = (value: number, precision: number): string => {
  if (!Number.isFinite(value)) return fixed(value, precision)
  const [mantissa = "", exponent = "0"] = value.toExponential(precision).split("e")
  const digits = exponent.replace(/^[+-]/, "").padStart(2, "0")
  const raised = [...digits].map((digit) => superscripts[Number(digit)] ?? "").join("")
  return `${mantissa}\u202f×\u202f10${exponent.startsWith("-") ? "⁻" : ""}${raised}`
}

const hexadecimal = (value: Value): string => {
  if (typeof value === "string" || value instanceof Uint8Array) return Buffer.from(value as string).toString("hex")
  return (wholeOf(value) ?? misfit("only integers, byte buffers, and strings can be formatted as hex", value)).toString(
    16,
  )
}

const plain = (value: Value, meter: Meter): string => {
  meter.step()
  if (value === null) return "null"
  if (value instanceof List) return `[${value.items.map((item) => nested(item, meter)).join(", ")}]`
  if (value instanceof Mapping) {
    const entries = value.keys.map((key) => `${nested(key, meter)}:${nested(value.get(key) ?? null, meter)}`)
    return `{${entries.sort().join(", ")}}`
  }
  if (value instanceof Uint8Array) return Buffer.from(value).toString("utf8")
  if (value instanceof Timestamp) return timestampText(value)
  if (value instanceof Duration) return durationText(value)
  if (value instanceof TypeName) return value.name
  if (value instanceof Uint) return String(value.value)
  if (typeof value !== "object") return String(value)
  return misfit("string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists", value)
}

/** In lists and maps, texts are quoted. */
const nested = (value: Value, meter: Meter): string => {
  const text = plain(value, meter)
  if (typeof value === "string") return JSON.stringify(text)
  return value instanceof Uint8Array ? `b${JSON.stringify(text)}` : text
}
