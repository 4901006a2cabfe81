/** JSON as values of expressions, by its schema or without one. Objects are converted as far as expressions read them. */

import type { StructuralSchema } from "../../../apiserver/openapi/structural-schema.ts"
import { isRecord } from "../../../is-record.ts"
import { memberOf } from "../../../own-member.ts"
import { parseGoDuration, parseTimestamp } from "../../cel/functions/time-texts.ts"
import { fail } from "../../cel/problems.ts"
import { byPosition, Duration, List, type ListIdentity, Mapping, Opaque, type Value } from "../../cel/values.ts"
import { canonicalJson } from "../custom/canonical-json.ts"
import { asResource, isEmbedded } from "./declared-type.ts"
import { escapedName } from "./escaped-names.ts"

/** Throws EvaluationError for JSON that the schema does not allow. */
export const valueBySchema = (json: unknown, given: StructuralSchema, isResource = isEmbedded(given)): Value => {
  if (json === null)
    return given.nullable === true ? null : fail("invalid data, got null for schema with nullable=false")
  if (given["x-kubernetes-int-or-string"] === true) return typeof json === "number" ? BigInt(json) : String(json)
  const schema = isResource ? asResource(given) : given
  switch (schema.type) {
    case "object":
      return isRecord(json) ? objectValue(json, schema) : mismatch("a map", json)
    case "array": {
      const { items } = schema
      if (!Array.isArray(json) || items === undefined) return mismatch("an array", json)
      return new List(
        json.map((item) => valueBySchema(item, items)),
        identityOf(schema),
      )
    }
    case "string":
      return typeof json === "string" ? textValue(json, schema.format) : mismatch("a string", json)
    case "number":
      return typeof json === "number" ? json : mismatch("a number", json)
    case "integer":
      return typeof json === "number" ? BigInt(Math.trunc(json)) : mismatch("an integer", json)
    case "boolean":
      return typeof json === "boolean" ? json : mismatch("a boolean", json)
    default:
      return unknown(json)
  }
}

/** Without a schema, as `object` in the conditions of webhooks. */
export const dynamicValue = (json: unknown): Value => {
  if (Array.isArray(json)) return new List(json.map(dynamicValue))
  if (isRecord(json)) {
    const known = Object.keys(json).filter((key) => json[key] !== undefined)
    return new Mapping(known, (key) => present(memberOf(json, key.slice(1)), dynamicValue))
  }
  if (typeof json === "number") return Number.isSafeInteger(json) ? BigInt(json) : json
  return typeof json === "string" || typeof json === "boolean" ? json : null
}

const present = <Result>(json: unknown, convert: (json: unknown) => Result): Result | undefined =>
  json === undefined ? undefined : convert(json)

const mismatch = (wanted: string, json: unknown): never =>
  fail(`invalid data, expected ${wanted}, got ${Array.isArray(json) ? "array" : typeof json}`)

/** Preserved data without a schema: it can be compared as a part of what holds it, and nothing else. */
const unknown = (json: unknown): Value => new Opaque("unknown", canonicalJson(json), undefined)

const objectValue = (json: Readonly<Record<string, unknown>>, schema: StructuralSchema): Value => {
  const { additionalProperties } = schema
  if (isRecord(additionalProperties) && schema.properties === undefined)
    return new Mapping(Object.keys(json), (key) =>
      present(memberOf(json, key.slice(1)), (member) => valueBySchema(member, additionalProperties)),
    )
  const properties = schema.properties ?? {}
  const names = new Map(Object.keys(json).map((name) => [escapedName(name) ?? name, name]))
  return new Mapping([...names.keys()], (key) => {
    const name = names.get(key.slice(1))
    if (name === undefined) return undefined
    const property = memberOf(properties, name) as StructuralSchema | undefined
    return property === undefined ? unknown(json[name]) : valueBySchema(json[name], property)
  })
}

const identityOf = (schema: StructuralSchema): ListIdentity => {
  const type = schema["x-kubernetes-list-type"]
  if (type === "set") return { type: "value" }
  if (type !== "map") return byPosition
  const keys = (schema["x-kubernetes-list-map-keys"] ?? []).map((key) => escapedName(key) ?? key)
  return { type: "keys", keys }
}

const textValue = (text: string, format: string | undefined): Value => {
  switch (format) {
    case "byte":
      return new Uint8Array(Buffer.from(text, "base64"))
    case "duration":
      return durationValue(text)
    case "date":
      return parseTimestamp(`${text}T00:00:00Z`) ?? fail(`Invalid date formatted string ${text}`)
    case "date-time":
      return parseTimestamp(text.toUpperCase()) ?? fail(`Invalid date-time formatted string ${text}`)
    default:
      return text
  }
}

/** In nanoseconds; by the beginning of the unit's name. */
const spelledUnits: ReadonlyArray<readonly [RegExp, bigint]> = [
  [/^(?:ns|nano)/, 1n],
  [/^(?:us|µs|micro)/, 1_000n],
  [/^(?:ms|milli)/, 1_000_000n],
  [/^s/, 1_000_000_000n],
  [/^h/, 3_600_000_000_000n],
  [/^d/, 86_400_000_000_000n],
  [/^w/, 604_800_000_000_000n],
  [/^m/, 60_000_000_000n],
]

/** Go's durations, and amounts with spelled-out units (`2 days`), as the schema's format allows. */
const durationValue = (text: string): Value => {
  const exact = parseGoDuration(text)
  if (exact !== undefined) return exact
  let total = 0n
  for (const [, amount = "0", unit = ""] of text.matchAll(/(\d+)\s*([a-zµ]+)/gi))
    total += BigInt(amount) * (spelledUnits.find(([pattern]) => pattern.test(unit.toLowerCase()))?.[1] ?? 0n)
  return total === 0n ? fail(`Invalid duration ${text}`) : new Duration(total)
}
