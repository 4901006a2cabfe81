/** `reel export`: its arguments and flow, and the transfer. The printing is in export-report.ts. */
import { basename } from "node:path"
import { backgroundClock, type Clock } from "../clock.ts"
import type { NamedKind } from "../kube/index.ts"
import { parseGvk } from "../kube/offline.ts"
import { formatInstant, formatLocalTime } from "../local-time.ts"
import { clockTolerance } from "../recorder/index.ts"
import { quoted } from "../text/index.ts"
import {
  type Compression,
  compressionOfBytes,
  type ExportedFormat,
  exportedFormatOf,
  FORMAT_SIGNATURE_BYTES,
  formatOfBytes,
  NDJSON_FORMAT,
  type OutputFileSystem,
  type OutputSink,
  openTraceFile,
  withoutCompressionExtension,
} from "../trace/index.ts"
import type { CommandSyntax, OptionValues } from "./command-line/arguments.ts"
import { type Command, type CommandTerminal, command } from "./command-line/command.ts"
import { CommandFailed, type ExitCode } from "./command-line/exit-codes.ts"
import { describeInstant } from "./command-line/instant.ts"
import { isExactKind, readKind } from "./command-line/kind-option.ts"
import { isOwnDirectory, recorderVariables, storeVariables, temporaryVariables } from "./command-line/shared-options.ts"
import { openOutput, terminalFault } from "./command-line/written-trace.ts"
import { ExportCut } from "./export/connection/export-errors.ts"
import { faultOfPlace, type OpenPlace, openPlace } from "./export/connection/recorder-place.ts"
import {
  type ExportQuery,
  type ExportShortcomings,
  localPath,
  requestExport,
  requestForecast,
  requestRecordedKinds,
  requestUpload,
} from "./export/export-client.ts"
import { type Destination, defaultEnd, defaultStart, exportOptions } from "./export/export-options.ts"
import { type Proof, report, reportForecast } from "./export/export-report.ts"
import { readMoment } from "./past/moments.ts"
import { type LiveLine, progressLine } from "./terminal/live-line.ts"
import { formatBytes, formatDuration } from "./terminal/quantities.ts"
import { interruption, type Terminal } from "./terminal/terminal.ts"

// Exports from a recorder to a file: request, transfer, publish. There is never half a file: the output is committed only after the response has
// ended as HTTP says that it ends, and its checksum, if it came, was right.

/** What was written. */
interface ExportSummary extends ExportShortcomings {
  readonly bytes: number
  /** Changes that a trace for a replay does not have because they change nothing there. */
  readonly unchanged: number
  readonly proof: Proof
}

interface ExportTraceOptions {
  readonly query: ExportQuery
  /** Called before the request is sent, so that a bad path costs the recorder nothing. */
  readonly openSink: () => Promise<OutputSink>
  readonly signal: AbortSignal
  /** Called for every piece, with the total bytes so far. */
  readonly onProgress: (bytes: number) => void
}

/** The beginning of every trace in NDJSON, which other JSON does not have. */
const ndjsonBeginning = `{"format":"${NDJSON_FORMAT}"`

/** Of the page in one file: its policy comes first. A page to log in has another beginning. */
const htmlBeginning = `<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<meta http-equiv="Content-Security-Policy"`

/** Whether these are the first bytes of what was asked for, and not of a web page to log in or of a gateway's error. */
const isTraceAskedFor = (head: Buffer, { format, compression }: ExportQuery): boolean => {
  // SimKube's tracer does not compress.
  if (compression !== "none" && compressionOfBytes(head) === compression) return true
  if (format === "ndjson") return head.toString().startsWith(ndjsonBeginning)
  return format === "html" ? head.toString().startsWith(htmlBeginning) : formatOfBytes(head) === format
}

/** The pieces, held back until the first bytes show that they are of a trace; throws what `fault` makes otherwise. */
async function* piecesOfTrace(
  pieces: AsyncIterable<Uint8Array>,
  query: ExportQuery,
  fault: (bytes: number) => ExportCut,
): AsyncGenerator<Uint8Array, void> {
  let head = Buffer.alloc(0)
  let isKnown = false
  for await (const piece of pieces) {
    if (isKnown) {
      yield piece
      continue
    }
    head = Buffer.concat([head, piece])
    isKnown = isTraceAskedFor(head, query)
    if (isKnown) yield head
    else if (head.length >= FORMAT_SIGNATURE_BYTES) throw fault(head.length)
  }
  if (!isKnown && head.length > 0) throw fault(head.length)
}

const proofOf = (isProven: boolean, isOurs: boolean): Proof => {
  if (isProven) return "checksum"
  return isOurs ? "checksum-removed" : "unknown-server"
}

