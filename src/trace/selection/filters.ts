/**
 * What an export includes and excludes, by kind, namespace, name and label, in SimKube's request format (docs/facts/simkube.md#filters)
 * with our additions. The exporter filters by ownership.
 *
 * Everything is compiled once per export, and rejected then if it is invalid.
 */
import * as Schema from "effect/Schema"
import { isJsonObject, type JsonObject } from "../json/exact-json.ts"
import { compileSelector, LabelSelector, type Labels } from "./label-selector.ts"

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
