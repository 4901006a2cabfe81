/**
 * Reads a recording, also while it is being written, in its own process or thread.
 *
 * Everything is read up to a cut, a sequence number: what precedes it never changes, so any number of readers see the same recording
 * without holding a transaction. Each statement is its own short transaction; a reader that stops midway holds nothing but memory. Results
 * are streamed: memory is bounded by the caches, one table of contents per kind and, for snapshots, 41 bytes per object alive in one kind.
 *
 * A damaged block of events is a gap of its kinds ({@link ArchiveReader.gaps}), and everything else is read. Every method may throw
 * CorruptArchiveError (something else is damaged, and nothing that depends on it can be read) and ArchiveIoError, and RetentionOutranError if
 * retention removes what is being read, which a lease prevents (leases/lease.ts).
 */

import type { DatabaseSync } from "node:sqlite"
import {
  type EventTimes,
  type GapEvent,
  type JsonObject,
  type LateChanges,
  metadataOf,
  type ObjectEvent,
  type OwnerReference,
  type TraceEvent,
} from "../trace/index.ts"
import { BlockSource, type BlockSourceOptions } from "./blocks/block-source.ts"
import { listedObjects, mergeEvents, readEvent } from "./blocks/event-merge.ts"
import { bytesOfBlob } from "./blocks/far-blobs.ts"
import { LastStates } from "./checkpoints/last-states.ts"
import { ATTEMPTS, StateHistory } from "./checkpoints/state-history.ts"
import { WindowDamage } from "./damage/window-damage.ts"
import { RecordingDisturbedError, RetentionOutranError, reading, toArchiveError } from "./directory/archive-errors.ts"
import { type FirstLists, firstListsOf, type OpenedWindow } from "./reading/first-lists.ts"
import { presentObjects, type WindowLimits } from "./reading/window-objects.ts"
import { type LateSelection, readGaps, readLateRanges } from "./rows/gap-rows.ts"
import { type KeptKind, readKeptKinds } from "./rows/kind-table.ts"
import { KnownOwners, type OwnerChange, type OwnerEdge } from "./rows/known-owners.ts"
import { readMetadata } from "./rows/metadata.ts"
import { ObjectNames } from "./rows/object-rows.ts"
import { type PodLifeSelection, type RecordedPodLife, readPodLives } from "./rows/pod-table.ts"
import { prepare, rowsInPages, type Statement } from "./tables/database.ts"
import { isBeingWritten } from "./tables/reading-access.ts"
import { lastSequenceOf, openForReading } from "./tables/schema.ts"

/** Which events to read. Times are µs since the Unix epoch. */
export interface EventSelection {
  /** Last sequence number to read. Default: everything durable now. */
  readonly cut?: number
  /** Inclusive. Default: from the beginning. */
  readonly fromTime?: number
  /** Exclusive. Default: to the end. */
  readonly untilTime?: number
  /** `apps/v1.Deployment` …; unknown ones have no events. Default: all. */
  readonly kinds?: Iterable<string>
  /** Which times the window and its events have. Default: when they happened. */
  readonly times?: EventTimes
  /** Kinds whose first list belongs to the state at the start ({@link OpenedWindow}), so that only their changes are read, from the first on. Default: none. */
  readonly listed?: OpenedWindow["listed"]
  /** µs since the Unix epoch: gaps are read of the window from here on. Default: `fromTime`. */
  readonly gapsFrom?: number
}

/** The moment to read. */
export interface SnapshotSelection {
  readonly cut?: number
  /** µs since the Unix epoch: the state just before this moment, so that `events({fromTime: time})` follows it seamlessly. */
  readonly time: number
  readonly kinds?: Iterable<string>
  /** Which times `time` and the objects' events have. Default: when they happened. */
  readonly times?: EventTimes
  /** Kinds whose state is their first list ({@link OpenedWindow}), although that was complete later. Default: none. */
  readonly listed?: OpenedWindow["listed"]
}

/** One block as its row describes it. Times are µs since the Unix epoch, sizes bytes. */
export interface BlockInfo {
  readonly firstSequence: number
  readonly lastSequence: number
  readonly minTime: number
  readonly maxTime: number
  readonly events: number
  readonly payloadBytes: number
  /** Size on disk of its table of contents and its objects. */
  readonly storedBytes: number
  /** False for the parts of the block that is still open. */
  readonly isSealed: boolean
}