/** Exports one trace. Rejects with an ExportError; on every failure the sink has been discarded. */
const exportTrace = async (options: ExportTraceOptions): Promise<ExportSummary> => {
  const { query, openSink, signal, onProgress } = options
  let sink: OutputSink | undefined
  try {
    sink = await openSink()
    const { pieces, isOurs, isProven, unchanged, ...shortcomings } = await requestExport(query, signal)
    const cut = (reason: string, received: number): ExportCut =>
      new ExportCut({ server: query.recorder.name, bytes: received, reason })
    const notTrace = `the response is not a trace in the format ${query.format}`
    let bytes = 0
    for await (const piece of piecesOfTrace(pieces, query, (received) => cut(notTrace, received))) {
      bytes += piece.length
      await sink.write(piece)
      onProgress(bytes)
    }
    if (bytes === 0) throw cut("the response is empty", 0)
    await sink.commit()
    return { ...shortcomings, bytes, unchanged: unchanged(), proof: proofOf(isProven(), isOurs) }
  } catch (cause) {
    await sink?.discard()
    throw cause
  }
}

// The progress line on a terminal.

interface ExportProgress {
  /** Called for each piece with the total bytes so far. */
  readonly received: (bytes: number) => void
  /** Erases the line. May be called again. */
  readonly close: () => void
}

/** ms between repaints while nothing arrives. */
const tickMs = 1000

/** Shows a line with the first bytes or after a second, and updates it while nothing arrives. `what` is shown until the first byte arrives. */
const showProgress = (line: LiveLine, clock: Pick<Clock, "after" | "monotonicMs">, what: string): ExportProgress => {
  const begin = clock.monotonicMs()
  let bytes = 0
  const show = (): void =>
    line.show(() => {
      const elapsed = clock.monotonicMs() - begin
      if (bytes === 0) return `${what}: ${formatDuration(elapsed)}`
      return `exporting: ${formatBytes(bytes)}${elapsed < tickMs ? "" : `, ${formatDuration(elapsed)}`}`
    })
  let timer = clock.after(tickMs, tick)
  function tick(): void {
    show()
    timer = clock.after(tickMs, tick)
  }
  return {
    received(total) {
      bytes = total
      show()
    },
    close() {
      timer.cancel()
      line.close()
    },
  }
}

// The kinds that an export asks for: names as people write them become those of the recording. Built-in kinds need no question; for others the
// recorder is asked what it records.

/** Names that are none, in one line for people. */
interface UnknownKinds {
  readonly problem: string
}

/** Wildcards stay, and so do exact names, also of kinds that are not recorded: the recorder then says so. */
const resolveKinds = async (
  names: ReadonlyArray<string>,
  recordedKinds: () => Promise<ReadonlyArray<string>>,
): Promise<ReadonlyArray<string> | UnknownKinds> => {
  const isLeft = (name: string): boolean => !isPattern(name) && !isExactKind(name)
  const needsRecorder = names.some((name) => isLeft(name) && readKind(name).tag === "unknown")
  const recorded = needsRecorder ? (await recordedKinds()).flatMap(namedKind) : []
  const resolved: string[] = []
  for (const name of names) {
    if (!isLeft(name)) resolved.push(name)
    else {
      const reading = readKind(name, recorded)
      if (reading.tag === "unknown") return reading
      resolved.push(reading.text)
    }
  }
  return resolved
}

const isPattern = (name: string): boolean => /[*?]/.test(name)

const namedKind = (text: string): ReadonlyArray<NamedKind> => {
  const gvk = parseGvk(text)
  return gvk === undefined ? [] : [{ gvk, plural: undefined }]
}

const syntax: CommandSyntax<typeof exportOptions> = {
  name: "reel export",
  summary: "Exports a time window of a recording, of a running recorder or in a directory, to a file.",
  description: [
    "The file appears only when the response has ended as it should and its checksum matches; a failed export leaves " +
      "nothing behind. If no checksum came, because a proxy removed it, standard error says so.",
    "TIME is a time as any command prints it (03:12:05.482 UTC, 2026-11-21T10:00:00Z), a date or time of day here (2026-11-21, 03:12, yesterday 03:12), Unix seconds, start, end, now, now-5m, or a duration such as -10m, 2h or 1h30m.",
  ],
  options: exportOptions,
  exitCodes: {
    failed: "nothing was written",
    usage: "the command line is invalid, or FILE exists and --force is not given",
    incomplete: "something is missing in the window, and standard error says what; written, unless --require is given",
    notPermitted: "the recorder or the API server refuses the credentials",
    interrupted: "Ctrl-C; nothing was written",
  },
  environment: [...recorderVariables, ...storeVariables, ...temporaryVariables],
  examples: [
    "reel export -o minute.ndjson --start -1m",
    'reel export -o night.ndjson --start "yesterday 23:30" --end 03:12 --kind deploy,po',
    "reel export -o trace.sktrace --exclude-namespace kube-system",
    "reel export -o - --start 2h | jq -c .name",
    "reel export -o s3://traces/shop/monday.sktrace --require all",
    "reel export --dry-run --start 2h",
    "reel export -o all.ndjson --start 0 --data-dir /var/lib/kubereel",
    "reel export -o outage.ndjson.zst --pin 20261129t0312-1f2e3d4c",
    "reel export -o trace.ndjson --in-cluster kubereel/kubereel --context staging",
  ],
  seeAlso: [
    "reel coverage",
    "reel pins",
    "reel replay",
    "reel convert",
    "docs/reference/trace-formats.md",
    "docs/reference/export-targets.md",
  ],
}

