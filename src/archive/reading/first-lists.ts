/**
 * Where a recording begins. A recorder lists all its kinds when it starts, and the lists arrive one after the other, over seconds: Pods may come before
 * their ReplicaSets, and custom objects before their definitions. These first lists are the state of the cluster at one moment, the beginning.
 *
 * A kind that is recorded only from later on, because it was added to the configuration or installed in the cluster, begins when its own first list was
 * complete. It neither moves the beginning of the others nor counts as recorded since then.
 */

import { type EventTimes, podLivesKind } from "../../trace/index.ts"
import { VANISHED } from "../../wire/index.ts"
import type { BlockSource } from "../blocks/block-source.ts"
import type { StateHistory } from "../checkpoints/state-history.ts"
import type { KeptKind, KindKey } from "../rows/kind-table.ts"
import { FIRST_LISTS_KEY } from "../rows/metadata.ts"
import type { ObjectNames } from "../rows/object-rows.ts"

/**
 * µs between the ends of two lists within which they belong to one start, where the recording does not say when its first lists were complete. Lists of a
 * start end within a second of each other, unless a kind has hundreds of thousands of objects.
 */
const betweenLists = 5_000_000

/** Times are µs since the Unix epoch. */
export interface FirstLists {
  /** When the first of them was complete. */
  readonly begin: number
  /** When all of them were: the first moment at which the state of the whole cluster is known. */
  readonly whole: number
  /**
   * The kinds that are recorded since the beginning, each with the time at which its list was complete; of a kind that is recorded namespace by namespace,
   * the last of its lists. Kinds that were added later are not in it.
   */
  readonly kinds: ReadonlyMap<string, number>
  /** Those of them whose list is still in the recording: retention has removed those of the others, and keeps the state at its own beginning instead. */
  readonly listed: ReadonlySet<string>
}

/** `undefined`: no list is complete yet. `metadata`: of the recording. */
export const firstListsOf = (
  all: ReadonlyArray<Omit<KeptKind, "id">>,
  metadata: ReadonlyMap<string, string>,
): FirstLists | undefined => {
  const parts = all.filter(({ gvk }) => gvk !== podLivesKind).flatMap(partsOf)
  if (parts.length === 0) return undefined
  const lists = parts.filter(({ isKept }) => !isKept)
  const through = Number(metadata.get(FIRST_LISTS_KEY) ?? lastOfOneStart(parts))
  const listed = lists.filter(({ since }) => since <= through)
  const begin = Math.min(...parts.map(({ since }) => since))
  const whole = Math.max(begin, ...listed.map(({ since }) => since))
  const kinds = new Map<string, number>()
  for (const { gvk, since } of [...listed, ...parts.filter(({ isKept, since }) => isKept && since <= whole)])
    kinds.set(gvk, Math.max(since, kinds.get(gvk) ?? 0))
  return { begin, whole, kinds, listed: new Set(listed.map(({ gvk }) => gvk)) }
}

/** A kind, or a namespace of one that is recorded namespace by namespace, since its list was complete. */
interface ListedPart {
  readonly gvk: string
  readonly since: number
  /** It is recorded only since then because retention has removed what was before. */
  readonly isKept: boolean
}

const partsOf = ({ gvk, recordedSince, namespaces, removedThrough }: Omit<KeptKind, "id">): ReadonlyArray<ListedPart> =>
  (namespaces.length === 0 ? [recordedSince] : namespaces.map((each) => each.recordedSince))
    .filter((since) => since !== 0)
    .map((since) => ({ gvk, since, isKept: removedThrough > 0 && since === removedThrough + 1 }))

const lastOfOneStart = (parts: ReadonlyArray<ListedPart>): number => {
  const [first = 0, ...others] = parts.map(({ since }) => since).toSorted((one, other) => one - other)
  let last = first
  for (const time of others) if (time <= last + betweenLists) last = time
  return last
}

/** A window of a recording as it is read. */
export interface OpenedWindow {
  /** µs since the Unix epoch: that of the request, or the beginning of the recording if that is later. */
  readonly start: number
  /** Kinds whose first list was complete only after the start, with the time at which it was: its objects are part of the state at the start. */
  readonly listed: ReadonlyMap<string, number>
}

/** `fromTime` inclusive, `untilTime` exclusive, µs since the Unix epoch. `lists`: `undefined` if no list is complete. */
export const openedWindow = (lists: FirstLists | undefined, fromTime: number, untilTime: number): OpenedWindow => {
  if (lists === undefined || lists.begin >= untilTime) return { start: fromTime, listed: new Map() }
  const start = Math.max(fromTime, lists.begin)
  const isListedLater = ([gvk, since]: readonly [string, number]): boolean =>
    lists.listed.has(gvk) && since >= start && since < untilTime
  return { start, listed: new Map([...lists.kinds].filter(isListedLater)) }
}

// The objects of a kind in a window: those alive at its start, and those that change in it.
//
// Reads tables of contents only. Memory: one entry per object.

/** Times are µs since the Unix epoch. */
export interface WindowLimits {
  /** Last sequence number to read. */
  readonly cut: number
  /** Inclusive. */
  readonly fromTime: number
  /** Exclusive. */
  readonly untilTime: number
  /** Which times the window has. Default: when events happened. */
  readonly times?: EventTimes
}

/**
 * By UID the sequence number of the object's last event in the window that carries its bytes, or of its state at the start.
 *
 * @throws CorruptArchiveError, ArchiveIoError
 */
export const presentObjects = (
  source: BlockSource,
  history: StateHistory,
  names: ObjectNames,
  kind: KindKey,
  { cut, fromTime, untilTime, times = "happened" }: WindowLimits,
): ReadonlyMap<string, number> => {
  const sequences = new Map<number, number>()
  const alive = history.aliveAt(kind, { throughSequence: cut, beforeTime: fromTime, times })
  for (let index = 0; index < alive.count; index++) {
    sequences.set(alive.numbers[index] as number, alive.sequences[index] as number)
  }
  reading: for (const frame of source.framesOf(kind, 0, fromTime, times)) {
    for (let index = 0; index < frame.events.count; index++) {
      const time = frame.timeIn(times, index)
      if (frame.sequence(index) > cut || time >= untilTime) break reading
      if (time < fromTime || frame.events.action(index) === VANISHED) continue
      sequences.set(frame.events.objectNumber(index), frame.sequence(index))
    }
  }
  const present = new Map<string, number>()
  const numbers = [...sequences.keys()].sort((left, right) => left - right)
  for (const number of numbers) present.set(names.nameOf(kind.id, number).uid, sequences.get(number) as number)
  return present
}
