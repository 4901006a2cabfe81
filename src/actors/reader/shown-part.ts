/** Restricts an answer to what the client may be shown. */
import type { ObjectSelection, Shortcomings } from "../../archive/index.ts"
import type { Question } from "./question.ts"

/** Says what of a kind may be shown. */
export interface ShownPart {
  /** `undefined`: everything, of every kind. */
  readonly namespaces: ObjectSelection["shownNamespaces"]
  /** Whether any object of the kind may be shown. */
  readonly showsSome: (gvk: string) => boolean
  /** Whether all of them may be. */
  readonly showsAll: (gvk: string) => boolean
  readonly shows: (object: { readonly gvk: string; readonly namespace: string }) => boolean
  /** What of some kinds is not shown, for who reads the answer; `undefined`: it is all shown. */
  readonly leftOut: (gvks: ReadonlyArray<string>) => LeftOut | undefined
  /** What an answer lacks, without what the recorder says in words, which may name other objects. */
  readonly readable: (lacks: Shortcomings) => Shortcomings
}

/** Kinds of which nothing is shown, and the only namespaces of which objects of some of the others are. */
interface LeftOut {
  readonly kinds: ReadonlyArray<string>
  /** Absent: of all namespaces. */
  readonly namespaces?: ReadonlyArray<string>
}

const everything: ShownPart = {
  leftOut: () => undefined,
  namespaces: undefined,
  showsSome: () => true,
  showsAll: () => true,
  shows: () => true,
  readable: (lacks) => lacks,
}

/** Stands for the words in which the recorder says which objects of a kind are recorded. */
const someSelection = "a part of the objects"

export const shownPart = ({ shown }: Pick<Question, "shown">): ShownPart => {
  if (shown === undefined) return everything
  const kinds = new Map(shown.map(({ gvk, namespaces }) => [gvk, namespaces && new Set(namespaces)]))
  const none: ReadonlySet<string> = new Set()
  const namespaces = (gvk: string): ReadonlySet<string> | undefined => (kinds.has(gvk) ? kinds.get(gvk) : none)
  const named = new Set(shown.flatMap(({ gvk, isNamedOnly }) => (isNamedOnly === true ? [gvk] : [])))
  const showsAll = (gvk: string): boolean => namespaces(gvk) === undefined && !named.has(gvk)
  const concerns = ({ gvk, namespace }: { readonly gvk: string; readonly namespace: string }): boolean =>
    kinds.has(gvk) && (namespace === "" || namespaces(gvk)?.has(namespace) !== false)
  return {
    namespaces,
    showsSome: (gvk) => kinds.has(gvk),
    showsAll,
    leftOut: (gvks) => {
      const partly = [...new Set(gvks.filter((gvk) => kinds.has(gvk)).flatMap((gvk) => [...(namespaces(gvk) ?? [])]))]
      return { kinds: gvks.filter((gvk) => !kinds.has(gvk)), ...(partly.length > 0 && { namespaces: partly.sort() }) }
    },
    shows: ({ gvk, namespace }) => namespaces(gvk)?.has(namespace) !== false,
    readable: ({ gaps, late, selected, unrecorded }) => ({
      gaps: gaps.filter(concerns).map((gap) => (showsAll(gap.gvk) ? gap : { ...gap, detail: "" })),
      late: late.filter(concerns),
      selected: selected.map((each) => (showsAll(each.gvk) ? each : { ...each, selection: someSelection })),
      unrecorded: unrecorded.filter(({ why, ...each }) => why === "never" || concerns(each)),
    }),
  }
}
