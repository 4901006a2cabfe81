/**
 * Which watcher follows the lives of pods.
 *
 * The one of `v1.Pod`, so that there is one stream of pods and one resume point. It cannot be that one if Pods are not
 * recorded, or if it does not get to see all pods whose owners are to be tracked: because of selectors, or because it is
 * confined to other namespaces. Then a watcher of its own watches pods for their lives alone.
 */
import { podKind, podLivesKind } from "../../trace/pods/pod-lives-kind.ts"
import type { TrackedKind } from "../configuration/tracked-kind.ts"

/** What is watched: the kinds of the configuration, and perhaps pods for their lives alone. */
export interface WatchedKinds {
  readonly kinds: ReadonlyArray<TrackedKind>
  /** The one of them whose watcher follows the lives of pods; `undefined` if no kind asks for it. */
  readonly podStream: string | undefined
}

export const watchedKinds = (kinds: ReadonlyArray<TrackedKind>): WatchedKinds => {
  const tracking = kinds.filter((kind) => kind.trackLifecycle)
  if (tracking.length === 0) return { kinds, podStream: undefined }
  const namespaces = unionOf(tracking)
  const pods = kinds.find((kind) => kind.gvkText === podKind)
  if (pods !== undefined && seesAll(pods, namespaces)) return { kinds, podStream: podKind }
  return { kinds: [...kinds, livesOnly(namespaces)], podStream: podLivesKind }
}

/** Pods live in the namespaces of their owners. `undefined`: in any. */
const unionOf = (kinds: ReadonlyArray<TrackedKind>): ReadonlyArray<string> | undefined => {
  const all = new Set<string>()
  for (const { namespaces } of kinds) {
    if (namespaces === undefined) return undefined
    for (const namespace of namespaces) all.add(namespace)
  }
  return [...all].sort()
}

const seesAll = (pods: TrackedKind, wanted: ReadonlyArray<string> | undefined): boolean => {
  if (pods.labelSelector !== undefined || pods.fieldSelector !== undefined) return false
  const { namespaces } = pods
  return namespaces === undefined || wanted?.every((each) => namespaces.includes(each)) === true
}

const livesOnly = (namespaces: ReadonlyArray<string> | undefined): TrackedKind => ({
  gvk: { group: "", version: "v1", kind: "Pod" },
  gvkText: podLivesKind,
  podSpecTemplatePaths: [],
  trackLifecycle: true,
  skipOwned: false,
  keepManagedFields: true,
  // Nothing is compared, so nothing need be hashed.
  detect: "all",
  ignore: [],
  ...(namespaces !== undefined && { namespaces }),
})
