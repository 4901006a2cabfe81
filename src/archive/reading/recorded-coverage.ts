/**
 * The recorded part of each kind within a window, without reading an event: counts come from the rows of blocks, and at the two ends of the
 * window from tables of contents. The first look at a window checks its blocks, a second for each GB on disk; later ones take some ms.
 */

import type { RedactedValues } from "../../kube/offline.ts"
import type { EventTimes, GapEvent, LateChanges } from "../../trace/index.ts"
import { BlockSource } from "../blocks/block-source.ts"
import { StateHistory } from "../checkpoints/state-history.ts"
import { KnownIntact } from "../damage/known-intact.ts"
import { WindowDamage } from "../damage/window-damage.ts"
import { type AuditedRange, auditedRangeIn } from "../rows/author-rows.ts"
import { readGaps, readLateRanges } from "../rows/gap-rows.ts"
import { readKeptKinds } from "../rows/kind-table.ts"
import { readMetadata, redactedIn } from "../rows/metadata.ts"
import { type Connection, prepare } from "../tables/database.ts"
import { lastSequenceOf, readingRecording } from "../tables/schema.ts"

/** Times are µs since the Unix epoch. */
interface CoverageWindow {
  /** Inclusive. */
  readonly fromTime: number
  /** Exclusive. */
  readonly untilTime: number
  /** Which times the window has for late ranges; events are counted by when they happened. Default: that. */
  readonly times?: EventTimes
}

interface RecordedNamespaceTimes {
  readonly namespace: string
  readonly since: number | undefined
  readonly completeTime: number
}

interface RecordedKind {
  readonly gvk: string
  /** Events that happened in the window, excluding gaps. */
  readonly events: number
  /** The time since which the kind is recorded, also before the window; `undefined` while its first list is in progress. */
  readonly since: number | undefined
  /** Retention has removed what happened up to this moment, so `since` is after it; 0: nothing. */
  readonly removedThrough: number
  /** When the kind was last known to be complete; 0 while its first list is in progress. */
  readonly completeTime: number
  /** The same of each namespace, where the kind is recorded namespace by namespace; else empty. */
  readonly namespaces: ReadonlyArray<RecordedNamespaceTimes>
  /** Those that touch the window, in the order they were closed. */
  readonly gaps: ReadonlyArray<GapEvent>
  /** Changes that may have happened in the window and were received later, in the order of the times from which on they may have. */
  readonly late: ReadonlyArray<LateChanges>
}

interface RecordedCoverage {
  /** Sequence number of the last event on disk. */
  readonly cut: number
  /** In the order in which they were first recorded, including pod lifecycles, which have no events. */
  readonly kinds: ReadonlyArray<RecordedKind>
  /** How many values were replaced in the whole recording, not in the window. */
  readonly redacted: ReadonlyArray<RedactedValues>
  /** Between which moments audit events were taken, also outside the window; absent: none ever were. */
  readonly authors?: AuditedRange
}

/** `intact`: blocks that need not be checked again. @throws NotARecordingError, NewerRecordingError, OlderRecordingError, ArchiveIoError, CorruptArchiveError */
export const readCoverage = (directory: string, window: CoverageWindow, intact = new KnownIntact()): RecordedCoverage =>
  readingRecording(directory, (database) => {
    // One read transaction for everything: the writer continues meanwhile, and seals parts into blocks.
    database.exec("BEGIN")
    const gaps = readGaps(database, { cut: Number.MAX_SAFE_INTEGER, ...window })
    const late = readLateRanges(database, { cut: Number.MAX_SAFE_INTEGER, ...window })
    const cut = lastSequenceOf(database)
    const source = new BlockSource(database, directory, { intact: intact.blocksOf(directory) })
    const history = new StateHistory(database, source, directory)
    const inspection = new WindowDamage(database, source, history, directory)
    const count = eventCounter(database, source, window)
    const kinds = readKeptKinds(database).map((kind): RecordedKind => {
      const damage = inspection.of(kind, { cut, times: "happened", ...window })
      return {
        gvk: kind.gvk,
        events: count(kind),
        removedThrough: kind.removedThrough,
        ...timesOf(kind.recordedSince, kind.completeThroughTime),
        namespaces: kind.namespaces.map(({ namespace, recordedSince, completeTime }) => ({
          namespace,
          // While all of them are complete, only the kind has a time.
          ...timesOf(recordedSince, completeTime || kind.completeThroughTime),
        })),
        gaps: [...gaps.filter(({ gvk }) => gvk === kind.gvk), ...damage].sort((one, other) => one.time - other.time),
        late: late.filter(({ gvk }) => gvk === kind.gvk),
      }
    })
    const metadata = readMetadata(database)
    const authors = auditedRangeIn(metadata)
    return { cut, kinds, redacted: redactedIn(metadata), ...(authors && { authors }) }
  })

/** Of a first list under way, a row has the time at which it began. */
const timesOf = (recordedSince: number, completeTime: number) =>
  recordedSince === 0 ? { since: undefined, completeTime: 0 } : { since: recordedSince, completeTime }

/** Counts the events of intact blocks, which all have been looked for. */
const eventCounter = (database: Connection, source: BlockSource, { fromTime, untilTime }: CoverageWindow) => {
  // At one moment: blocks may be merged between two statements. A kind's times never decrease, so only one block, or several with the same
  // time, can extend across an end of the window.
  const blocks = prepare<{ key: number; events: number; isWhole: number; previous: number }>(
    database,
    `SELECT last_sequence AS key, events, min_time >= ?2 AND max_time < ?3 AS isWhole,
      (SELECT coalesce(max(earlier.last_sequence), 0) FROM block_kind AS earlier
        WHERE earlier.kind = ?1 AND earlier.last_sequence < block_kind.last_sequence) AS previous
    FROM block_kind WHERE kind = ?1 AND max_time >= ?2 AND min_time < ?3 ORDER BY last_sequence`,
  )
  return ({ id, gvk }: { readonly id: number; readonly gvk: string }): number => {
    let events = 0
    for (const { key, events: all, isWhole, previous } of blocks.all(id, fromTime, untilTime)) {
      if (source.faultOf(key) !== undefined) continue
      if (isWhole === 1) {
        events += all
        continue
      }
      // Or what the block has been merged into since.
      for (const frame of source.tableAt(key).frames) {
        if (frame.events.gvk !== gvk) continue
        for (let index = frame.firstIndexAfter(previous); index < frame.events.count; index++) {
          const time = frame.time(index)
          if (time >= fromTime && time < untilTime && frame.sequence(index) <= key) events++
        }
      }
    }
    return events
  }
}
