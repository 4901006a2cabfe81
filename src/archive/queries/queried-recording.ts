/**
 * A recording opened for questions about its past: everything that the modules of this folder read through.
 *
 * Like {@link ArchiveReader} it changes nothing, holds no transaction between two statements and may be used while a recorder writes. It is cheap to
 * open (some ms), and what it caches is bounded: open it for a question, or keep it for a series of them. Damage is passed over and remembered: each
 * answer names what of it concerned it ({@link DamageFound}). Where a recorder may remove what is old, take a lease first (leases/lease.ts): else an answer may end with
 * RetentionOutranError.
 */

import type { DatabaseSync } from "node:sqlite"
import { podLivesKind } from "../../trace/index.ts"
import { BlockSource, type BlockSourceOptions } from "../blocks/block-source.ts"
import { StateHistory } from "../checkpoints/state-history.ts"
import type { KnownIntact } from "../damage/known-intact.ts"
import { CorruptArchiveError, RecordingDisturbedError, reading, toArchiveError } from "../directory/archive-errors.ts"
import { type KeptKind, lastTimeOf, readKeptKinds } from "../rows/kind-table.ts"
import { KnownOwners } from "../rows/known-owners.ts"
import { readMetadata } from "../rows/metadata.ts"
import { ObjectNames } from "../rows/object-rows.ts"
import { prepare, rowsInPages, type Statement } from "../tables/database.ts"
import { isBeingWritten } from "../tables/reading-access.ts"
import { lastSequenceOf, openForReading } from "../tables/schema.ts"
import { requireSoundObjects, requireSoundObjectTrees } from "../tables/sound-rows.ts"
import { hasNames, type ObjectSelection } from "./objects/object-selection.ts"

/**
 * bytes of unpacked blocks kept. Questions read blocks in order, and memory that was just given back is faster to unpack into than more of it: a
 * history takes less time with 4 MiB than with the 8 that exports keep (docs/decisions/0048-what-a-question-of-blocks-costs.md).
 */
const CACHED_BYTES = 4 * 1024 * 1024

/** How a recording is opened for questions. */
interface QueriedRecordingOptions extends Pick<BlockSourceOptions, "cachedBytes"> {
  /**
   * µs since the Unix epoch up to which a kind is known, where that is later than the recording itself says: a recorder that watches a kind knows that
   * nothing has changed since. Default: up to the last moment at which anything was recorded.
   */
  readonly knownUntil?: (gvk: string) => number | undefined
  /** What further readers of the same directory need not check again. Default: nothing is known. */
  readonly intact?: KnownIntact
}

/** One open recording. Use {@link QueriedRecording.open}. Every method may throw an ArchiveError. */
export class QueriedRecording {
  readonly directory: string
  readonly database: DatabaseSync
  readonly source: BlockSource
  readonly names: ObjectNames
  readonly history: StateHistory
  readonly owners: KnownOwners
  readonly #knownUntil: (gvk: string) => number | undefined
  readonly #isAlone: boolean
  readonly #soundObjects: Map<number, number>
  readonly #adoption: Statement<unknown>
  #now: Now
  #hasSoundObjects = false
  #hasSoundObjectTrees = false

  /** @throws NotARecordingError, NewerRecordingError, OlderRecordingError, ArchiveIoError, CorruptArchiveError */
  static open(directory: string, options: QueriedRecordingOptions = {}): QueriedRecording {
    const isAlone = !isBeingWritten(directory)
    const database = openForReading(directory)
    try {
      return new QueriedRecording(directory, database, options, isAlone)
    } catch (error) {
      database.close()
      throw toArchiveError(directory, "open", error)
    }
  }

