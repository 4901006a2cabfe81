/**
 * Label selectors, in the structured form of Kubernetes' LabelSelector and in the text form of `kubectl -l`.
 *
 * An invalid selector is rejected when it is compiled, whether or not any object has its key (SimKube notices it at the first object, and
 * panics: W-08).
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import {
  type LabelRequirement,
  type LabelSelector as LabelRequirements,
  matchesLabels,
  parseLabelSelector,
  requirementFault,
  setOperators,
} from "../../kube/label-selector.ts"
import type { JsonValue } from "../json/exact-json.ts"

/** A Kubernetes LabelSelector. All of its parts must hold; an empty one matches every object. */
export const LabelSelector = Schema.Struct({
  /** Absent or null: no condition. */
  matchLabels: Schema.optional(Schema.NullOr(Schema.Record(Schema.String, Schema.String))),
  matchExpressions: Schema.optional(
    Schema.NullOr(
      Schema.Array(
        Schema.Struct({
          key: Schema.String,
          /** Any string; {@link compileSelector} checks it and reports the selector's place. */
          operator: Schema.String,
          values: Schema.optional(Schema.NullOr(Schema.Array(Schema.String))),
        }),
      ),
    ),
  ),
})
export type LabelSelector = typeof LabelSelector.Type

/** A selector of the request is invalid. */
export class InvalidSelectorError extends Schema.TaggedError<InvalidSelectorError>()("InvalidSelectorError", {
  /** Its place: `excluded_labels[1].matchExpressions[0]`; both count from 0. */
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

/** An object's labels; absent means none. */
export type Labels = Readonly<Record<string, JsonValue>> | undefined

/** Compiles a selector from a request and checks its structure. @throws InvalidSelectorError */
export const compileSelector = (source: unknown, place: string): ((labels: Labels) => boolean) => {
  const requirements = typeof source === "string" ? ofText(source, place) : ofStructure(source, place)
  return (labels) => matchesLabels(requirements, labels)
}

const ofStructure = (source: unknown, place: string): LabelRequirements => {
  // With a misspelt member, the rest would be an empty selector, which matches everything.
  const decoded = Schema.decodeUnknownResult(LabelSelector)(source, { onExcessProperty: "error" })
  if (Result.isFailure(decoded)) {
    const found = String(decoded.failure).replaceAll(/\s+/g, " ")
    const allowed = "a LabelSelector (matchLabels, matchExpressions), or its text (app=web,tier!=db)"
    throw new InvalidSelectorError({ place, found: `${quoted(JSON.stringify(source))}: ${found}`, allowed })
  }
  const { matchLabels, matchExpressions } = decoded.success
  const equalities = Object.entries(matchLabels ?? {}).map(([key, value]) =>
    valid({ key, operator: "In", values: [value] }, `${place}.matchLabels`),
  )
  const expressions = (matchExpressions ?? []).map(({ key, operator, values }, index) => {
    const own = `${place}.matchExpressions[${index}]`
    const known = setOperators.find((candidate) => candidate === operator)
    if (known === undefined) {
      const allowed = setOperators.join(", ")
      throw new InvalidSelectorError({ place: own, found: `operator ${quoted(JSON.stringify(operator))}`, allowed })
    }
    return valid({ key, operator: known, values: values ?? [] }, own)
  })
  return [...equalities, ...expressions]
}

/** The part of a request that a message quotes. */
const quoted = (text: string): string => (text.length > 200 ? `${text.slice(0, 200)}…` : text)

/** Longest text of a selector in characters: fifty labels with names and values of maximum length. */
const longestText = 16 * 1024

const ofText = (text: string, place: string): LabelRequirements => {
  if (text.length > longestText) {
    const found = `a text of ${text.length} characters`
    throw new InvalidSelectorError({ place, found, allowed: `at most ${longestText}` })
  }
  const selector = parseLabelSelector(text)
  if (!("problem" in selector)) return selector
  throw new InvalidSelectorError({
    place: `${place}: ${quoted(JSON.stringify(text))}`,
    found: selector.problem,
    allowed: "key, !key, key=value, key!=value, key in (a,b), key notin (a,b), key>1, key<1, separated by commas",
  })
}

/** Checks a requirement by Kubernetes' rules. @throws InvalidSelectorError */
const valid = (requirement: LabelRequirement, place: string): LabelRequirement => {
  const { operator, values } = requirement
  const wantsValues = operator === "In" || operator === "NotIn"
  if (wantsValues !== values.length > 0) {
    const allowed = wantsValues ? "one value or more" : "no values"
    throw new InvalidSelectorError({ place, found: `${operator} with ${values.length} values`, allowed })
  }
  const found = requirementFault(requirement)
  if (found === undefined) return requirement
  throw new InvalidSelectorError({
    place,
    found,
    allowed:
      "keys of an optional DNS name and a slash, and up to 63 of A-Z a-z 0-9 - _ .; values that are empty or such a name",
  })
}
