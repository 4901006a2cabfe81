/** Selects the items of a snapshot's trace from the listed objects: which objects are part of it, and the pods that run below them. */

import { type DiscoveredKind, discover, type HttpClient, objectPath, requestOnce } from "../../kube/index.ts"
import { parseGvk } from "../../kube/offline.ts"
import {
  type CompiledFilters,
  encodeTrackedObjects,
  isJsonObject,
  type JsonObject,
  namespacedName,
  type OwnedLifecycles,
  type OwnerReference,
  observeLifetime,
  type PodLifecycle,
  readOwnerReferences,
  type Spool,
  stablePodSpecHash,
  type TraceItem,
} from "../../trace/index.ts"
import type { TrackedKind } from "../configuration/tracked-kind.ts"

/** What to include in a snapshot. */
export interface SnapshotOrder {
  readonly kinds: ReadonlyArray<TrackedKind>
  /** The kinds instead of `kinds`, if they depend on those of the server. */
  readonly every?: (discovered: ReadonlyArray<DiscoveredKind>) => ReadonlyArray<TrackedKind>
  readonly filters: CompiledFilters
  /** Whether objects that another object of the trace owns are left out. */
  readonly excludeOwned: boolean
  readonly excludeDaemonSetOwned: boolean
}

/** A kind that is not in the snapshot, and why. `isRefused`: the credentials lack a permission. */
export interface MissingKind {
  readonly gvk: string
  readonly state: "forbidden" | "waiting" | "failing"
  readonly detail: string
}

/** One object in the spool. */
export interface HeldObject {
  readonly gvk: string
  readonly uid: string
  readonly namespace: string
  readonly name: string
  readonly resourceVersion: string
  readonly owners: ReadonlyArray<OwnerReference>
  readonly length: number
  readonly isExcluded: boolean
}

/** The listed objects. */
interface ListedObjects {
  readonly order: SnapshotOrder
  readonly held: ReadonlyArray<HeldObject>
  readonly owners: SnapshotOwners
  readonly lives: SnapshotLives | undefined
  readonly missing: ReadonlyArray<MissingKind>
  readonly time: number
  /** UID of namespace kube-system; `undefined` if it may not be read. */
  readonly clusterUid: string | undefined
  readonly spool: Spool
}

/** The trace: one batch with every object that is part of it, then the pod lifecycles. */
export async function* itemsOf({
  order,
  held,
  owners,
  lives,
  missing,
  time,
  clusterUid,
  spool,
}: ListedObjects): AsyncGenerator<TraceItem, void> {
  const written = await chosen(order, held, owners)
  const kinds = order.kinds.map(({ gvkText }) => gvkText)
  const incomplete = missing.map(({ gvk, state }) => ({ gvk, state }))
  // One second, as long as SimKube's own snapshots last.
  const window = { start: time, end: time + 1_000_000 }
  const identity = clusterUid === undefined ? {} : { clusterUid }
  yield { type: "header", window, cut: written.size, kinds, incomplete, ...identity }
  yield { type: "config", config: Buffer.from(JSON.stringify({ trackedObjects: trackedObjects(order.kinds) })) }
  yield { type: "batch", time }
  let sequence = 0
  const objects = slices(
    spool,
    held.map(({ length }) => length),
  )
  for (const entry of held) {
    const { value: object } = objects.next()
    if (object === undefined) throw new Error("the spool has lost objects")
    if (!written.has(entry)) continue
    const { gvk, uid, namespace, name, resourceVersion } = entry
    const facts = { gvk, action: "applied", uid, namespace, name, resourceVersion, object } as const
    yield { type: "event", event: { type: "object", sequence: ++sequence, time, ...facts }, isSnapshot: true }
  }
  if (lives === undefined) return
  const names = new Set([...written].map(({ gvk, namespace, name }) => `${gvk} ${namespacedName(namespace, name)}`))
  const tracked = new Set(order.kinds.filter(({ trackLifecycle }) => trackLifecycle).map(({ gvkText }) => gvkText))
  const isInTrace = (gvk: string, name: string): boolean => names.has(`${gvk} ${name}`)
  const startSeconds = Math.floor(time / 1_000_000)
  for await (const owned of lives.grouped({ owners, tracked, isInTrace, startSeconds }))
    yield { type: "lifecycles", ...owned }
}

