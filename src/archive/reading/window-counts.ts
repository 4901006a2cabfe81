/**
 * Counts the objects and changes of a kind in a window, filtered by name, without reading an object: from the rows of names, checkpoints,
 * and tables of contents. The counts equal those of an export of that window before filters by label or owner: damaged blocks are left out.
 *
 * It pauses every half ms to let other work run. Each statement is its own short transaction. Memory: a byte per object ever seen of the
 * kind, and its states at the window's start.
 */

import { BlockSource } from "../blocks/block-source.ts"
import { FirstList } from "../blocks/event-merge.ts"
import { StateHistory } from "../checkpoints/state-history.ts"
import { KnownIntact } from "../damage/known-intact.ts"
import { WindowDamage } from "../damage/window-damage.ts"
import { toArchiveError } from "../directory/archive-errors.ts"
import { readKeptKinds } from "../rows/kind-table.ts"
import { readMetadata } from "../rows/metadata.ts"
import { numberOf, prepare, rowsInPages } from "../tables/database.ts"
import { openForReading } from "../tables/schema.ts"
import { requireSoundTables } from "../tables/sound-rows.ts"
import { firstListsOf, openedWindow, type WindowLimits } from "./first-lists.ts"

/** Of one kind. */
interface WindowCounts {
  /** Objects that exist at the start of the window. */
  readonly objects: number
  /** Changes in the window, excluding gaps. */
  readonly events: number
}

interface CountOptions {
  /** Kinds to count; those that were never recorded have no counts. */
  readonly kinds: ReadonlyArray<string>
  /** Whether to leave out objects with this name; the namespace is empty for cluster-scoped objects. Default: no objects are left out. */
  readonly excludesName?: (namespace: string, name: string) => boolean
  /** Blocks that need not be checked again. */
  readonly intact?: KnownIntact
  /** Lets other work run; called every half ms. */
  readonly pause: () => Promise<void>
}

interface NamedRow {
  readonly number: number
  readonly namespace: string
  readonly name: string
}

/** ms of work between two pauses: recording may wait for the core meanwhile. */
const turnMs = 0.5

/** Rows of names per fetch. */
const pageRows = 250

/**
 * By kind. Rejects with what reading a recording throws: NotARecordingError, NewerRecordingError, OlderRecordingError,
 * ArchiveIoError, CorruptArchiveError.
 */
export const countWindow = async (
  directory: string,
  { cut, fromTime, untilTime, times = "happened" }: WindowLimits,
  { kinds, excludesName, intact = new KnownIntact(), pause }: CountOptions,
): Promise<ReadonlyMap<string, WindowCounts>> => {
  const database = openForReading(directory)
  try {
    const source = new BlockSource(database, directory, { intact: intact.blocksOf(directory) })
    const history = new StateHistory(database, source, directory)
    const inspection = new WindowDamage(database, source, history, directory)
    const page = prepare<NamedRow>(
      database,
      `SELECT number, namespace, name FROM object WHERE kind = ? AND number > ? ORDER BY number LIMIT ${pageRows}`,
    )
    let isChecked = false
    let turnEnds = performance.now() + turnMs
    const pauseIfDue = async (): Promise<void> => {
      if (performance.now() < turnEnds) return
      await pause()
      turnEnds = performance.now() + turnMs
    }

    /** By object number: 1 if it is left out. */
    const leftOut = async (kind: number): Promise<Uint8Array> => {
      if (excludesName === undefined) return new Uint8Array(0)
      requireSoundTables(database, directory, isChecked ? [] : ["object"])
      isChecked = true
      const last = numberOf(database, "SELECT max(number) AS value FROM object WHERE kind = ?", kind)
      const excluded = new Uint8Array(last + 1)
      for (const { number, namespace, name } of rowsInPages<NamedRow>(pageRows, (row) =>
        page.all(kind, row?.number ?? -1),
      )) {
        if (number < excluded.length && excludesName(namespace, name)) excluded[number] = 1
        // A name may be compared with hundreds of patterns, and a page of them took 30 s.
        await pauseIfDue()
      }
      return excluded
    }

    const kept = readKeptKinds(database)
    const { start, listed } = openedWindow(firstListsOf(kept, readMetadata(database)), fromTime, untilTime)
    const counts = new Map<string, WindowCounts>()
    for (const kind of kept.filter(({ gvk }) => kinds.includes(gvk))) {
      const excluded = await leftOut(kind.id)
      const hasDamage = inspection.of(kind, { cut, fromTime, untilTime, times }).length > 0
      await pauseIfDue()
      const through = listed.get(kind.gvk)
      const list = through === undefined ? undefined : new FirstList(through)
      const from = list === undefined ? start : 0
      const limit = { throughSequence: cut, beforeTime: from, times }
      const alive = source.passingOverDamage(() => history.aliveAt(kind, limit))
      let [objects, events] = [0, 0]
      for (let index = 0; index < alive.count; index++) {
        if (excluded[alive.numbers[index] as number] === 1) continue
        if (!hasDamage || inspection.isReadable(kind, alive.sequences[index] as number)) objects++
      }
      await pauseIfDue()
      reading: for (const frame of source.framesOf(kind, 0, from, times)) {
        for (let index = 0; index < frame.events.count; index++) {
          const time = frame.timeIn(times, index)
          if (frame.sequence(index) > cut || time >= untilTime) break reading
          if (time < from || excluded[frame.events.objectNumber(index)] === 1) continue
          if (list?.takes(frame, index, time)) objects++
          else events++
        }
        await pauseIfDue()
      }
      counts.set(kind.gvk, { objects, events })
    }
    return counts
  } catch (error) {
    throw toArchiveError(directory, "read", error)
  } finally {
    database.close()
  }
}