type Options = OptionValues<typeof exportOptions>

/** Dependencies that tests replace. */
interface ExportSurroundings {
  /** µs since the Unix epoch. */
  readonly now: () => number
  readonly fileSystem?: OutputFileSystem
}

const systemSurroundings: ExportSurroundings = { now: () => Date.now() * 1000 }

/** The command; `surroundings` defaults to the real system. */
export const exportCommand = (surroundings: ExportSurroundings = systemSurroundings): Command =>
  command(syntax, async (given, terminal) => {
    return faultOfPlace(given) ?? faultOfPin(given) ?? runExport(given, terminal, surroundings)
  })

const faultOfPin = ({ pin, start, end, dataDir = "" }: Options): string | undefined => {
  if (pin === undefined) return undefined
  if (start !== defaultStart || end !== defaultEnd) return "--pin has a window of its own: leave out --start and --end"
  return isOwnDirectory(dataDir)
    ? undefined
    : `--pin: ${dataDir} is an object store, which has no pins; leave out --pin`
}

interface Order extends Options {
  /** `undefined` only with `--dry-run`. */
  readonly output: Destination | undefined
  readonly format: ExportedFormat
  readonly compression: Compression
  readonly startTime: number
  readonly endTime: number
}

/** What `now` means, in µs since the Unix epoch: `isEnd`: the end of a recording. */
interface Present {
  readonly moment: number
  readonly isEnd: boolean
}

/** Checks that involve more than one option; a problem is a text. @throws Misasked */
const readOrder = (given: Options, terminal: Terminal, { moment, isEnd }: Present): Order | string => {
  const { output, dryRun } = given
  if (output === undefined && !dryRun) return "--output FILE is required; - means standard output"
  const name = output?.kind === "store" ? output.url : (output?.path ?? "")
  const format = given.format ?? exportedFormatOf(name) ?? (dryRun || isWithoutExtension(name) ? "ndjson" : undefined)
  if (format === undefined)
    return `--format FORMAT is required (ndjson, simkube, kwok, html): ${quoted(basename(name))} does not imply a format`
  const { compression } = withoutCompressionExtension(name)
  const fault = dryRun ? undefined : terminalFault(name, format, terminal)
  if (fault !== undefined) return fault
  // The window is said as a whole, so its ends need not be.
  const reference = { moment, say: () => undefined }
  const endTime = readMoment("--end", given.end, reference)
  const startTime = readMoment("--start", given.start, reference, endTime)
  if (startTime > moment + clockTolerance && startTime !== endTime)
    return isEnd
      ? `the window starts at ${describeInstant(startTime, moment)}, after the end of the recording at ${describeInstant(moment, moment)}`
      : `the window starts at ${describeInstant(startTime, moment)}, which is in the future; it is now ${formatLocalTime(moment / 1000, moment / 1000)}`
  if (startTime > endTime)
    return `the window ends at ${formatInstant(endTime)}, before its start at ${formatInstant(startTime)}`
  return { ...given, output, format, compression, startTime, endTime }
}

/** `-`, `trace`, `trace.zst`, but not `trace.bar`. */
const isWithoutExtension = (name: string): boolean => {
  const { base } = withoutCompressionExtension(name)
  return !base.slice(base.lastIndexOf("/") + 1).includes(".")
}

/** An empty list would match nothing. */
const anyOf = <Value>(list: readonly Value[]): readonly Value[] | undefined => (list.length === 0 ? undefined : list)

const queryOf = (order: Order, { recorder, idleTimeoutMs, userAgent }: OpenPlace): ExportQuery => ({
  ...order,
  recorder,
  idleTimeoutMs,
  userAgent,
  filters: {
    excluded_namespaces: order.excludeNamespace,
    excluded_labels: order.excludeLabel,
    namespaces: anyOf(order.namespace),
    labels: anyOf(order.label),
    kinds: anyOf(order.kind),
    excluded_kinds: anyOf(order.excludeKind),
    names: anyOf(order.name),
    excluded_names: anyOf(order.excludeName),
  },
  daemonSetOwned: order.daemonsetOwned,
  ownerDeadlineMs: order.ownerTimeout,
  maximumSeconds: order.maximumTime === undefined ? undefined : Math.ceil(order.maximumTime / 1000),
  maximumBytes: order.maximumSize,
})

