/**
 * Chooses the watcher that follows pod lifecycles.
 *
 * It is the watcher of `v1.Pod`, so that there is one stream of pods and one resume point, unless Pods are not recorded or that watcher
 * does not see all pods whose owners are tracked, because of selectors or because it is restricted to other namespaces. Then a separate
 * watcher watches pods for their lifecycles only.
 */
import { podKind, podLivesKind } from "../../trace/index.ts"
import type { TrackedKind } from "../configuration/tracked-kind.ts"

/** What is watched: the kinds of the configuration, and possibly pods for their lifecycles only. */
export interface WatchedKinds {
  readonly kinds: ReadonlyArray<TrackedKind>
  /** The kind whose watcher follows pod lifecycles; `undefined` if no kind tracks them. */
  readonly podStream: string | undefined
}

export const watchedKinds = (kinds: ReadonlyArray<TrackedKind>): WatchedKinds => {
  const tracking = kinds.filter((kind) => kind.trackLifecycle)
  if (tracking.length === 0) return { kinds, podStream: undefined }
  const namespaces = unionOf(tracking)
  const pods = kinds.find((kind) => kind.gvkText === podKind)
  if (pods !== undefined && seesAll(pods, namespaces)) return { kinds, podStream: podKind }
  // They are split as Pods are, or not at all.
  const [{ shard } = {}] = tracking
  const lives = { ...livesOnly(namespaces, redactionOfPods(tracking)), ...(shard !== undefined && { shard }) }
  return { kinds: [...kinds, lives], podStream: podLivesKind }
}

/** The namespaces of all these kinds, since pods live in the namespaces of their owners; `undefined`: all namespaces. */
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

/**
 * A lifecycle has a hash of the pod's spec, which must be that of the pod as its owner's template would make it: with the same values replaced.
 * The rules for what a spec contains are the same for every kind that has pods.
 */
export const redactionOfPods = (owners: ReadonlyArray<TrackedKind>): TrackedKind["redaction"] => {
  const rules = owners.flatMap(({ redaction }) => redaction ?? [])
  const { env, headers, arguments: words, addresses } = rules.find((each) => each.env.length > 0) ?? rules[0] ?? {}
  if (!addresses && [env, headers, words].every((names) => (names ?? []).length === 0)) return undefined
  return {
    ...{ secret: false, annotations: [], toolAnnotations: [], pointers: [] },
    ...{ env: env ?? [], headers: headers ?? [], arguments: words ?? [], addresses: addresses ?? false },
  }
}

const livesOnly = (
  namespaces: ReadonlyArray<string> | undefined,
  redaction: TrackedKind["redaction"],
): TrackedKind => ({
  gvk: { group: "", version: "v1", kind: "Pod" },
  gvkText: podLivesKind,
  podSpecTemplatePaths: [],
  trackLifecycle: true,
  skipOwned: false,
  keepManagedFields: true,
  // Nothing is compared, so no hashes are needed.
  detect: "all",
  ignore: [],
  ...(redaction !== undefined && { redaction }),
  ...(namespaces !== undefined && { namespaces }),
})
