/**
 * Label selectors, in the structured form of Kubernetes' LabelSelector and in the text form of `kubectl -l`.
 *
 * One that means nothing is refused when it is compiled, whether or not any object carries its key (SimKube notices when it
 * meets the first object, and panics: W-08).
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type { JsonValue } from "../json/exact-json.ts"

/** Operators of the structured form; the text form has two more. */
const structured = ["In", "NotIn", "Exists", "DoesNotExist"] as const
type Operator = (typeof structured)[number] | "Gt" | "Lt"

/** A Kubernetes LabelSelector. All of its parts must hold; an empty one matches every object. */
export const LabelSelector = Schema.Struct({
  /** Absent, null: nothing asked. */
  matchLabels: Schema.optional(Schema.NullOr(Schema.Record(Schema.String, Schema.String))),
  matchExpressions: Schema.optional(
    Schema.NullOr(
      Schema.Array(
        Schema.Struct({
          key: Schema.String,
          /** A string here; {@link compileSelector} says which are allowed, together with the selector's place. */
          operator: Schema.String,
          values: Schema.optional(Schema.NullOr(Schema.Array(Schema.String))),
        }),
      ),
    ),
  ),
})
export type LabelSelector = typeof LabelSelector.Type

/** A selector of the request means nothing. */
export class InvalidSelectorError extends Schema.TaggedError<InvalidSelectorError>()("InvalidSelectorError", {
  /** Where it stands: `excluded_labels[1].matchExpressions[0]`; both count from 0. */
  place: Schema.String,
  /** What was found. */
  found: Schema.String,
  /** What is allowed in its place. */
  allowed: Schema.String,
}) {
  override get message(): string {
    return `${this.place}: ${this.found}; allowed: ${this.allowed}`
  }
}

/** An object's labels; absent is the same as none. */
export type Labels = Readonly<Record<string, JsonValue>> | undefined

type Requirement = (labels: NonNullable<Labels>) => boolean

/** Compiles a selector as it came in a request; its shape is checked here, too. @throws InvalidSelectorError */
export const compileSelector = (source: unknown, place: string): ((labels: Labels) => boolean) => {
  const requirements = typeof source === "string" ? ofText(source, place) : ofStructure(source, place)
  return (labels = {}) => requirements.every((requirement) => requirement(labels))
}

const ofStructure = (source: unknown, place: string): ReadonlyArray<Requirement> => {
  // A misspelt member would leave an empty selector, which matches everything.
  const decoded = Schema.decodeUnknownResult(LabelSelector)(source, { onExcessProperty: "error" })
  if (Result.isFailure(decoded)) {
    const found = String(decoded.failure).replaceAll(/\s+/g, " ")
    const allowed = "a LabelSelector (matchLabels, matchExpressions), or its text (app=web,tier!=db)"
    throw new InvalidSelectorError({ place, found: `${quoted(JSON.stringify(source))}: ${found}`, allowed })
  }
  const { matchLabels, matchExpressions } = decoded.success
  const equalities = Object.entries(matchLabels ?? {}).map(([key, value]) =>
    valid(key, "In", [value], `${place}.matchLabels`),
  )
  const expressions = (matchExpressions ?? []).map(({ key, operator, values }, index) => {
    const own = `${place}.matchExpressions[${index}]`
    const known = structured.find((candidate) => candidate === operator)
    if (known === undefined) {
      const allowed = structured.join(", ")
      throw new InvalidSelectorError({ place: own, found: `operator ${quoted(JSON.stringify(operator))}`, allowed })
    }
    return valid(key, known, values ?? [], own)
  })
  return [...equalities, ...expressions]
}

/** What is quoted of a request in a message. */
const quoted = (text: string): string => (text.length > 200 ? `${text.slice(0, 200)}…` : text)

/** Characters of a selector's text: fifty labels with the longest of names and values. */
const longestText = 16 * 1024

const ofText = (text: string, place: string): ReadonlyArray<Requirement> => {
  if (text.length > longestText) {
    const found = `a text of ${text.length} characters`
    throw new InvalidSelectorError({ place, found, allowed: `at most ${longestText}` })
  }
  if (text.trim() === "") return []
  return partsOf(text).map((part) => {
    const own = `${place}: ${quoted(JSON.stringify(text))}`
    for (const [form, operator] of forms) {
      const groups = form.exec(part)?.groups
      if (groups === undefined) continue
      const values = groups.values?.split(",") ?? (groups.value === undefined ? [] : [groups.value])
      return valid(
        groups.key ?? "",
        operator,
        values.map((each) => each.trim()),
        own,
      )
    }
    throw new InvalidSelectorError({
      place: own,
      found: quoted(JSON.stringify(part)),
      allowed: "key, !key, key=value, key!=value, key in (a,b), key notin (a,b), key>1, key<1, separated by commas",
    })
  })
}