/** What a recording covers. */
export interface RecordingSummary {
  readonly events: number
  readonly gaps: number
  /** µs since the Unix epoch; 0 without events. */
  readonly minTime: number
  readonly maxTime: number
}

const NEVER = Number.MAX_SAFE_INTEGER

const PAGE_ROWS = 256

/** Read-only view of one recording. Use {@link ArchiveReader.open}. */
export class ArchiveReader {
  readonly directory: string
  readonly #database: DatabaseSync
  readonly #source: BlockSource
  readonly #names: ObjectNames
  readonly #history: StateHistory
  readonly #lastStates: LastStates
  readonly #damage: WindowDamage
  readonly #knownKinds = new Map<string, KeptKind>()
  readonly #blocks: Statement<Omit<BlockInfo, "isSealed"> & { readonly sealed: number }>
  readonly #summary: Statement<RecordingSummary>
  readonly #owners: KnownOwners
  readonly #isAlone: boolean

  /**
   * Opens a recording, finished or being written, in a directory of anyone's; changes nothing in it.
   *
   * @throws NotARecordingError, NewerRecordingError, OlderRecordingError, ArchiveIoError, CorruptArchiveError
   */
  static open(directory: string, options: BlockSourceOptions = {}): ArchiveReader {
    const isAlone = !isBeingWritten(directory)
    const database = openForReading(directory)
    try {
      return new ArchiveReader(directory, database, options, isAlone)
    } catch (error) {
      database.close()
      throw toArchiveError(directory, "open", error)
    }
  }

