/**
 * What an export includes and excludes, by kind, namespace, name and label, in SimKube's request format (docs/facts/simkube.md#filters)
 * with our additions. The exporter filters by ownership.
 *
 * Everything is compiled once per export, and rejected then if it is invalid.
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
} from "../../kube/offline.ts"
import { isJsonObject, type JsonObject, type JsonValue } from "../json/exact-json.ts"

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
type Labels = Readonly<Record<string, JsonValue>> | undefined

/** Compiles a selector from a request and checks its structure. @throws InvalidSelectorError */
const compileSelector = (source: unknown, place: string): ((labels: Labels) => boolean) => {
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

// Patterns of names: `*` matches any characters, `?` one character, everything else itself. Names of Kubernetes objects contain neither, so
// an exact name is also a pattern.
//
// Matching takes time at most proportional to the product of both lengths, whatever the pattern: it uses no regular expression.

/** Compiles patterns into one predicate: does any of them match the whole name? */
export const compileGlobs = (patterns: ReadonlyArray<string>): ((name: string) => boolean) => {
  const exact = new Set(patterns.filter((pattern) => !isGlob(pattern)))
  // Several stars in a row mean the same as one, but would cost time for each name.
  const globs = patterns.filter(isGlob).map((pattern) => pattern.replaceAll(/\*+/g, "*"))
  const matchesAny = (name: string): boolean => exact.has(name) || globs.some((glob) => matches(glob, name))
  return globs.length > 1 ? remembering(matchesAny) : matchesAny
}

/** Names that are remembered: all of most recordings, in some 2 MB. */
const rememberedNames = 20_000

/** An export asks about the same names with each event, and 500 patterns take 0.1 ms. */
const remembering = (predicate: (name: string) => boolean): ((name: string) => boolean) => {
  const known = new Map<string, boolean>()
  return (name) => {
    const before = known.get(name)
    if (before !== undefined) return before
    if (known.size >= rememberedNames) known.clear()
    const result = predicate(name)
    known.set(name, result)
    return result
  }
}

const isGlob = (pattern: string): boolean => pattern.includes("*") || pattern.includes("?")

/** Only the last `*` may have to match one more character; the text before it has matched once and for all. */
const matches = (pattern: string, name: string): boolean => {
  let at = 0
  let index = 0
  let star = -1
  let taken = 0
  while (index < name.length) {
    // Checks for a star first, because a name may contain one too.
    if (pattern[at] === "*") {
      star = at++
      taken = index
    } else if (at < pattern.length && (pattern[at] === "?" || pattern[at] === name[index])) {
      at++
      index++
    } else if (star !== -1) {
      at = star + 1
      index = ++taken
    } else return false
  }
  while (pattern[at] === "*") at++
  return at === pattern.length
}

const Patterns = Schema.optionalKey(Schema.Array(Schema.String))
const Selectors = Schema.optionalKey(Schema.Array(Schema.Union([Schema.String, LabelSelector])))

/**
 * `filters` of an export request. The reader of the request rejects unknown fields. Names are patterns (`*`, `?`); absent or empty lists do
 * not filter. What is excluded stays excluded, even if something else includes it.
 */
export const ExportFilters = Schema.Struct({
  excluded_namespaces: Schema.Array(Schema.String),
  /** An object is left out if any of these matches: LabelSelectors, or their text form (`app=web,tier!=db`). */
  excluded_labels: Schema.Array(Schema.Union([Schema.String, LabelSelector])),
  /** Our addition, like all below: only these namespaces. Cluster-scoped objects are in the namespace "". */
  namespaces: Patterns,
  /** Only objects that match at least one of these. */
  labels: Selectors,
  /** Only these kinds (`apps/v1.Deployment`), and not those. */
  kinds: Patterns,
  excluded_kinds: Patterns,
  /** Only objects of these names, `name` or `namespace/name`, and not those. */
  names: Patterns,
  excluded_names: Patterns,
})
export type ExportFilters = typeof ExportFilters.Type

/** Compiled filters; a check takes a few tens of ns. */
export interface CompiledFilters {
  /** Whether labels matter at all; if not, no object needs to be parsed for filtering. */
  readonly needsLabels: boolean
  /** Whether names or namespaces matter at all. */
  readonly needsNames: boolean
  /** Whether everything of this kind is left out. */
  excludesKind(gvk: string): boolean
  /** Whether everything in this namespace (empty: cluster-scoped objects) is left out. */
  excludesNamespace(namespace: string): boolean
  /** Whether a gap in this namespace (empty: in all of them) affects nothing that is exported. */
  excludesGap(gap: { readonly namespace: string }): boolean
  /** Whether an object of this name is left out: by name or by namespace. */
  excludesName(namespace: string, name: string): boolean
  /** Whether an object with these labels is left out, whatever its namespace. */
  excludesLabels(labels: Labels): boolean
}

/** Filters as they arrive in a request: selectors are checked when they are compiled, so that the error names the place. */
export const GivenFilters = Schema.Struct({
  ...ExportFilters.fields,
  excluded_labels: Schema.Array(Schema.Unknown),
  labels: Schema.optionalKey(Schema.Array(Schema.Unknown)),
})
export type GivenFilters = typeof GivenFilters.Type

/** @throws InvalidSelectorError */
export const compileFilters = (filters: GivenFilters): CompiledFilters => {
  const kind = within(filters.kinds, filters.excluded_kinds)
  const namespace = within(filters.namespaces, filters.excluded_namespaces)
  const name = within(filters.names, filters.excluded_names)
  const excluded = filters.excluded_labels.map((each, index) => compileSelector(each, `excluded_labels[${index}]`))
  const included = filters.labels?.map((each, index) => compileSelector(each, `labels[${index}]`)) ?? []
  const excludesNamespace = (given: string): boolean => !namespace(given)
  return {
    needsLabels: excluded.length + included.length > 0,
    needsNames: nameLists.some((patterns) => (filters[patterns]?.length ?? 0) > 0),
    excludesKind: (gvk) => !kind(gvk),
    excludesNamespace,
    excludesGap: ({ namespace: concerned }) => concerned !== "" && excludesNamespace(concerned),
    excludesName: (given, plain) =>
      excludesNamespace(given) || !name(plain, given === "" ? plain : `${given}/${plain}`),
    excludesLabels: (labels) =>
      excluded.some((matches) => matches(labels)) ||
      (included.length > 0 && !included.some((matches) => matches(labels))),
  }
}

const nameLists = ["namespaces", "excluded_namespaces", "names", "excluded_names"] as const

/** Whether one of the forms of a name is wanted and none is unwanted. */
const within = (
  wanted: ReadonlyArray<string> = [],
  unwanted: ReadonlyArray<string> = [],
): ((...forms: ReadonlyArray<string>) => boolean) => {
  const isWanted = wanted.length === 0 ? () => true : onceNeeded(() => compileGlobs(wanted))
  const isUnwanted = onceNeeded(() => compileGlobs(unwanted))
  return (...forms) => forms.some((form) => isWanted(form)) && !forms.some((form) => isUnwanted(form))
}

/**
 * Compiles with the first comparison. The thread that accepts a request compares kinds only, and compiling 500 patterns for names took 1.8 of the 2.7 ms
 * that the largest request cost it; globs cannot be invalid.
 */
const onceNeeded = (compile: () => (form: string) => boolean): ((form: string) => boolean) => {
  let matches: ((form: string) => boolean) | undefined
  return (form) => {
    matches ??= compile()
    return matches(form)
  }
}

/** `metadata.labels` of an object; `undefined` if there are none. */
export const labelsOf = (object: JsonObject): Labels => {
  const { metadata } = object
  return isJsonObject(metadata) && isJsonObject(metadata.labels) ? metadata.labels : undefined
}
