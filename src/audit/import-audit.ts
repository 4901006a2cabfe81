/**
 * Makes a trace out of the audit logs of a cluster: reads them in the order of time, follows the lives of the objects, and writes what happened.
 * The output appears only when it is complete.
 *
 * Memory grows with the objects that exist at a time, not with the logs. The trace waits in a spool on disk until its header is known.
 */
import { tmpdir } from "node:os"
import { defaultRedaction } from "../kube/index.ts"
import {
  compressed,
  ExportInterrupted,
  fileSpool,
  formatExactJson,
  isJsonObject,
  type LeftOut,
  needsSurvey,
  nothingLeftOut,
  type OutputSink,
  openEncoder,
  parseExactJson,
  type Spool,
  type TraceFormatName,
  type TraceHeader,
  type TraceItem,
  TraceSurvey,
} from "../trace/index.ts"
import { EventSpool } from "./event-spool.ts"
import {
  type AuditImport,
  type ImportOutcome,
  type ImportProgress,
  type ImportSummary,
  isImportError,
  namedLogs,
} from "./import-order.ts"
import type { LivesOutput } from "./lives/life-record.ts"
import { ObjectLives } from "./lives/object-lives.ts"
import { ObjectRedaction } from "./object-redaction.ts"
import { mergedWrites, RepeatedWrites } from "./reading/merged-writes.ts"
import { VersionOrder } from "./reading/reorder-window.ts"
import { SeenTexts } from "./seen-texts.ts"

// Writes spooled events as a trace in any format.

/**
 * The pieces of the trace; returns what the format could not represent. Formats for replay need facts about the whole trace, for which the
 * events are read once more. Throws UnwritableTraceError and SpoolError.
 */
async function* encodedEvents(
  header: TraceHeader,
  events: EventSpool,
  format: TraceFormatName,
  openSpool: () => Spool,
): AsyncGenerator<Uint8Array, LeftOut> {
  let survey: TraceSurvey | undefined
  if (needsSurvey("ndjson", format)) {
    survey = new TraceSurvey()
    for (const item of itemsOf(header, events)) survey.add(item)
  }
  const encoder = await openEncoder(format, { spool: openSpool, ...(survey && { facts: survey }) })
  for (const item of itemsOf(header, events)) {
    encoder.add(item)
    const piece = encoder.take()
    if (piece !== undefined) yield piece
  }
  yield* encoder.finish()
  return encoder.leftOut
}

function* itemsOf(header: TraceHeader, events: EventSpool): Generator<TraceItem> {
  yield { type: "header", ...header }
  for (const event of events.events()) yield { type: "event", event, isSnapshot: false }
}

/** Imports. Rejects only for defects; on every failure the sink has been discarded. */
export const importAudit = async (request: AuditImport): Promise<ImportOutcome> => {
  const spools: Spool[] = []
  const openSpool = (): Spool => {
    const spool = request.openSpool?.() ?? fileSpool(tmpdir())
    spools.push(spool)
    return spool
  }
  let sink: OutputSink | undefined
  try {
    sink = await request.openSink()
    const summary = await transfer(request, sink, openSpool)
    await sink.commit()
    return { tag: "imported", summary }
  } catch (cause) {
    await sink?.discard()
    if (!isImportError(cause)) throw cause
    return { tag: "failed", error: cause }
  } finally {
    for (const spool of spools) spool[Symbol.dispose]()
  }
}

const transfer = async (given: AuditImport, sink: OutputSink, openSpool: () => Spool): Promise<ImportSummary> => {
  const progress: ImportProgress = { bytesRead: 0, changes: 0, isWriting: false }
  const events = new EventSpool(openSpool())
  const kinds = new Set<string>()
  const { redactionKey, secretsInPlainText, redaction: settings = defaultRedaction } = given
  const redaction = new ObjectRedaction(redactionKey, settings, secretsInPlainText)
  const lives = new ObjectLives(spooledInto(events, kinds, redaction), given.isExcluded)
  const { record } = lives
  const seen = new SeenTexts((bytes) => {
    progress.bytesRead += bytes
    given.onProgress(progress)
  })
  const logs = namedLogs(given)
  const order = new VersionOrder()
  const repeated = new RepeatedWrites()
  let writes = 0
  let repetitions = 0
  for await (const write of mergedWrites(logs, seen)) {
    if (repeated.has(write)) {
      repetitions++
      continue
    }
    writes++
    order.push(write)
    for (const ready of order.ready()) lives.add(ready)
    progress.changes = events.changes
  }
  for (const ready of order.ready(true)) lives.add(ready)
  if (writes === 0) throw seen.nothing()
  lives.end(seen.to)
  const header: TraceHeader = {
    window: { start: seen.from, end: seen.to + 1 },
    cut: 0,
    kinds: [...kinds].sort(),
    incomplete: [],
    ...(record.clusterUid !== undefined && { clusterUid: record.clusterUid }),
  }
  progress.isWriting = true
  given.onProgress(progress)
  const written = { bytes: 0, leftOut: nothingLeftOut }
  const pieces = async function* (): AsyncGenerator<Uint8Array, void> {
    written.leftOut = yield* encodedEvents(header, events, given.format, openSpool)
  }
  for await (const piece of compressed(pieces(), given.compression)) {
    if (given.signal.aborted) throw new ExportInterrupted()
    await sink.write(piece)
    written.bytes += piece.length
  }
  const losses = new Map(
    [...record.losses.counts].map(({ resource, reasons }) => [record.kinds.textOf(resource), reasons]),
  )
  const { changes, gaps } = events
  return {
    ...record.counts,
    ...written,
    writes,
    repetitions,
    changes,
    gaps,
    losses,
    redacted: redaction.sums.all,
    texts: seen.texts,
    unknown: seen.unknown,
  }
}

/** Where the lives of objects go: into the spool, without secret values. */
const spooledInto = (events: EventSpool, kinds: Set<string>, redaction: ObjectRedaction): LivesOutput => {
  return {
    changed: (event, object) => {
      kinds.add(event.gvk)
      return events.addObject({
        ...event,
        object: redaction.redacted(event.gvk, Buffer.from(formatExactJson(object))),
      })
    },
    ended: (event, state) => {
      events.addObject({ ...event, object: state === undefined ? noBytes : events.objectAt(state) })
    },
    gap: ({ resource: _, ...gap }, gvk) => {
      kinds.add(gvk)
      events.addGap({ ...gap, gvk })
    },
    stateOf: (state) => {
      const object = parseExactJson(events.objectAt(state))
      if (!isJsonObject(object)) throw new Error("the spool has no object where one was kept")
      return object
    },
  }
}

const noBytes = new Uint8Array(0)
