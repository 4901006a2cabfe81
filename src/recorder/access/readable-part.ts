/**
 * Which part of a question's answer a reader may see: of each kind all objects, those of the namespace that was asked about, the one that was named, or none.
 *
 * As an API server does, a question without a namespace needs the right to list the kind in all of them, and a kind that was asked for by name and may not be
 * listed is an error and no empty answer. Kinds that come in without being named (all of them, neighbours in an owner tree) are left out.
 */
import { parseGvk } from "../../kube/gvk.ts"
import { visible } from "../../text/index.ts"
import type { MayRead, Reader } from "./may-read.ts"

/** A kind that a question is about. */
export interface AskedKind {
  /** `apps/v1.Deployment`. */
  readonly gvk: string
  /** `deployments`; absent: it was not recorded, so no right can be asked for. */
  readonly plural?: string
  /** Absent: not known. */
  readonly namespaced?: boolean
}

/** What of a question concerns rights. */
export interface AskedPart {
  /** By name. Absent: all that are recorded. */
  readonly kinds?: ReadonlyArray<string>
  readonly namespace?: string
  readonly name?: string
  readonly withOwned?: boolean
  readonly withOwners?: boolean
}

/** A kind of which something may be shown. */
export interface ShownKind {
  readonly gvk: string
  /** Absent: those of all namespaces. */
  readonly namespaces?: ReadonlyArray<string>
  /** Only the object that the question names. */
  readonly isNamedOnly?: true
}

/** The kinds that the reader may see something of, or why the question is refused. */
type ReadablePart =
  | { readonly tag: "shown"; readonly kinds: ReadonlyArray<ShownKind> }
  | { readonly tag: "refused"; readonly message: string }

/**
 * Asks for the rights. `named`: the kinds that the question names; `others`: those that its answer may contain besides.
 *
 * Rejects with ReviewFailed.
 */
export const readablePart = async (
  { identity, mayRead }: Reader,
  question: AskedPart,
  named: ReadonlyArray<AskedKind>,
  others: ReadonlyArray<AskedKind>,
): Promise<ReadablePart> => {
  const may: (action: Parameters<MayRead>[1]) => Promise<boolean> = (action) => mayRead(identity, action)
  const isTree = question.withOwned === true || question.withOwners === true
  // The right to one object shows none of its neighbours.
  const name = isTree ? undefined : question.name
  const ofNamed = await Promise.all(named.map((kind) => shownOf(may, kind, question.namespace, name)))
  const missing = ofNamed.indexOf(undefined)
  if (missing >= 0) {
    const what = nameOf(named[missing] as AskedKind)
    return {
      tag: "refused",
      message: `${visible(identity.username)} may not list ${what} ${placeOf(question.namespace)}`,
    }
  }
  const ofOthers = await Promise.all(others.map((kind) => shownOf(may, kind, question.namespace, undefined)))
  return { tag: "shown", kinds: [...ofNamed, ...ofOthers].filter((kind) => kind !== undefined) }
}

/** `undefined`: nothing. */
const shownOf = async (
  may: (action: Parameters<MayRead>[1]) => Promise<boolean>,
  { gvk, plural, namespaced = true }: AskedKind,
  namespace = "",
  name: string | undefined,
): Promise<ShownKind | undefined> => {
  const group = parseGvk(gvk)?.group
  if (plural === undefined || group === undefined) return undefined
  const place = { group, resource: plural, namespace: namespaced ? namespace : "" }
  const shown = place.namespace === "" ? { gvk } : { gvk, namespaces: [place.namespace] }
  if (await may({ verb: "list", ...place })) return shown
  return name !== undefined && (await may({ verb: "get", ...place, name }))
    ? { ...shown, isNamedOnly: true }
    : undefined
}

const nameOf = ({ gvk, plural }: AskedKind): string => {
  const { group = "", kind = gvk } = parseGvk(gvk) ?? {}
  if (plural === undefined) return `objects of kind ${kind}, of which the recording has no resource name,`
  return group === "" ? plural : `${plural}.${group}`
}

const placeOf = (namespace: string | undefined): string =>
  namespace === undefined || namespace === ""
    ? "in all namespaces: name one in which it may"
    : `in namespace ${namespace}`
