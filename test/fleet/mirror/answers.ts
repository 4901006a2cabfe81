/** What a data directory answers: everything that is asked of recordings, as values that can be compared. */

import { openExport } from "../../../src/actors/exporter/open-export.ts"
import {
  ArchiveReader,
  findingSteps,
  histogramOf,
  lanesOf,
  QueriedRecording,
  readCoverage,
  readOverview,
  readRecordingFacts,
  readRecordingInfo,
  TimelineCache,
} from "../../../src/archive/index.ts"
import { shippedKeys } from "../../../src/archive/shipping/delta.ts"
import { exportJob } from "../../actors/exporter/export-job.ts"
import { changes, stateAt, stateDifferences } from "../../archive/queries/whole-answers.ts"
import { plain } from "../../archive/sample-frames.ts"

/** Items, and what is said at the end. */
const all = <Item, End>(steps: Generator<Item | undefined, End, void>): { items: Item[]; end: End } => {
  const items: Item[] = []
  for (;;) {
    const { done, value } = steps.next()
    if (done === true) return { items, end: value }
    // Objects lie in memory that the next item may take.
    if (value !== undefined) items.push(structuredClone(value))
  }
}

/** NDJSON of everything, as bytes. */
export const exported = async (directory: string): Promise<string> => {
  const kinds = readRecordingFacts(directory).kinds
  const pieces: Buffer[] = []
  const job = exportJob(kinds, { untilTime: Number.MAX_SAFE_INTEGER - 1 })
  for await (const piece of openExport({ directory }, job).pieces) pieces.push(Buffer.from(piece))
  return Buffer.concat(pieces).toString()
}

/** `moments`: µs since the Unix epoch. */
export const answersOf = async (directory: string, moments: ReadonlyArray<number>): Promise<unknown> => {
  const { isWritten: _, metadata, ...facts } = readRecordingFacts(directory)
  const window = { fromTime: moments[0] ?? 0, untilTime: Number.MAX_SAFE_INTEGER }
  const reader = ArchiveReader.open(directory)
  const recording = QueriedRecording.open(directory)
  const asked = { kinds: facts.kinds, from: moments[0] ?? 0, to: facts.lastTime + 1, width: 20 }
  try {
    const events = Array.from(reader.events(window), plain)
    const uids = [...new Set(events.flatMap((event) => ("uid" in event ? [event.uid] : [])))]
    return {
      ...{ facts, metadata: shippedKeys.map((key) => metadata.get(key)) },
      ...{ summary: reader.summary(), kinds: reader.kinds(), blocks: [...reader.blocks()], lists: reader.firstLists() },
      ...{
        gaps: reader.gaps(),
        late: reader.lateRanges(),
        lives: [...reader.podLives({ untilTime: 2 ** 52, cut: 2 ** 52 })],
      },
      events,
      states: moments.map((time) => Array.from(reader.snapshotAt({ time }), plain)),
      exported: await exported(directory),
      history: uids.map((uid) => all(changes(recording, { from: 0, uid }))),
      stateAt: facts.kinds.map((gvk) => moments.map((time) => all(stateAt(recording, { gvk, time })))),
      differences: all(stateDifferences(recording, { from: moments[0] ?? 0, to: moments.at(-1) ?? 0 })),
      histogram: all(histogramOf(recording, new TimelineCache(), asked)),
      found: all(findingSteps(recording, asked)),
      lanes: all(lanesOf(recording, new TimelineCache(), asked)).end.tree.page(undefined, { offset: 0, limit: 1000 }),
      coverage: readCoverage(directory, window),
      overview: readOverview(directory),
      info: readRecordingInfo(directory, 0).kinds,
    }
  } finally {
    reader.close()
    recording.database.close()
  }
}
