/**
 * A recording as the items of a trace: the state at the start, then every change and gap, then the lifecycles of pods if Pods are not recorded. What happens to be recorded while it is read is
 * not part of it. Memory is that of {@link ArchiveReader.snapshotAt} and {@link ArchiveReader.events}.
 */
import {
  type IncompletePart,
  inDependencyOrder,
  namespacedName,
  type OwnedLifecycles,
  type OwnerReference,
  type PodLifecycle,
  podKind,
  podLivesKind,
  type TraceItem,
} from "../trace/index.ts"
import type { ArchiveReader } from "./archive-reader.ts"
import { openedWindow } from "./reading/first-lists.ts"
import type { KindState } from "./rows/kind-table.ts"
import type { PodLifeSelection, RecordedPodLife } from "./rows/pod-table.ts"

/** µs since the Unix epoch. */
export interface RecordedWindow {
  /** Inclusive. Default: the beginning of the recording, whose first lists are the state at it. */
  readonly from: number | undefined
  /** Exclusive. Default: up to when the recording is known to be complete. */
  readonly to: number | undefined
}

/**
 * The header's window is that of the whole recording, so that a reader can tell whether it
 * has what was requested. Bytes in items are valid until the next item is taken. Throws CorruptArchiveError and ArchiveIoError.
 */
export function* recordedTrace(
  reader: ArchiveReader,
  { from, to = Number.MAX_SAFE_INTEGER }: RecordedWindow,
): Generator<TraceItem, void, void> {
  const cut = reader.cut()
  const { minTime, maxTime } = reader.summary()
  const all = reader.kinds()
  const kinds = all.filter(({ gvk }) => gvk !== podLivesKind)
  const hasLifecycles = kinds.length < all.length && kinds.every(({ gvk }) => gvk !== podKind)
  const lists = reader.firstLists()
  const begin = lists?.begin ?? minTime
  const end = Math.max(maxTime + 1, ...kinds.map(completeTimeOf))
  const untilTime = Math.min(to, end)
  const { start, listed } = openedWindow(lists, from ?? begin, untilTime)
  const late = reader.lateRanges({ cut, fromTime: start, untilTime, kinds: kinds.map(({ gvk }) => gvk) })
  const clusterUid = reader.metadata().get("clusterUid")
  yield {
    type: "header",
    window: { start: begin, end },
    cut,
    kinds: kinds.map(({ gvk }) => gvk),
    incomplete: kinds.flatMap((kind) =>
      lists?.kinds.has(kind.gvk) && start === begin ? [] : (lackingOf(kind, start, end) ?? []),
    ),
    ...(clusterUid !== undefined && { clusterUid }),
    ...(hasLifecycles && { hasLifecycles }),
    ...(late.length > 0 && { late }),
  }
  for (const gvk of inDependencyOrder(kinds.map((kind) => kind.gvk)))
    for (const event of reader.snapshotAt({ cut, time: start, kinds: [gvk], listed }))
      yield { type: "event", event, isSnapshot: true }
  for (const event of reader.events({ cut, fromTime: start, untilTime, listed }))
    yield { type: "event", event, isSnapshot: false }
  if (hasLifecycles)
    for (const owned of recordedLifecycles(reader, { cut, untilTime })) yield { type: "lifecycles", ...owned }
}

/** When the first list of a kind was complete, of one that is recorded namespace by namespace the last of its first lists; 0: not yet. */
const sinceOf = ({ recordedSince, namespaces }: KindState): number => {
  if (recordedSince !== 0 || namespaces.length === 0) return recordedSince
  const all = namespaces.map((each) => each.recordedSince)
  return all.includes(0) ? 0 : Math.max(...all)
}

const completeTimeOf = ({ completeThroughTime, namespaces }: KindState): number =>
  Math.max(completeThroughTime, ...namespaces.map(({ completeTime }) => completeTime))

/** In the words that exports use: `unrecorded`, or `recorded-START/END`. */
const lackingOf = (kind: KindState, start: number, end: number): IncompletePart | undefined => {
  const { gvk } = kind
  const complete = sinceOf(kind)
  if (complete === 0 || complete >= end) return { gvk, state: "unrecorded" }
  if (complete <= start) return undefined
  const [since, until] = [complete, end].map((micros) => new Date(micros / 1000).toISOString())
  return { gvk, state: `recorded-${since}/${until}` }
}

/** A chain that is longer is a circle. */
const deepestChain = 8

/**
 * The lifecycles that a recording has of pods, each under the uppermost owner of which it knows. For readers without the Pods themselves, which show
 * more. One pod at a time, in the order in which they first ran.
 */
function* recordedLifecycles(
  reader: Pick<ArchiveReader, "podLives" | "ownersOf">,
  selection: PodLifeSelection,
): Generator<OwnedLifecycles, void> {
  for (const life of reader.podLives(selection)) {
    const { specHash, start, end } = life
    const lifecycle: PodLifecycle = end === undefined ? { state: "running", start } : { state: "finished", start, end }
    yield { ...uppermost(reader, life, selection.untilTime), pods: new Map([[specHash, [lifecycle]]]) }
  }
}

const uppermost = (
  reader: Pick<ArchiveReader, "ownersOf">,
  { namespace, name, ownerReferences }: RecordedPodLife,
  time: number | undefined,
): { readonly gvk: string; readonly owner: string } => {
  let place = { gvk: podKind, owner: namespacedName(namespace, name) }
  let owner = controllerIn(ownerReferences)
  for (let depth = 0; owner !== undefined && depth < deepestChain; depth++) {
    const edge = reader.ownersOf(owner, time)
    const at = edge === undefined || edge.source === "gone" ? namespace : edge.namespace
    place = { gvk: `${owner.apiVersion}.${owner.kind}`, owner: namespacedName(at, owner.name) }
    owner = edge && controllerIn(edge.ownerReferences)
  }
  return place
}

const controllerIn = (references: ReadonlyArray<OwnerReference>): OwnerReference | undefined =>
  references.find(({ controller }) => controller)