/** The objects that are part of the trace. */
const chosen = async (
  { excludeOwned, excludeDaemonSetOwned }: SnapshotOrder,
  held: ReadonlyArray<HeldObject>,
  owners: SnapshotOwners,
): Promise<ReadonlySet<HeldObject>> => {
  const candidates = held.filter(
    ({ isExcluded, owners: direct }) =>
      !isExcluded && !(excludeDaemonSetOwned && direct.some(({ kind }) => kind === "DaemonSet")),
  )
  if (!excludeOwned) return new Set(candidates)
  // An object owned by one that is itself left out as owned is below the outermost owner as well.
  const uids = new Set(candidates.map(({ uid }) => uid))
  const kept = new Set<HeldObject>()
  for (const entry of candidates)
    if (!(await owners.isBelow(entry.owners, entry.namespace, (uid) => uids.has(uid), entry.uid))) kept.add(entry)
  return kept
}

/** In the form of SimKube's configuration. */
const trackedObjects = (kinds: ReadonlyArray<TrackedKind>): Record<string, unknown> => {
  const tracked = new Map(
    kinds.map(({ gvkText, podSpecTemplatePaths, trackLifecycle, skipOwned }) => [
      gvkText,
      { podSpecTemplatePaths, trackLifecycle, skipOwned: skipOwned !== false },
    ]),
  )
  const { entries } = encodeTrackedObjects(tracked)
  return Object.fromEntries([...entries].map(([gvk, entry]) => [gvk, Object.fromEntries(entry)]))
}

/** Cuts the content of a spool into pieces of these lengths, each copied into memory of its own. */
function* slices(spool: Spool, lengths: ReadonlyArray<number>): Generator<Uint8Array> {
  const pieces = spool.read()[Symbol.iterator]()
  let rest: Uint8Array = new Uint8Array(0)
  for (const length of lengths) {
    const slice = new Uint8Array(length)
    for (let filled = 0; filled < length; ) {
      if (rest.length === 0) {
        const next = pieces.next()
        if (next.done === true) return
        rest = next.value
      }
      const part = rest.subarray(0, length - filled)
      slice.set(part, filled)
      filled += part.length
      rest = rest.subarray(part.length)
    }
    yield slice
  }
}

// The lifecycles of the pods that run when a snapshot is taken, for SimKube's format: grouped by the first owner in the trace that tracks
// them (the pod itself if it has none), then by the hash of the pod's stable spec. They begin with the trace, as in SimKube; pods that have
// ended by then are omitted.

interface RunningPod {
  readonly namespace: string
  readonly name: string
  readonly owners: ReadonlyArray<OwnerReference>
  readonly hash: bigint
}

/** The facts of the trace that decide about lifecycles. */
interface LivesInTrace {
  readonly owners: SnapshotOwners
  /** Kinds with `trackLifecycle`. */
  readonly tracked: ReadonlySet<string>
  /** Whether the trace holds `namespace/name` (or `name`) of a kind. */
  readonly isInTrace: (gvk: string, name: string) => boolean
  /** Unix seconds at which the trace begins. */
  readonly startSeconds: number
}

/** Memory: one entry per running pod. */
export class SnapshotLives {
  readonly #pods: RunningPod[] = []

  /** Adds a pod, if it runs. */
  observe(pod: JsonObject, namespace: string, name: string, owners: ReadonlyArray<OwnerReference>): void {
    const { spec, status } = pod
    const containers = isJsonObject(spec) && Array.isArray(spec.containers) ? spec.containers.length : undefined
    const observed = observeLifetime(status, () => containers)
    if (typeof observed === "string" || observed.start === undefined || observed.end !== undefined) return
    this.#pods.push({ namespace, name, owners, hash: stablePodSpecHash(spec) })
  }

  /** The lifecycles, grouped; unknown owners are looked up. */
  async *grouped(trace: LivesInTrace): AsyncGenerator<OwnedLifecycles, void> {
    const groups = new Map<string, { gvk: string; owner: string; pods: Map<bigint, PodLifecycle[]> }>()
    for (const pod of this.#pods) {
      const found = await ownerOf(pod, trace)
      if (found === undefined) continue
      const key = `${found.gvk} ${found.owner}`
      const group = groups.get(key) ?? { ...found, pods: new Map<bigint, PodLifecycle[]>() }
      groups.set(key, group)
      const lives = group.pods.get(pod.hash) ?? []
      group.pods.set(pod.hash, lives)
      // Lifecycles that began before the trace begin with it, as in SimKube's own exports.
      lives.push({ state: "running", start: trace.startSeconds })
    }
    yield* groups.values()
  }
}