  private constructor(directory: string, database: DatabaseSync, options: QueriedRecordingOptions, isAlone: boolean) {
    this.directory = directory
    this.database = database
    this.#isAlone = isAlone
    this.#soundObjects = options.intact?.objectsOf(directory) ?? new Map()
    this.#knownUntil = options.knownUntil ?? (() => undefined)
    // First, as in refresh.
    this.source = new BlockSource(database, directory, {
      cachedBytes: options.cachedBytes ?? CACHED_BYTES,
      passesOverDamage: true,
    })
    this.#now = readNow(database)
    this.names = new ObjectNames(database, directory, () => this.source.ifOutran())
    this.history = new StateHistory(database, this.source, directory)
    this.owners = new KnownOwners(database, directory)
    this.#adoption = prepare(
      database,
      "SELECT 1 FROM former_owner_set WHERE kind = ? AND number = ? AND until_received <= ? LIMIT 1",
    )
  }

  /** Makes what was recorded meanwhile visible to the questions from now on. `through`: the last event that they see. Default: all. */
  refresh(through: number = Number.MAX_SAFE_INTEGER): void {
    // First: a beginning that moves in between is then noticed by what reads.
    this.source.beginAnew()
    const now = this.reading(() => readNow(this.database))
    this.#now = { ...now, cut: Math.min(now.cut, through) }
  }

  /** Whether something was recorded since it was opened or refreshed. Takes some µs. */
  get hasGrown(): boolean {
    return this.reading(() => lastSequenceOf(this.database)) > this.#now.cut
  }

  /** Sequence number of the last event when it was opened or refreshed; what comes later is not read. */
  get cut(): number {
    return this.#now.cut
  }

  get kinds(): ReadonlyArray<KeptKind> {
    return [...this.#now.kinds.values()]
  }

  /** The names of all that have objects: pod lifecycles have none. */
  get objectKinds(): ReadonlyArray<string> {
    return [...this.#now.kinds.keys()].filter((gvk) => gvk !== podLivesKind)
  }

  /** `undefined`: it was never recorded. */
  kindOf(gvk: string): KeptKind | undefined {
    return this.#now.kinds.get(gvk)
  }

  /** µs since the Unix epoch: up to and including this moment everything of a kind is known, apart from gaps. */
  knownUntil(gvk: string): number {
    return this.#knownUntil(gvk) ?? this.#now.lastTime
  }

  metadata(): ReadonlyMap<string, string> {
    return this.reading(() => readMetadata(this.database))
  }

  /** Call it before a search among the names of objects, where a row that damage hides would not be missed. */
  requireSoundObjects(): void {
    if (this.#hasSoundObjects) return
    this.reading(() => requireSoundObjects(this.database, this.directory, this.#soundObjects))
    this.#hasSoundObjects = true
  }

  /** The same for who reads rows of objects and compares their checksums: looks only for rows that damage hides. */
  requireSoundObjectTrees(): void {
    if (this.#hasSoundObjects || this.#hasSoundObjectTrees) return
    this.reading(() => requireSoundObjectTrees(this.database, this.directory))
    this.#hasSoundObjectTrees = true
  }

  /** All rows of a kind up to a number were found to be as they were written. */
  noteSoundObjects({ id }: KeptKind, number: number): void {
    this.#soundObjects.set(id, Math.max(number, this.#soundObjects.get(id) ?? 0))
  }

  hasSoundObjects(): boolean {
    try {
      this.requireSoundObjects()
      return true
    } catch (error) {
      if (error instanceof CorruptArchiveError) return false
      throw error
    }
  }

  /**
   * Whether an event that its frame introduces is the first of its object. Otherwise the frame names the object's new owners. `received`: when the event was received, µs since
   * the Unix epoch.
   */
  isFirst(kind: KeptKind, number: number, received: number): boolean {
    return this.reading(() => this.#adoption.get(kind.id, number, received)) === undefined
  }

  /** Runs statements; what SQLite throws becomes an ArchiveError. */
  reading<Answer>(read: () => Answer): Answer {
    return reading(this.directory, read)
  }

  /**
   * Call it after an answer: a recorder that has started meanwhile may have changed pages that this reader believes constant.
   *
   * @throws RecordingDisturbedError
   */
  requireUndisturbed(): void {
    if (this.#isAlone && isBeingWritten(this.directory))
      throw new RecordingDisturbedError({ directory: this.directory })
  }

  close(): void {
    this.database.close()
  }
}

/** What grows while a recorder writes. */
interface Now {
  readonly cut: number
  readonly kinds: ReadonlyMap<string, KeptKind>
  /** µs since the Unix epoch: the last event or bookmark of any kind. */
  readonly lastTime: number
}

const readNow = (database: DatabaseSync): Now => {
  const kinds = readKeptKinds(database)
  return {
    cut: lastSequenceOf(database),
    kinds: new Map(kinds.map((kind) => [kind.gvk, kind])),
    lastTime: lastTimeOf(kinds),
  }
}

// Finds objects by name among all that were ever recorded of a kind.

/** One object for as long as it lived: an object that was deleted and made again is two. */
interface RecordedObject {
  readonly number: number
  readonly uid: string
  readonly namespace: string
  readonly name: string
  /** Its first event. */
  readonly firstSequence: number
}

/**
 * The objects with these names, in the order in which they were first seen, up to the cut. Reads all rows of the kind: 20 ms for 100,000.
 *
 * @throws CorruptArchiveError if a row is damaged, because it could be the one that is looked for
 */
export function* objectRowsOf(
  recording: QueriedRecording,
  kind: KeptKind,
  { namespace, name, uid, shownNamespaces }: ObjectSelection,
): Generator<RecordedObject, void, void> {
  const shown = shownNamespaces?.(kind.gvk)
  if (shown?.size === 0) return
  recording.requireSoundObjects()
  const given = Object.entries({ namespace, name, uid }).flatMap(([column, value]) =>
    value === undefined ? [] : [[column, value] as const],
  )
  const conditions = given.map(([column]) => ` AND ${column} = ?`).join("")
  const statement = prepare<RecordedObject>(
    recording.database,
    `SELECT number, uid, namespace, name, first_sequence AS firstSequence FROM object
    WHERE kind = ? AND number > ?${conditions} ORDER BY number LIMIT ${PAGE_ROWS}`,
  )
  const page = (last: RecordedObject | undefined) =>
    recording.reading(() => statement.all(kind.id, last?.number ?? 0, ...given.map(([, value]) => value)))
  for (const row of rowsInPages(PAGE_ROWS, page))
    if (row.firstSequence <= recording.cut && shown?.has(row.namespace) !== false) yield row
}

const PAGE_ROWS = 1000

/** The numbers of these objects; `undefined`: names do not restrict the selection. @throws as {@link objectRowsOf} */
export const namedNumbers = (
  recording: QueriedRecording,
  kind: KeptKind,
  selection: ObjectSelection,
): ReadonlySet<number> | undefined =>
  hasNames(selection, kind.gvk)
    ? new Set(Array.from(objectRowsOf(recording, kind, selection), ({ number }) => number))
    : undefined