  private constructor(directory: string, database: DatabaseSync, options: BlockSourceOptions, isAlone: boolean) {
    this.#isAlone = isAlone
    this.directory = directory
    this.#database = database
    this.#source = new BlockSource(database, directory, options)
    this.#names = new ObjectNames(database, directory, () => this.#source.ifOutran())
    this.#history = new StateHistory(database, this.#source, directory)
    this.#lastStates = new LastStates(this.#source, this.#history)
    this.#damage = new WindowDamage(database, this.#source, this.#history, directory)
    this.#owners = new KnownOwners(database, directory)
    this.#blocks = prepare(
      database,
      `SELECT first_sequence AS firstSequence, last_sequence AS lastSequence, min_time AS minTime, max_time AS maxTime, events,
        data_size AS payloadBytes, ${bytesOfBlob("toc")} + ${bytesOfBlob("data")} AS storedBytes, sealed
      FROM block WHERE last_sequence >= ? ORDER BY last_sequence LIMIT ${PAGE_ROWS}`,
    )
    this.#summary = prepare(
      database,
      `SELECT coalesce(sum(events), 0) AS events, (SELECT count(*) FROM gap) AS gaps,
        coalesce(min(min_time), 0) AS minTime, coalesce(max(max_time), 0) AS maxTime
      FROM block_kind`,
    )
  }

  /** Sequence number of the last durable event or gap, 0 if there is none. */
  cut(): number {
    return this.#reading(() => lastSequenceOf(this.#database))
  }

  summary(): RecordingSummary {
    const nothing: RecordingSummary = { events: 0, gaps: 0, minTime: 0, maxTime: 0 }
    return { ...nothing, ...this.#reading(() => this.#summary.get()) }
  }

  /**
   * Every kind that was recorded, with the state from which its watcher would resume. `recordedSince` is not before what retention has removed, up to
   * `removedThrough`; a window that begins earlier begins with the state there.
   */
  kinds(): ReadonlyArray<Omit<KeptKind, "id">> {
    return this.#kinds().map(({ id: _, ...state }) => state)
  }

  /** Where the recording begins: with its first event while no list is complete. `undefined`: there is nothing. */
  firstLists(): FirstLists | undefined {
    const lists = firstListsOf(this.kinds(), this.metadata())
    const { minTime } = this.summary()
    if (lists !== undefined || minTime === 0) return lists
    return { begin: minTime, whole: minTime, kinds: new Map(), listed: new Set() }
  }

  metadata(): ReadonlyMap<string, string> {
    return this.#reading(() => readMetadata(this.#database))
  }

  /** Blocks that hold events from `fromSequence` on, in order. A part may appear as the sealed block that has replaced it meanwhile. */
  *blocks(
    range: { readonly fromSequence?: number; readonly throughSequence?: number } = {},
  ): Generator<BlockInfo, void, void> {
    const { fromSequence = 0, throughSequence = NEVER } = range
    const page = (last: Pick<BlockInfo, "lastSequence"> | undefined) =>
      this.#reading(() => this.#blocks.all(last === undefined ? fromSequence : last.lastSequence + 1))
    for (const { sealed, ...block } of rowsInPages(PAGE_ROWS, page)) {
      if (block.firstSequence > throughSequence) return
      yield { ...block, isSealed: sealed !== 0 }
    }
  }

  /**
   * Gaps that overlap a window, including those closed after it, ordered by the time at which they were closed. What is damaged of all that
   * {@link events} and {@link snapshotAt} would read is a gap, so all of it is checked.
   */
  gaps(selection: EventSelection = {}): ReadonlyArray<GapEvent> {
    const cut = Math.min(selection.cut ?? NEVER, this.cut())
    const { fromTime = 0, untilTime = NEVER, times = "happened" } = selection
    const kinds = this.#kinds(selection.kinds)
    const names = new Set(kinds.map(({ gvk }) => gvk))
    const recorded = this.#reading(() => readGaps(this.#database, { cut, fromTime, untilTime }))
    const damage = kinds.flatMap((kind) =>
      this.#undisturbed(() => this.#damage.of(kind, { cut, fromTime, untilTime, times })),
    )
    const gaps = recorded.filter(({ gvk }) => names.has(gvk))
    return damage.length === 0 ? gaps : [...gaps, ...damage].sort(byTime)
  }

  /** Changes that were received later than they happened, as far as that may concern a window. */
  lateRanges(
    selection: Partial<LateSelection> & { readonly kinds?: Iterable<string> } = {},
  ): ReadonlyArray<LateChanges> {
    const kinds = selection.kinds === undefined ? undefined : new Set(selection.kinds)
    const cut = selection.cut ?? NEVER
    const late = this.#reading(() => readLateRanges(this.#database, { ...selection, cut }))
    return kinds === undefined ? late : late.filter(({ gvk }) => kinds.has(gvk))
  }

  /**
   * Events and gaps of a window, ordered by (time, sequence); the events of one object are always in sequence order. Gaps that overlap the
   * window are always included: one that was closed after it comes last, with its own later time.
   *
   * An event's `object` is valid until the next event is read.
   */
  *events(selection: EventSelection = {}): Generator<TraceEvent, void, void> {
    const cut = Math.min(selection.cut ?? NEVER, this.cut())
    const { fromTime = 0, untilTime = NEVER, times = "happened", listed = new Map() } = selection
    const kinds = this.#kinds(selection.kinds)
    const gaps = this.gaps({ ...selection, cut, fromTime: selection.gapsFrom ?? fromTime })
    let next = 0
    for (const event of mergeEvents(this.#source, this.#names, kinds, { cut, fromTime, untilTime, times, listed })) {
      for (let gap = gaps[next]; gap !== undefined && precedes(gap, event); gap = gaps[++next]) yield gap
      yield event
    }
    yield* gaps.slice(next)
  }

  /**
   * The last state of every object alive just before `time`, in sequence order, kind by kind: its last `applied` event with that event's
   * own time, or with `time` if its kind was listed later. Objects are fetched block by block; each event's `object` is valid until the next one is
   * read. Those in damaged blocks are left out; {@link gaps} names the blocks.
   */
  *snapshotAt(selection: SnapshotSelection): Generator<ObjectEvent, void, void> {
    const throughSequence = Math.min(selection.cut ?? NEVER, this.cut())
    const { time: beforeTime, times = "happened" } = selection
    for (const kind of this.#kinds(selection.kinds)) {
      const through = selection.listed?.get(kind.gvk)
      if (through !== undefined) {
        const list = listedObjects(this.#source, this.#names, kind, { cut: throughSequence, through, times })
        for (const event of list) yield { ...event, time: Math.min(event.time, beforeTime) }
        continue
      }
      const limit = { throughSequence, beforeTime, times }
      const alive = this.#source.passingOverDamage(() => this.#history.aliveAt(kind, limit))
      const sequences = alive.sequences.slice(0, alive.count).sort()
      for (const sequence of this.#damage.readable(kind, sequences))
        yield readEvent(this.#source, this.#names, kind, sequence, times)
    }
  }

  /**
   * The event that carries the object's last state before another event, such as its `vanished`, for instance to learn its labels.
   * `undefined` if the recording never saw the object, or its block is damaged. Its `object` is valid until other blocks are read.
   */
  lastStateBefore(event: ObjectEvent): ObjectEvent | undefined {
    const kind = this.#kindOf(event.gvk)
    if (kind === undefined) return undefined
    const { frame, index } = this.#source.eventAt(event.sequence)
    const number = frame.events.objectNumber(index)
    const sequence = this.#source.passingOverDamage(() => this.#lastStates.sequenceBefore(kind, number, event.sequence))
    return sequence === undefined || !this.#damage.isReadable(kind, sequence)
      ? undefined
      : readEvent(this.#source, this.#names, kind, sequence)
  }

  /** The lifecycles of all pods that were seen to run up to a cut, each UID once, in the order in which they were first seen. */
  podLives(selection: PodLifeSelection): Iterable<RecordedPodLife> {
    return readPodLives(this.#database, this.directory, selection)
  }

  /**
   * What is known now of the owners of the referenced object, recorded or not, just before `time`, µs since the Unix epoch; by default at the
   * end of the recording. `undefined` if nothing is.
   */
  ownersOf(
    owner: Pick<OwnerReference, "apiVersion" | "kind" | "uid">,
    time = NEVER,
    times: EventTimes = "happened",
  ): OwnerEdge | undefined {
    return this.#owners.of(owner, time, times)
  }

  /** The recorded objects but pods whose owners others replaced in a window, in order of time. */
  ownerChanges(fromTime: number, untilTime: number, times: EventTimes = "happened"): ReadonlyArray<OwnerChange> {
    return this.#owners.changesIn(fromTime, untilTime, times)
  }

  /** The objects of a kind in a window: by UID, the sequence number of the last event that carries its bytes. */
  presentObjects(gvk: string, limits: WindowLimits): ReadonlyMap<string, number> {
    const kind = this.#kindOf(gvk)
    return kind === undefined
      ? new Map()
      : this.#source.passingOverDamage(() => presentObjects(this.#source, this.#history, this.#names, kind, limits))
  }

  /** The event of that kind with that number; `undefined` if its block is damaged. */
  eventAt(gvk: string, sequence: number): ObjectEvent | undefined {
    const kind = this.#kindOf(gvk)
    return kind === undefined || !this.#damage.isReadable(kind, sequence)
      ? undefined
      : readEvent(this.#source, this.#names, kind, sequence)
  }

  /** `metadata` of the object that such an event carries; `undefined` if it has none. */
  metadataAt(gvk: string, sequence: number): JsonObject | undefined {
    const event = this.eventAt(gvk, sequence)
    return event && metadataOf(event.object)
  }

  /**
   * Call it after reading, and now and then during a long one, of a directory in which a recorder may start: a reader that was opened while
   * there was none does not follow its changes.
   *
   * @throws RecordingDisturbedError
   */
  requireUndisturbed(): void {
    if (this.#isAlone && isBeingWritten(this.directory))
      throw new RecordingDisturbedError({ directory: this.directory })
  }

  close(): void {
    this.#database.close()
  }

  /** A recorder never deletes rows of kinds, and a mirror that is made anew of the same stream has them with the same numbers, so cached ones remain valid. */
  #kindOf(gvk: string): KeptKind | undefined {
    const known = this.#knownKinds.get(gvk)
    if (known !== undefined) return known
    for (const kind of this.#kinds()) this.#knownKinds.set(kind.gvk, kind)
    return this.#knownKinds.get(gvk)
  }

  #kinds(wanted?: Iterable<string>): ReadonlyArray<KeptKind> {
    const kinds = this.#reading(() => readKeptKinds(this.#database))
    if (wanted === undefined) return kinds
    const names = new Set(wanted)
    return kinds.filter(({ gvk }) => names.has(gvk))
  }

  /** Reads again if retention moved the beginning, which may still be before everything that is asked for. */
  #undisturbed<Answer>(read: () => Answer): Answer {
    for (let attempt = 1; ; attempt++) {
      try {
        return read()
      } catch (error) {
        if (!(error instanceof RetentionOutranError) || attempt === ATTEMPTS) throw error
      }
    }
  }

  #reading<Answer>(read: () => Answer): Answer {
    return reading(this.directory, read)
  }
}

const byTime = (one: GapEvent, other: GapEvent): number => one.time - other.time || one.sequence - other.sequence

const precedes = (gap: GapEvent, event: ObjectEvent): boolean =>
  gap.time < event.time || (gap.time === event.time && gap.sequence < event.sequence)