const ownerOf = async (
  { namespace, name, owners: direct }: RunningPod,
  { owners, tracked, isInTrace }: LivesInTrace,
): Promise<{ readonly gvk: string; readonly owner: string } | undefined> => {
  if (direct.length === 0) {
    const owner = namespacedName(namespace, name)
    return tracked.has("v1.Pod") && isInTrace("v1.Pod", owner) ? { gvk: "v1.Pod", owner } : undefined
  }
  for await (const reference of owners.chain(direct, namespace)) {
    const gvk = `${reference.apiVersion}.${reference.kind}`
    if (!tracked.has(gvk)) continue
    for (const owner of [namespacedName(namespace, reference.name), reference.name])
      if (isInTrace(gvk, owner)) return { gvk, owner }
  }
  return undefined
}

// Determines which objects of a snapshot are owned, directly or not, by another object of it. Owners that were not listed are looked up,
// each once.

/** The known owners of each object. */
export class SnapshotOwners {
  readonly #client: Pick<HttpClient, "get">
  readonly #signal: AbortSignal
  /** UID of an object → its owners. */
  readonly #owners = new Map<string, ReadonlyArray<OwnerReference>>()
  /** Owners that could not be looked up, by UID. */
  readonly #unknown = new Map<string, string>()

  constructor(client: Pick<HttpClient, "get">, signal: AbortSignal) {
    this.#client = client
    this.#signal = signal
  }

  /** Adds a listed object. */
  learn(uid: string, owners: ReadonlyArray<OwnerReference>): void {
    if (uid !== "") this.#owners.set(uid, owners)
  }

  /** Owners that could not be looked up, for people. Their objects are treated as not owned. */
  get unknown(): ReadonlyArray<string> {
    return [...this.#unknown.values()]
  }

  /**
   * Whether a direct or indirect owner is wanted (`isWanted`) and is not itself owned by the object, whose UID is `own`: no owner outside
   * of a circle would create its members again.
   */
  async isBelow(
    owners: ReadonlyArray<OwnerReference>,
    namespace: string,
    isWanted: (uid: string) => boolean,
    own: string,
  ): Promise<boolean> {
    for await (const owner of this.chain(owners, namespace))
      if (isWanted(owner.uid) && owner.uid !== own && !(await this.#isBelow(owner, namespace, own))) return true
    return false
  }

  async #isBelow(owner: OwnerReference, namespace: string, uid: string): Promise<boolean> {
    for await (const each of this.chain(await this.#ownersOf(owner, namespace), namespace))
      if (each.uid === uid) return true
    return false
  }

  /** All owners, nearest first, each once, so that circles terminate. */
  async *chain(owners: ReadonlyArray<OwnerReference>, namespace: string): AsyncGenerator<OwnerReference, void> {
    const seen = new Set<string>()
    for (let level = owners; level.length > 0; ) {
      const next: OwnerReference[] = []
      for (const owner of level) {
        if (seen.has(owner.uid)) continue
        seen.add(owner.uid)
        yield owner
        next.push(...(await this.#ownersOf(owner, namespace)))
      }
      level = next
    }
  }

  async #ownersOf(owner: OwnerReference, namespace: string): Promise<ReadonlyArray<OwnerReference>> {
    const known = this.#owners.get(owner.uid)
    if (known !== undefined) return known
    const found = await this.#lookUp(owner, namespace)
    if (found === undefined)
      this.#unknown.set(owner.uid, `${owner.apiVersion}.${owner.kind} ${namespace}/${owner.name}`)
    this.#owners.set(owner.uid, found ?? [])
    return found ?? []
  }

  /** `undefined` if the owner cannot be looked up. An owner that is gone, or replaced by another object of its name, has no owners. */
  async #lookUp(owner: OwnerReference, namespace: string): Promise<ReadonlyArray<OwnerReference> | undefined> {
    const gvk = parseGvk(`${owner.apiVersion}.${owner.kind}`)
    if (gvk === undefined) return undefined
    const options = { signal: this.#signal }
    const discovery = await discover(this.#client, gvk, options)
    if (discovery.tag === "absent") return []
    if (discovery.tag !== "found") return undefined
    const path = objectPath(discovery.resource, namespace, owner.name)
    const answer = await requestOnce(this.#client, path, options)
    if (answer.tag !== "response") return undefined
    if (answer.status === 404) return []
    if (answer.status !== 200) return undefined
    const { metadata } = JSON.parse(answer.body.toString("utf8")) as {
      readonly metadata?: { readonly uid?: unknown; readonly ownerReferences?: unknown }
    }
    return metadata?.uid === owner.uid ? readOwnerReferences(metadata.ownerReferences) : []
  }
}
