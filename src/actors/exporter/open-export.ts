/**
 * One export as a sequence of pieces: reads the window, leaves out what the filters leave out, encodes.
 *
 * Everything that can be refused is refused before the first piece. The reader, its connection and the spool are closed
 * when the sequence ends, however it ends.
 */
import { ArchiveReader } from "../../trace/archive/archive-reader.ts"
import type { ObjectEvent, TraceEvent } from "../../trace/event.ts"
import { isJsonObject, type JsonObject, parseExactJson } from "../../trace/exact-json.ts"
import { type CompiledFilters, compileFilters, EventFilter } from "../../trace/filters.ts"
import { writeNdjson } from "../../trace/ndjson-writer.ts"
import { encodeTrackedObjects, readTrackedObjects, type TrackedObjects } from "../../trace/simkube-config.ts"
import { SimkubeTraceWriter } from "../../trace/simkube-trace-writer.ts"
import { fileSpool } from "../../trace/spool.ts"
import type { ExportJob } from "./definition.ts"

export interface OpenExport {
  /** Gaps of the recording that touch the window. */
  readonly gaps: number
  /** Tracked kinds that the format cannot tell of: their objects are not in the pieces. */
  readonly leftOut: ReadonlyArray<string>
  /** Encoded bytes, in pieces of about 64 KiB; empty pieces are pauses. The last one closes the reader. */
  readonly pieces: Iterator<Uint8Array, void>
  /** Gives the rest up, also before the first piece. May be called again. */
  close(): void
}

/** Events encoded between two pauses, so that a long stretch of left-out events does not hold up other exports. */
const eventsPerTurn = 500

/**
 * @throws InvalidSelectorError, ArchiveError: the request cannot be met.
 */
export const openExport = (directory: string, job: ExportJob): OpenExport => {
  if (job.untilTime < job.fromTime) throw new Error(`the window ends (${job.untilTime} µs) before it starts (${job.fromTime} µs)`)
  const filters = compileFilters({ excluded_namespaces: job.excludedNamespaces, excluded_labels: job.excludedLabels })
  const tracked = readTrackedObjects(job.trackedObjects as Parameters<typeof readTrackedObjects>[0])
  if (tracked === undefined) throw new Error("trackedObjects is not a map of kinds")
  const encode = job.format === "ndjson" ? encodeNdjson : encodeSimkube
  const leftOut = job.format === "ndjson" ? [] : encodeTrackedObjects(tracked).leftOut
  const reader = ArchiveReader.open(directory)
  let isOpen = true
  const closeReader = (): void => {
    if (isOpen) reader.close()
    isOpen = false
  }
  try {
    const window = { cut: job.cut, fromTime: job.fromTime, untilTime: job.untilTime, kinds: [...tracked.keys()] }
    const gaps = reader.gaps(window).length
    const pieces = closing(encode(reader, job, tracked, filters, directory), closeReader)
    const close = (): void => {
      pieces.return()
      // A generator that has not begun ends without its `finally`.
      closeReader()
    }
    return { gaps, leftOut, pieces, close }
  } catch (cause) {
    closeReader()
    throw cause
  }
}

function* closing(pieces: Iterable<Uint8Array>, close: () => void): Generator<Uint8Array, void> {
  try {
    yield* pieces
  } finally {
    close()
  }
}

/** The two parts of a window, filtered. One filter judges both, since a deletion in the window may need a verdict from before it. */
const readWindow = (reader: ArchiveReader, job: ExportJob, tracked: TrackedObjects, filters: CompiledFilters) => {
  const filter = new EventFilter(filters)
  const owned = new Set(job.skipOwned)
  const ownedUids = new Set<string>()
  const kinds = [...tracked.keys()]
  const isLeftOut = (event: ObjectEvent): boolean => {
    let parsed: JsonObject | undefined
    const object = (): JsonObject => {
      parsed ??= parseObject(event.object)
      return parsed
    }
    // Both are asked, so that both remember.
    const filtered = filter.excludes(event, object)
    return (owned.has(event.gvk) && isOwned(event, object, ownedUids)) || filtered
  }
  return {
    *snapshot(): Generator<ObjectEvent> {
      for (const event of reader.snapshotAt({ cut: job.cut, time: job.fromTime, kinds })) {
        if (!isLeftOut(event)) yield event
      }
    },
    *events(): Generator<TraceEvent> {
      const selection = { cut: job.cut, fromTime: job.fromTime, untilTime: job.untilTime, kinds }
      for (const event of reader.events(selection)) {
        if (event.type === "gap" || !isLeftOut(event)) yield event
      }
    }
  }
}

/** `skipOwned` applies to deletions as well (W-10); what vanished is judged by its last state. */
const isOwned = (event: ObjectEvent, object: () => JsonObject, ownedUids: Set<string>): boolean => {
  if (event.action === "vanished") return ownedUids.delete(event.uid)
  const { metadata } = object()
  const references = isJsonObject(metadata) ? metadata["ownerReferences"] : undefined
  const owned = Array.isArray(references) && references.length > 0
  if (owned && event.action === "applied") ownedUids.add(event.uid)
  else ownedUids.delete(event.uid)
  return owned
}

const encodeNdjson = (
  reader: ArchiveReader,
  job: ExportJob,
  tracked: TrackedObjects,
  filters: CompiledFilters
): Iterable<Uint8Array> => {
  const header = {
    window: { start: job.fromTime, end: job.untilTime },
    cut: job.cut,
    kinds: [...tracked.keys()],
    incomplete: Object.entries(job.incomplete).map(([gvk, state]) => ({ gvk, state }))
  }
  const window = readWindow(reader, job, tracked, filters)
  return writeNdjson(header, window.snapshot(), window.events())
}

function* encodeSimkube(
  reader: ArchiveReader,
  job: ExportJob,
  tracked: TrackedObjects,
  filters: CompiledFilters,
  directory: string
): Generator<Uint8Array> {
  using spool = fileSpool(directory)
  const writer = new SimkubeTraceWriter({
    trackedObjects: tracked,
    startSeconds: Math.floor(job.fromTime / 1_000_000),
    spool
  })
  const window = readWindow(reader, job, tracked, filters)
  let taken = 0
  for (const event of window.snapshot()) {
    writer.addSnapshot({ ...naming(event), object: parseObject(event.object) })
    if (++taken % eventsPerTurn === 0) yield pause
  }
  for (const event of window.events()) {
    // SimKube's format has no place for a gap; the answer's headers tell of it.
    if (event.type === "gap") continue
    if (event.action === "applied") {
      writer.add({ ...naming(event), action: "applied", time: event.time, object: parseObject(event.object) })
    } else writer.add({ ...naming(event), action: event.action, time: event.time })
    if (++taken % eventsPerTurn === 0) yield pause
  }
  yield* writer.finish()
}

const pause = new Uint8Array(0)

const naming = ({ gvk, namespace, name }: ObjectEvent) => ({ gvk, namespace, name })

const parseObject = (bytes: Uint8Array): JsonObject => {
  const value = parseExactJson(bytes)
  if (!isJsonObject(value)) throw new Error("a recorded object is not a JSON object")
  return value
}
