/** `reel export`: arguments, and what is done with them. The work is in export-trace.ts, the printing in export-report.ts. */
import { randomBytes } from "node:crypto"
import { type Compression, withoutCompressionExtension } from "../trace/formats/compression-names.ts"
import { factsOf, formatOfFileName, type TraceFormatName } from "../trace/formats/names.ts"
import type { CommandSyntax, OptionValues } from "./arguments.ts"
import { type Command, command } from "./command.ts"
import { type ExitCode, exitCodes } from "./exit-codes.ts"
import { type ExportQuery, localPath, requestForecast, requestUpload } from "./export-client.ts"
import { type ExportError, isExportError } from "./export-errors.ts"
import { type Destination, exportOptions } from "./export-options.ts"
import { report, reportForecast } from "./export-report.ts"
import { type ExportSummary, exportTrace } from "./export-trace.ts"
import { formatInstant, parseInstant } from "./instant.ts"
import { createLiveLine, type LiveLine, systemLiveClock } from "./live-line.ts"
import { type OutputFileSystem, openOutputFile, streamOutput } from "./output-file.ts"
import { formatBytes } from "./quantities.ts"
import { recorderToken } from "./recorder-token.ts"
import { isLive, type Terminal } from "./terminal.ts"
import { UsageError } from "./usage-error.ts"
import { readVersion } from "./version.ts"

const syntax: CommandSyntax<typeof exportOptions> = {
  name: "reel export",
  summary: "Writes what a running recorder has recorded to a file.",
  description: [
    "The file appears when it is complete and has been checked, never before; what failed leaves nothing behind.",
    "TIME is RFC 3339 (2026-11-21T10:00:00Z), Unix seconds, now, or a duration such as -10m, 2h or 1h30m.",
  ],
  options: exportOptions,
  examples: [
    "reel export -o minute.ndjson --start -1m",
    "reel export -o trace.sktrace --exclude-namespace kube-system",
    "reel export -o - --start 2h | jq -c .name",
    "reel export -o s3://traces/shop/monday.sktrace --require all",
    "reel export --dry-run --start 2h",
  ],
}

type Options = OptionValues<typeof exportOptions>

/** What tests replace. */
export interface ExportSurroundings {
  /** µs since the Unix epoch. */
  readonly now: () => number
  readonly fileSystem?: OutputFileSystem
}

const systemSurroundings: ExportSurroundings = { now: () => Date.now() * 1000 }

/** The command; `surroundings` are the machine's by default. */
export const exportCommand = (surroundings: ExportSurroundings = systemSurroundings): Command =>
  command(syntax, async (given, terminal) => {
    const order = readOrder(given, terminal, surroundings)
    if (order instanceof UsageError) {
      terminal.standardError.write(`${order.message}\n`)
      return exitCodes.usage
    }
    return runExport(order, terminal, surroundings)
  })

interface Order extends Options {
  /** `undefined` with `--dry-run` alone. */
  readonly output: Destination | undefined
  readonly format: TraceFormatName
  readonly compression: Compression
  readonly startTime: number
  readonly endTime: number
}

/** What one option alone cannot check. */
const readOrder = (given: Options, terminal: Terminal, { now }: ExportSurroundings): Order | UsageError => {
  const wrong = (problem: string): UsageError => new UsageError({ command: syntax.name, problem })
  const { output, dryRun } = given
  if (output === undefined && !dryRun) return wrong("--output FILE is missing: it must be given; - is standard output")
  const name = output?.kind === "store" ? output.url : (output?.path ?? "")
  const format = given.format ?? formatOfFileName(name) ?? "ndjson"
  const { compression } = withoutCompressionExtension(name)
  if (name === "-" && !factsOf(format).isText && terminal.standardOutput.isTTY === true && !dryRun)
    return wrong(`the ${format} format is not for terminals; write it to a file, or redirect the output`)
  const moment = now()
  const end = parseInstant(given.end, { now: moment, before: moment })
  if (end._tag === "Refused") return wrong(`--end ${JSON.stringify(given.end)}: ${end.reason}`)
  const start = parseInstant(given.start, { now: moment, before: end.value })
  if (start._tag === "Refused") return wrong(`--start ${JSON.stringify(given.start)}: ${start.reason}`)
  const [startTime, endTime] = [start.value, end.value]
  if (startTime > endTime)
    return wrong(`the window ends at ${formatInstant(endTime)}, before it starts at ${formatInstant(startTime)}`)
  return { ...given, output, format, compression, startTime, endTime }
}

/** An empty list would include nothing. */
const anyOf = <Value>(list: readonly Value[]): readonly Value[] | undefined => (list.length === 0 ? undefined : list)

const queryOf = (order: Order, token: string | undefined): ExportQuery => ({
  ...order,
  token,
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
  idleTimeoutMs: order.timeout,
  userAgent: `kubereel/${readVersion()}`,
})

const runExport = async (order: Order, terminal: Terminal, surroundings: ExportSurroundings): Promise<ExitCode> => {
  const abort = new AbortController()
  const stopListening = terminal.onInterrupt(() => abort.abort())
  const progress = createLiveLine({
    stream: terminal.standardError,
    isEnabled: isLive(terminal.standardError, terminal.environment),
    clock: systemLiveClock,
  })
  try {
    const query = queryOf(order, await recorderToken(order.tokenFile, terminal.environment))
    const { output } = order
    const url = output?.kind === "store" ? output.url : localPath
    if (order.dryRun) return reportForecast(await requestForecast(query, url, abort.signal), query, terminal)
    if (output?.kind === "store") {
      progress.show(() => "the recorder is writing")
      const written = await requestUpload(query, output.url, abort.signal)
      progress.close()
      return report(query, { place: written.location, events: undefined, ...written }, terminal)
    }
    const path = output?.path ?? "-"
    const summary = await writeTrace(query, path, order.force, abort.signal, progress, terminal, surroundings)
    progress.close()
    return report(query, { place: path === "-" ? "standard output" : path, ...summary }, terminal)
  } catch (cause) {
    if (!isExportError(cause)) throw cause
    progress.close()
    terminal.standardError.write(`${syntax.name}: ${cause.message}\n`)
    return exitCodeOf(cause)
  } finally {
    progress.close()
    stopListening()
  }
}

const writeTrace = (
  query: ExportQuery,
  path: string,
  force: boolean,
  signal: AbortSignal,
  progress: LiveLine,
  terminal: Terminal,
  { fileSystem }: ExportSurroundings,
): Promise<ExportSummary> =>
  exportTrace({
    query,
    openSink: async () =>
      path === "-"
        ? streamOutput(terminal.standardOutput)
        : openOutputFile(path, {
            force,
            token: randomBytes(8).toString("hex"),
            ...(fileSystem === undefined ? {} : { fileSystem }),
          }),
    signal,
    onProgress: (bytes) => progress.show(() => `exporting: ${formatBytes(bytes)}`),
  })

const exitCodeOf = (error: ExportError): ExitCode => {
  switch (error._tag) {
    case "ExportInterrupted":
      return exitCodes.interrupted
    case "OutputExists":
    case "TokenUnreadable":
      return exitCodes.usage
    case "ExportRefused":
      return error.status === 401 || error.status === 403 ? exitCodes.notPermitted : exitCodes.failed
    case "ServerUnreachable":
    case "ExportCut":
    case "OutputFailed":
      return exitCodes.failed
  }
}
