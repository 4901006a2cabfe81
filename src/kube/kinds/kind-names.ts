/**
 * The names by which people call kinds: `deployment`, `deployments`, `deploy`, `Deployment`, `deployments.apps`, `deployments.v1.apps` all mean
 * `apps/v1.Deployment`, as with kubectl. Pure; the kinds come from discovery, from a recorder, or from a table.
 */
import { formatGvk, type GroupVersionKind } from "./gvk.ts"

/** A kind and its names. */
export interface NamedKind {
  readonly gvk: GroupVersionKind
  /** `deployments`; `undefined` if unknown: then its usual forms are recognised. */
  readonly plural: string | undefined
  /** `deployment`; the kind in lower case if the server states none. */
  readonly singular?: string
  /** `deploy`. */
  readonly shortNames?: ReadonlyArray<string>
}

/** The kind that a name means: the first that matches, so preferred versions and the core group come first. */
export const findKind = (name: string, kinds: Iterable<NamedKind>): GroupVersionKind | undefined => {
  for (const kind of kinds) if (isCalled(kind, name.toLowerCase())) return kind.gvk
  return undefined
}

const isCalled = (kind: NamedKind, name: string): boolean => {
  const { group, version } = kind.gvk
  return namesOf(kind).some((each) => {
    if (name === each) return true
    const place = name.startsWith(`${each}.`) ? name.slice(each.length + 1) : undefined
    return place !== undefined && (place === group || place === `${version}.${group}`)
  })
}

/** In lower case, the plural first. */
const namesOf = ({ gvk, plural, singular, shortNames = [] }: NamedKind): ReadonlyArray<string> => {
  const kind = gvk.kind.toLowerCase()
  return [...(plural === undefined ? usualPlurals(kind) : [plural]), singular || kind, kind, ...shortNames]
}

/** Of an English noun, as code generators form it. */
const usualPlurals = (kind: string): ReadonlyArray<string> => [
  `${kind}s`,
  ...(/(?:s|x|z|ch|sh)$/.test(kind) ? [`${kind}es`] : []),
  ...(/[^aeiou]y$/.test(kind) ? [`${kind.slice(0, -1)}ies`] : []),
]

/** Every name of every kind with what it means, for suggestions. */
export const namesWithKinds = (kinds: Iterable<NamedKind>): ReadonlyMap<string, string> => {
  const all = new Map<string, string>()
  for (const kind of kinds) {
    const text = formatGvk(kind.gvk)
    for (const name of [text, ...namesOf(kind)]) if (!all.has(name)) all.set(name, text)
  }
  return all
}
