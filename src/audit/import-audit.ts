/**
 * Makes a trace out of the audit logs of a cluster: reads them in the order of time, follows the lives of the objects, and writes what happened.
 * The output appears only when it is complete.
 *
 * Memory grows with the objects that exist at a time, not with the logs. The trace waits in a spool on disk until its header is known.
 */
import { tmpdir } from "node:os"
import { defaultRedaction, ObjectRedactor, type RedactionSettings, redactionOf, ValueHash } from "../kube/index.ts"
import { formatGvk, parseGvk, RedactedSums } from "../kube/offline.ts"
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
  NoAuditLog,
  type UnknownText,
} from "./import-order.ts"
import type { LivesOutput } from "./lives/life-record.ts"
import { ObjectLives } from "./lives/object-lives.ts"
import { beginningOf, LogFile, type LogListener, type LogOrder } from "./reading/log-file.ts"
import { VersionOrder } from "./reading/reorder-window.ts"
import type { AuditedWrite } from "./shapes/audited-write.ts"

// The writes of several logs as one sequence in the order of time: those of rotated files, and of API servers beside one another.
//
// A file is opened when its time comes, so that a thousand rotated files are not open at once; a pipe, which can be opened only once, is
// open from the start. Memory is what waits in each open log.

/** A log that is not open yet. */
interface LaterLog {
  readonly order: LogOrder
  readonly beginning: number
}

/** Rejects with InputUnreadable, LogUnreadable and ExportInterrupted. */
export async function* mergedWrites(
  orders: ReadonlyArray<LogOrder>,
  listener: LogListener,
): AsyncGenerator<AuditedWrite, void> {
  const open: LogFile[] = []
  try {
    const later: LaterLog[] = []
    for (const order of orders) {
      const input = await order.open()
      if (orders.length === 1 || input.size === undefined) open.push(new LogFile(input, order, listener))
      else later.push({ order, beginning: await beginningOf(input, order) })
    }
    later.sort((one, other) => one.beginning - other.beginning)
    while (true) {
      const earliest = await earliestOf(open)
      const next = later[0]
      if (next !== undefined && (earliest?.head === undefined || next.beginning <= earliest.head.time)) {
        later.shift()
        open.push(new LogFile(await next.order.open(), next.order, listener))
      } else if (earliest?.head !== undefined) {
        yield earliest.head
        earliest.advance()
      } else return
    }
  } finally {
    await Promise.all(open.map((log) => log.close()))
  }
}

/** The log whose next write is the first of all; removes those that have ended. */
const earliestOf = async (open: LogFile[]): Promise<LogFile | undefined> => {
  let earliest: LogFile | undefined
  for (const log of [...open]) {
    if (log.head === undefined && !(await log.fill())) {
      open.splice(open.indexOf(log), 1)
      await log.close()
      continue
    }
    if (earliest === undefined || (log.head as AuditedWrite).time < (earliest.head as AuditedWrite).time) earliest = log
  }
  return earliest
}

// Replaces secret values in the objects of a log, as a recorder does before anything of an object is kept.

/** Memory: one redactor for each kind. */
class ObjectRedaction {
  /** How many values were replaced. */
  readonly sums = new RedactedSums()
  readonly #hash: ValueHash
  readonly #settings: RedactionSettings
  readonly #secretsInPlainText: boolean
  readonly #redactors = new Map<string, ObjectRedactor | undefined>()

  /** @param key with which secret values are hashed. @param secretsInPlainText true: values of Secrets are not replaced. */
  constructor(key: Uint8Array, settings: RedactionSettings, secretsInPlainText: boolean) {
    this.#settings = settings
    this.#hash = new ValueHash(key)
    this.#secretsInPlainText = secretsInPlainText
  }

  /** The object without secret values: the bytes themselves, or others that are valid until the next call. `gvk`: as a trace writes it. */
  redacted(gvk: string, object: Buffer): Buffer {
    if (!this.#redactors.has(gvk)) this.#redactors.set(gvk, this.#redactorOf(gvk))
    const redactor = this.#redactors.get(gvk)
    const redacted = redactor?.redacted(object, 0, object.length)
    if (redactor === undefined || redacted === undefined) return object
    this.sums.add(gvk, redactor.result.replaced)
    return redacted
  }

  #redactorOf(gvk: string): ObjectRedactor | undefined {
    const parsed = parseGvk(gvk)
    if (parsed === undefined || formatGvk(parsed) !== gvk) throw new Error(`not a kind: ${gvk}`)
    const rules = redactionOf(parsed, this.#settings, { secretsInPlainText: this.#secretsInPlainText })
    return rules && new ObjectRedactor(rules, this.#hash)
  }
}

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

// Recognises a write that the logs have twice: in files that overlap, from collectors that deliver at least once, in a file under two names. The writes come in
// the order of time, and both entries have the same time, so memory is the writes of one microsecond.

class RepeatedWrites {
  #time = Number.NEGATIVE_INFINITY
  readonly #seen = new Set<string>()

  /** Whether it is the one of an earlier call. A write without an ID never is. */
  has({ time, id, verb, resource, subresource, namespace, name }: AuditedWrite): boolean {
    if (id === "") return false
    if (time !== this.#time) this.#seen.clear()
    this.#time = time
    const key = `${id} ${verb} ${resource} ${subresource} ${namespace} ${name}`
    const isRepeated = this.#seen.has(key)
    this.#seen.add(key)
    return isRepeated
  }
}

/** Examples of what is no audit entry. */
const mostExamples = 5

/** Imports. Rejects only for defects; on every failure the sink has been discarded. */
export const importAudit = async (order: AuditImport): Promise<ImportOutcome> => {
  const spools: Spool[] = []
  const openSpool = (): Spool => {
    const spool = order.openSpool?.() ?? fileSpool(tmpdir())
    spools.push(spool)
    return spool
  }
  let sink: OutputSink | undefined
  try {
    sink = await order.openSink()
    const summary = await transfer(order, sink, openSpool)
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
  const logs = given.logs.map((log) => {
    const name = log === "-" ? "standard input" : log
    return { name, open: () => given.openInput(log), signal: given.signal }
  })
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

/** What is noticed while the logs are read. */
class SeenTexts implements LogListener {
  texts = 0
  /** µs of the first and the last entry. */
  from = Number.POSITIVE_INFINITY
  to = Number.NEGATIVE_INFINITY
  readonly read: (bytes: number) => void
  readonly #examples: UnknownText[] = []
  #unknown = 0

  constructor(read: (bytes: number) => void) {
    this.read = read
  }

  get unknown(): ImportSummary["unknown"] {
    return { count: this.#unknown, first: this.#examples }
  }

  text(): void {
    this.texts++
  }

  unknownText(place: UnknownText): void {
    if (this.#examples.length < mostExamples) this.#examples.push(place)
    this.#unknown++
  }

  time(micros: number): void {
    this.from = Math.min(this.from, micros)
    this.to = Math.max(this.to, micros)
  }

  /** The error for logs without any write. */
  nothing(): NoAuditLog {
    const [first] = this.#examples
    const example = first === undefined ? "" : `${first.log}:${first.line}: ${first.found}`
    return new NoAuditLog({ texts: this.texts, unknown: this.#unknown, example })
  }
}
