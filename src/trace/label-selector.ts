/**
 * Label selectors, in the structured form of Kubernetes' LabelSelector and in the text form of `kubectl -l`.
 *
 * One that means nothing is refused when it is compiled, whether or not any object carries its key (SimKube notices when it
 * meets the first object, and panics: W-08).
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type { JsonValue } from "./exact-json.ts"

const Operator = ["In", "NotIn", "Exists", "DoesNotExist"] as const
type Operator = (typeof Operator)[number]

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
  const decoded = Schema.decodeUnknownResult(LabelSelector)(source)
  if (Result.isFailure(decoded)) {
    const found = String(decoded.failure).replaceAll(/\s+/g, " ")
    const allowed = "a LabelSelector (matchLabels, matchExpressions), or its text (app=web,tier!=db)"
    throw new InvalidSelectorError({ place, found: `${JSON.stringify(source)}: ${found}`, allowed })
  }
  const { matchLabels, matchExpressions } = decoded.success
  const equalities = Object.entries(matchLabels ?? {}).map(([key, value]) => requirement(key, "In", [value]))
  const expressions = (matchExpressions ?? []).map(({ key, operator, values }, index) => {
    const invalid = (found: string, allowed: string) =>
      new InvalidSelectorError({ place: `${place}.matchExpressions[${index}]`, found, allowed })
    const known = Operator.find((candidate) => candidate === operator)
    if (known === undefined) throw invalid(`operator ${JSON.stringify(operator)}`, Operator.join(", "))
    const wantsValues = known === "In" || known === "NotIn"
    const given = values ?? []
    if (wantsValues !== given.length > 0) {
      throw invalid(`${known} with ${given.length} values`, wantsValues ? "one value or more" : "no values")
    }
    return requirement(key, known, given)
  })
  return [...equalities, ...expressions]
}

const key = String.raw`(?<key>[A-Za-z0-9./_-]+)`
const value = String.raw`[A-Za-z0-9._-]*`
/** The forms of one requirement, as `kubectl -l` takes them. None can go back over what it has read: no input takes long. */
const forms: ReadonlyArray<readonly [form: RegExp, operator: Operator]> = [
  [new RegExp(`^${key}$`), "Exists"],
  [new RegExp(`^!\\s*${key}$`), "DoesNotExist"],
  [new RegExp(`^${key}\\s*==?\\s*(?<value>${value})$`), "In"],
  [new RegExp(`^${key}\\s*!=\\s*(?<value>${value})$`), "NotIn"],
  [new RegExp(`^${key}\\s+in\\s*\\((?<values>[^()]*)\\)$`), "In"],
  [new RegExp(`^${key}\\s+notin\\s*\\((?<values>[^()]*)\\)$`), "NotIn"],
]

const isValue = new RegExp(`^${value}$`)

const ofText = (text: string, place: string): ReadonlyArray<Requirement> =>
  text.trim() === ""
    ? []
    : partsOf(text).map((part) => {
        const invalid = (): InvalidSelectorError =>
          new InvalidSelectorError({
            place,
            found: `${JSON.stringify(part)} in ${JSON.stringify(text)}`,
            allowed: "key, !key, key=value, key!=value, key in (a,b), key notin (a,b), separated by commas",
          })
        for (const [form, operator] of forms) {
          const groups = form.exec(part)?.groups
          if (groups === undefined) continue
          const values = groups.values?.split(",").map((each) => each.trim()) ?? [groups.value ?? ""]
          if (!values.every((each) => isValue.test(each))) throw invalid()
          return requirement(groups.key ?? "", operator, values)
        }
        throw invalid()
      })

/** Commas inside brackets separate values. */
const partsOf = (text: string): ReadonlyArray<string> => text.split(/,(?![^()]*\))/).map((part) => part.trim())

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
  }
}
