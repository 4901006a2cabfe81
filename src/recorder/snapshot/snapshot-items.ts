/** Selects the items of a snapshot's trace from the listed objects: which objects are part of it, and the pods that run below them. */

import type { DiscoveredKind } from "../../kube/discovery/discovered-kinds.ts"
import { encodeTrackedObjects } from "../../trace/formats/simkube/simkube-config.ts"
import { namespacedName } from "../../trace/formats/simkube/simkube-trace.ts"
import type { OwnerReference } from "../../trace/ownership/owner-references.ts"
import type { CompiledFilters } from "../../trace/selection/filters.ts"
import type { Spool } from "../../trace/spool.ts"
import type { TraceItem } from "../../trace/trace-item.ts"
import type { TrackedKind } from "../configuration/tracked-kind.ts"
import type { SnapshotLives } from "./snapshot-lives.ts"
import type { SnapshotOwners } from "./snapshot-owners.ts"

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
