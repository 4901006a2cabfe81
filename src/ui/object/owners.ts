/** The owners of an object, as its ownerReferences name them, up to the outermost. */

import type { LaneObject } from "../../timeline/index.ts"
import type { HistorySource, Overview } from "../source/source.ts"

/** Owners above one another: a ReplicaSet, its Deployment, what made that. */
const mostOwners = 8

type Reference = Readonly<Record<"apiVersion" | "kind" | "name" | "uid", string>> & { readonly controller?: boolean }

const isReference = (value: unknown): value is Reference => {
  if (typeof value !== "object" || value === null) return false
  const members = new Map(Object.entries(value))
  return ["apiVersion", "kind", "name", "uid"].every((name) => typeof members.get(name) === "string")
}

/** The owner that controls it first. */
const referencesIn = (state: Readonly<Record<string, unknown>>): ReadonlyArray<Reference> => {
  const { metadata } = state
  if (typeof metadata !== "object" || metadata === null || !("ownerReferences" in metadata)) return []
  const { ownerReferences } = metadata
  if (!Array.isArray(ownerReferences)) return []
  return ownerReferences
    .filter(isReference)
    .toSorted((one, other) => Number(other.controller === true) - Number(one.controller === true))
}

/** An owner is in the namespace of what it owns, or in none. */
const ownersIn = (
  state: Readonly<Record<string, unknown>>,
  namespace: string,
  kinds: Overview["kinds"],
): ReadonlyArray<LaneObject> =>
  referencesIn(state).map(({ apiVersion, kind, name, uid }) => {
    const gvk = `${apiVersion}.${kind}`
    const isNamespaced = kinds.find((each) => each.gvk === gvk)?.namespaced ?? true
    return { gvk, namespace: isNamespaced ? namespace : "", name, uid }
  })

/** Outermost first. An owner that is not recorded is the last one that is known. */
export const ownersOf = async (
  source: HistorySource,
  object: LaneObject,
  { time, kinds }: { readonly time: number; readonly kinds: Overview["kinds"] },
  signal: AbortSignal,
): Promise<ReadonlyArray<LaneObject>> => {
  const owners: LaneObject[] = []
  let at = object
  while (owners.length < mostOwners) {
    const found = await source.stateAt(at, time, signal)
    const owner = found && ownersIn(found.state, at.namespace, kinds)[0]
    if (owner === undefined || owners.some(({ uid }) => uid === owner.uid)) break
    owners.push(owner)
    at = owner
  }
  return owners.reverse()
}