const word = String.raw`[^\s=!<>(),]*`
/** The forms of one requirement, as `kubectl -l` takes them. None can go back over what it has read: no input takes long. */
const forms: ReadonlyArray<readonly [form: RegExp, operator: Operator]> = (
  [
    [String.raw`(?<key>${word})`, "Exists"],
    [String.raw`!\s*(?<key>${word})`, "DoesNotExist"],
    [String.raw`(?<key>${word})\s*==?\s*(?<value>${word})`, "In"],
    [String.raw`(?<key>${word})\s*!=\s*(?<value>${word})`, "NotIn"],
    [String.raw`(?<key>${word})\s+in\s*\((?<values>[^()]*)\)`, "In"],
    [String.raw`(?<key>${word})\s+notin\s*\((?<values>[^()]*)\)`, "NotIn"],
    [String.raw`(?<key>${word})\s*>\s*(?<value>${word})`, "Gt"],
    [String.raw`(?<key>${word})\s*<\s*(?<value>${word})`, "Lt"],
  ] as const
).map(([form, operator]) => [new RegExp(`^${form}$`), operator])

/** Between commas; those inside brackets separate values. */
const partsOf = (text: string): ReadonlyArray<string> => {
  const parts: Array<string> = []
  let start = 0
  let depth = 0
  for (let index = 0; index < text.length; index++) {
    if (text[index] === "(") depth++
    else if (text[index] === ")") depth--
    else if (text[index] === "," && depth <= 0) {
      parts.push(text.slice(start, index).trim())
      start = index + 1
    }
  }
  return [...parts, text.slice(start).trim()]
}

const namePart = /^(?:[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)$/
const dnsLabel = /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/

/** A label's key: an optional DNS name and a slash, then up to 63 letters, digits and `-_.`, beginning and ending with the former. */
const isKey = (key: string): boolean => {
  const [name = "", prefix, ...more] = key.split("/").reverse()
  if (more.length > 0 || !namePart.test(name)) return false
  return prefix === undefined || (prefix.length <= 253 && prefix.split(".").every((label) => dnsLabel.test(label)))
}

const isValue = (value: string): boolean => value === "" || namePart.test(value)

const isInteger = (value: string): boolean => /^[+-]?\d{1,18}$/.test(value)

/** A requirement as Kubernetes would take it. @throws InvalidSelectorError */
const valid = (key: string, operator: Operator, values: ReadonlyArray<string>, place: string): Requirement => {
  const invalid = (found: string, allowed: string) => new InvalidSelectorError({ place, found, allowed })
  if (!isKey(key))
    throw invalid(
      `the key ${quoted(JSON.stringify(key))}`,
      "an optional DNS name and a slash, and up to 63 of A-Z a-z 0-9 - _ .",
    )
  const wantsValues = operator === "In" || operator === "NotIn"
  const wantsNumber = operator === "Gt" || operator === "Lt"
  if (wantsValues && values.length === 0) throw invalid(`${operator} with 0 values`, "one value or more")
  if (wantsNumber && values.length !== 1) throw invalid(`${operator} with ${values.length} values`, "one whole number")
  if (!wantsValues && !wantsNumber && values.length > 0)
    throw invalid(`${operator} with ${values.length} values`, "no values")
  const odd = values.find((value) => (wantsNumber ? !isInteger(value) : !isValue(value)))
  if (odd !== undefined) {
    throw invalid(
      `the value ${quoted(JSON.stringify(odd))}`,
      wantsNumber
        ? "a whole number"
        : "nothing, or up to 63 of A-Z a-z 0-9 - _ ., beginning and ending with a letter or digit",
    )
  }
  return requirement(key, operator, values)
}

const requirement = (key: string, operator: Operator, values: ReadonlyArray<string>): Requirement => {
  const given = new Set<JsonValue | undefined>(values)
  switch (operator) {
    case "In":
      return (labels) => Object.hasOwn(labels, key) && given.has(labels[key])
    case "NotIn":
      // Kubernetes' rule: a label that is absent is in no set.
      return (labels) => !Object.hasOwn(labels, key) || !given.has(labels[key])
    case "Exists":
      return (labels) => Object.hasOwn(labels, key)
    case "DoesNotExist":
      return (labels) => !Object.hasOwn(labels, key)
    case "Gt":
    case "Lt":
      return (labels) => {
        const value = Object.hasOwn(labels, key) ? labels[key] : undefined
        if (typeof value !== "string" || !isInteger(value)) return false
        const difference = BigInt(value) - BigInt(values[0] ?? 0)
        return operator === "Gt" ? difference > 0n : difference < 0n
      }
  }
}