const runExport = async (
  given: Options,
  terminal: CommandTerminal,
  surroundings: ExportSurroundings,
): Promise<ExitCode | string> => {
  const { say } = terminal
  using interrupted = interruption(terminal)
  using line = progressLine(terminal)
  let progress: ExportProgress | undefined
  let place: OpenPlace | undefined
  const nowMs = surroundings.now() / 1000
  try {
    // A mistake in the command line is found before a recorder is looked for; in a recording's directory, `now` is its end.
    const present = { moment: surroundings.now(), isEnd: false }
    const early = given.dataDir === undefined ? readOrder(given, terminal, present) : undefined
    if (typeof early === "string") return early
    const program = given.transform === undefined ? undefined : await readTransform(given.transform)
    if (typeof program === "string") throw new CommandFailed(program)
    const opened = await openWindow(given, terminal, interrupted.signal)
    place = opened.place
    const { offline } = place.recorder
    const end = offline === undefined ? present : { moment: offline.knownUntil, isEnd: true }
    const order = readOrder({ ...given, ...opened.window }, terminal, end)
    if (typeof order === "string") return order
    if (order.start !== defaultStart || !isOpenEnd(order.end) || offline !== undefined)
      say(describeWindow(order, nowMs * 1000, offline !== undefined))
    const query = await withKinds({ ...queryOf(order, place), transform: program?.text }, interrupted.signal)
    if (typeof query === "string") return query
    const { output } = order
    const writer = given.dataDir === undefined ? "the recorder is" : "reel is"
    const url = output?.kind === "store" ? output.url : localPath
    if (order.dryRun)
      return reportForecast(await requestForecast(query, url, interrupted.signal), query, terminal, nowMs)
    if (output?.kind === "store") {
      progress = showProgress(line, backgroundClock, `${writer} writing`)
      const written = await requestUpload(query, output.url, interrupted.signal)
      progress.close()
      return report(query, { place: written.location, ...written }, terminal, nowMs)
    }
    const path = output?.path ?? "-"
    progress = showProgress(line, backgroundClock, `${writer} preparing the trace`)
    const summary = await exportTrace({
      query,
      openSink: () => openOutput(path, { force: order.force, fileSystem: surroundings.fileSystem }, terminal),
      signal: interrupted.signal,
      onProgress: progress.received,
    })
    progress.close()
    return report(query, { place: path === "-" ? "standard output" : path, ...summary }, terminal, nowMs)
  } finally {
    progress?.close()
    await place?.close()
  }
}

/** The window of a pin has a place of its own. */
const openWindow = async (
  given: Options,
  terminal: CommandTerminal,
  signal: AbortSignal,
): Promise<{ readonly place: OpenPlace; readonly window?: Pick<Options, "start" | "end"> }> => {
  if (given.pin === undefined) return { place: await openPlace(given, terminal, terminal.say, signal) }
  const { openPinnedWindow } = await import("./pins/pinned-window.ts")
  const { place, ...window } = await openPinnedWindow(given, given.pin, terminal, signal)
  return { place, window }
}

/** The parser is loaded only for this option. */
const readTransform = async (file: string): Promise<{ readonly text: string } | string> => {
  const { readProgram } = await import("./transform/written-program.ts")
  return readProgram({ file }, openTraceFile)
}

/** The window as it was understood: in the time zone of this machine, and exactly. */
const describeWindow = ({ startTime, endTime, end }: Order, moment: number, isOffline: boolean): string =>
  [
    `from ${startTime <= 0 ? "the beginning of the recording" : describeInstant(startTime, moment)}`,
    `to ${isOpenEnd(end) && !isOffline ? "now" : describeInstant(endTime, moment)}`,
    ...(isOpenEnd(end) && isOffline ? ["(the end of the recording)"] : []),
  ].join(" ")

const isOpenEnd = (end: string): boolean => end === "now" || end === "end"

/** The query with exact names of kinds. */
const withKinds = async (query: ExportQuery, signal: AbortSignal): Promise<ExportQuery | string> => {
  const { kinds = [], excluded_kinds = [] } = query.filters ?? {}
  const resolved = await resolveKinds([...kinds, ...excluded_kinds], () => requestRecordedKinds(query, signal))
  if ("problem" in resolved) return resolved.problem
  return {
    ...query,
    filters: {
      ...query.filters,
      kinds: anyOf(resolved.slice(0, kinds.length)),
      excluded_kinds: anyOf(resolved.slice(kinds.length)),
    },
  }
}
