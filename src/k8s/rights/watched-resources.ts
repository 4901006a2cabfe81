/** Resolves the kinds of a configuration to the resources that its recording reads, with a cluster's discovery or a table. */
import type { ApiResource, Discovery } from "../../kube/discovery.ts"
import { formatGvk, type GroupVersionKind } from "../../kube/gvk.ts"
import { recordedWhole, type TrackedKind } from "../../recorder/configuration/tracked-kind.ts"
import { watchedKinds } from "../../recorder/watchers/pod-stream.ts"
import { ownersAbove } from "./owner-kinds.ts"
import type { WatchedResource } from "./permissions.ts"

interface WatchedResources {
  readonly watched: ReadonlyArray<WatchedResource>
  /** Kinds that could not be resolved to a resource, so that there is no rule for them. */
  readonly unresolved: ReadonlyArray<Unresolved>
}

export interface Unresolved {
  readonly gvk: string
  /** Whether discovery found that the kind does not exist; otherwise discovery failed. */
  readonly isAbsent: boolean
  readonly detail: string
}

export type Resolve = (gvk: GroupVersionKind) => Promise<Discovery>

/**
 * @param further kinds that own recorded objects, in addition to the owner kinds of Kubernetes' own controllers.
 */
export const watchedResources = async (
  kinds: ReadonlyArray<TrackedKind>,
  further: ReadonlyArray<GroupVersionKind>,
  resolve: Resolve,
): Promise<WatchedResources> => {
  const answers = new Map<string, Promise<Discovery>>()
  const unresolved = new Map<string, Unresolved>()
  const find = async (gvk: GroupVersionKind, isNeeded: boolean): Promise<ApiResource | undefined> => {
    const name = formatGvk(gvk)
    const answer = answers.get(name) ?? resolve(gvk)
    answers.set(name, answer)
    const found = await answer
    if (found.tag === "found") return found.resource
    // An owner kind that is not installed owns nothing.
    if (isNeeded || found.tag !== "absent") {
      unresolved.set(name, { gvk: name, isAbsent: found.tag === "absent", detail: detailOf(found) })
    }
    return undefined
  }
  const whole = new Set(recordedWhole(kinds))
  const watched: WatchedResource[] = []
  for (const kind of watchedKinds(kinds).kinds) {
    const resource = await find(kind.gvk, true)
    if (resource === undefined) continue
    const owners: ApiResource[] = []
    for (const gvk of ownersAbove([kind.gvk], further)) {
      if (whole.has(formatGvk(gvk))) continue
      const found = await find(gvk, further.includes(gvk))
      if (found !== undefined) owners.push(found)
    }
    watched.push({ kind, resource, owners })
  }
  return { watched, unresolved: [...unresolved.values()] }
}

const detailOf = (answer: Exclude<Discovery, { tag: "found" }>): string => {
  if (answer.tag !== "failed") return answer.detail
  const { code, reason, message } = answer.status
  return code === 401 ? `HTTP 401 ${reason}: ${message}` : message
}
