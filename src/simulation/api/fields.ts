/**
 * The values that fields of the Simulation API are made of: each is at once what `Schema` decodes and what the API
 * server accepts. Every list and every text that a rule looks at is bounded, because the server refuses rules that
 * could cost too much.
 */
import * as Schema from "effect/Schema"

/** A rule in CEL that the API server evaluates, with the message for people: what is wrong, and what to write instead. */
export interface Rule {
  readonly rule: string
  readonly message: string
  /** The field below the ruled one that the message is about: `.spec.duration`. Default: the ruled field itself. */
  readonly fieldPath?: string
}

/** The annotations that put rules into the definition. `Schema` itself does not evaluate them. */
export const rules = (...all: ReadonlyArray<Rule>) => ({ "x-kubernetes-validations": all })

/** A field that may be absent or null. SimKube's own tools write null for what was not given. */
export const optional = <S extends Schema.Constraint>(schema: S) => Schema.optionalKey(Schema.NullOr(schema))

/** A field of ours that may be absent. The API server removes a null from it. */
export const additional = <S extends Schema.Constraint>(schema: S) => Schema.optionalKey(schema)

/** Text of at most `longest` characters, counted as Unicode code points, as the API server does. */
export const text = (longest: number, description: string) =>
  Schema.String.check(Schema.isMaxCodePoints(longest)).annotate({ description })

/** Text without a bound, for fields that no rule looks at. */
export const anyText = (description: string) => Schema.String.annotate({ description })

/** A boolean. */
export const flag = (description: string) => Schema.Boolean.annotate({ description })

/** The largest number of fields whose format is `int32`. */
export const largestInt32 = 2 ** 31 - 1

/** The largest number of milliseconds that SimKube's lifecycle parameters can have: it reads unsigned 32-bit integers. */
export const largestUint32 = 2 ** 32 - 1

/** A whole number between two bounds, both included, that fits 32 bits. */
export const int32 = (minimum: number, maximum: number, description: string) =>
  Schema.Int.check(Schema.isBetween({ minimum, maximum })).annotate({ description, format: "int32" })

/** A whole number from `minimum` to `maximum`, by default 2^53 - 1: JavaScript would round larger ones. */
export const int64 = (minimum: number, description: string, maximum = Number.MAX_SAFE_INTEGER) =>
  Schema.Int.check(Schema.isBetween({ minimum, maximum })).annotate({ description, format: "int64" })

/** A number from 0 on. */
export const measure = (description: string) =>
  Schema.Finite.check(Schema.isGreaterThanOrEqualTo(0)).annotate({ description, format: "double" })

/** A share, from 0 to 1. */
export const share = (description: string) =>
  Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 })).annotate({ description, format: "double" })

const rfc3339 = /^(\d{4})-(\d\d)-(\d\d)[Tt](?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?(?:[Zz]|[+-]\d\d:\d\d)$/

/** `Date.parse` alone takes the 30th of February for the 1st of March. */
const isDateTime = (value: string): boolean => {
  const [, year, month, day] = (rfc3339.exec(value) ?? []).map(Number)
  if (year === undefined || month === undefined || day === undefined) return false
  const date = new Date(0)
  date.setUTCFullYear(year, month - 1, day)
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day
}

/** A moment as RFC 3339. */
export const time = (description: string) =>
  Schema.String.check(
    Schema.makeFilter(isDateTime, {
      expected: "a time such as 2026-11-23T12:00:00Z",
      toJsonSchema: () => ({ format: "date-time" }),
    }),
  ).annotate({ description })

/** A list of at most `most` items. */
export const list = <S extends Schema.Constraint>(item: S, most: number, description: string) =>
  Schema.Array(item).check(Schema.isMaxLength(most)).annotate({ description })

/** A list whose items are known by a field of theirs, so that several writers may each own some. Two items with the same value are refused. */
export const keyedList = <Item, Key extends string & keyof Item>(
  item: Schema.Codec<Item>,
  key: Key,
  most: number,
  description: string,
) =>
  list(item, most, description)
    .check(
      Schema.makeFilter((items) => new Set(items.map((each) => each[key])).size === items.length, {
        expected: `items with different values of ${key}`,
        // The server learns it from the annotations below.
        toJsonSchema: () => ({}),
      }),
    )
    .annotate({ description, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": [key] })

/** An object of another project's API, which passes through as it is. */
export const open = (description: string) =>
  Schema.Record(Schema.String, Schema.Unknown).annotate({ description, "x-kubernetes-preserve-unknown-fields": true })
