/**
 * What the watcher of CustomResourceDefinitions says of each one that changes: a kind that lives for seconds has to be listed as soon as it is served, and
 * discovery, which is asked every few seconds, may never have it.
 */
import type { ObservedObject } from "../../kube/index.ts"
import type { ObjectRecorder } from "./object-recorder.ts"

/** The kind whose objects define kinds. */
export const definitionKind = "apiextensions.k8s.io/v1.CustomResourceDefinition"

/** The kind that a definition defines, in the version that a server prefers. Plain data. */
export interface KindDefinition {
  readonly group: string
  readonly version: string
  readonly kind: string
  readonly plural: string
  readonly singular: string
  readonly shortNames: ReadonlyArray<string>
  readonly isNamespaced: boolean
  /** The server has accepted it: from now on there may be objects. */
  readonly isServed: boolean
  readonly isGone: boolean
  /** µs since the Unix epoch: when that happened. */
  readonly atMicros: number
}

interface Definition {
  readonly spec?: {
    readonly group?: string
    readonly scope?: string
    readonly names?: {
      readonly kind?: string
      readonly plural?: string
      readonly singular?: string
      readonly shortNames?: ReadonlyArray<string>
    }
    readonly versions?: ReadonlyArray<{ readonly name?: string; readonly served?: boolean }>
  }
  readonly status?: { readonly conditions?: ReadonlyArray<{ readonly type?: string; readonly status?: string }> }
}

/** Tells of each definition that a watch brings; those of lists are in what discovery says. */
export const definitionTap =
  ({ frames }: Pick<ObjectRecorder, "frames">, defined: (definition: KindDefinition) => void) =>
  (object: Readonly<ObservedObject>): void => {
    if (object.fromList) return
    const definition = readDefinition(object.bytes.toString("utf8", object.start, object.end))
    if (definition === undefined) return
    defined({ ...definition, isGone: object.action === deleted, atMicros: frames.timeOf(object) })
  }

/** As in {@link ObservedObject.action}. */
const deleted = 2

/** `undefined` if it defines no kind. */
export const readDefinition = (json: string): Omit<KindDefinition, "isGone" | "atMicros"> | undefined => {
  const { spec, status } = JSON.parse(json) as Definition
  const { group, names: { kind, plural, singular = "", shortNames = [] } = {} } = spec ?? {}
  const served = (spec?.versions ?? []).flatMap(({ name, served }) => (served === true && name ? [name] : []))
  const [version] = served.toSorted(byPreference)
  if (group === undefined || kind === undefined || plural === undefined || version === undefined) return undefined
  const isServed = status?.conditions?.some((each) => each.type === "Established" && each.status === "True") === true
  return { group, version, kind, plural, singular, shortNames, isNamespaced: spec?.scope === "Namespaced", isServed }
}

/** As API servers order the versions of a group: stable ones before beta before alpha, later ones first, others by name. */
const byPreference = (one: string, other: string): number => {
  const [left, right] = [rankOf(one), rankOf(other)]
  for (const [index, rank] of left.entries()) {
    const other = right[index] ?? rank
    if (rank !== other) return other - rank
  }
  return one < other ? -1 : 1
}

const rankOf = (version: string): readonly [stability: number, major: number, minor: number] => {
  const [, major, stage, minor = "0"] = /^v(\d+)(?:(alpha|beta)(\d+))?$/.exec(version) ?? []
  if (major === undefined) return [0, 0, 0]
  return [stage === undefined ? 3 : stage === "beta" ? 2 : 1, Number(major), Number(minor)]
}
