/** `reel export`: arguments and printing. The work is in export-trace.ts. */
import { randomBytes } from "node:crypto"
import { fileURLToPath } from "node:url"
import { type LabelRequirement, parseLabelSelector } from "../tracer/configuration/label-selector.ts"
import {
  type CommandSyntax,
  flag,
  list,
  type OptionValues,
  oneOf,
  optional,
  type Reading,
  refused,
  text,
  value,
  withDefault,
} from "./arguments.ts"
import { type Command, command } from "./command.ts"
import { type ExitCode, exitCodes } from "./exit-codes.ts"
import type { LabelSelector } from "./export-client.ts"
import type { ExportError } from "./export-errors.ts"
import { type ExportSummary, exportTrace } from "./export-trace.ts"
import { formatInstant, parseDuration, parseInstant } from "./instant.ts"
import { createLiveLine, systemLiveClock } from "./live-line.ts"
import { type OutputFileSystem, openOutputFile, streamOutput } from "./output-file.ts"
import { formatBytes, formatCount } from "./quantities.ts"
import { isLive, type Terminal } from "./terminal.ts"
import type { TraceFormat } from "./trace-check.ts"
import { UsageError } from "./usage-error.ts"
import { readVersion } from "./version.ts"

const parseServer = (given: string): Reading<URL> => {
  const url = URL.parse(/^[a-z][a-z0-9+.-]*:\/\//i.test(given) ? given : `http://${given}`)
  return url === null || !/^https?:$/.test(url.protocol) || url.hostname === ""
    ? refused("it must be a URL such as http://127.0.0.1:7777")
    : value(url)
}

/** A path; `-` for standard output. Object stores are refused: a file named `s3:/…` is nobody's wish. */
const parseOutput = (given: string): Reading<string> => {
  if (/^file:\/\//i.test(given)) {
    const url = URL.parse(given)
    return url === null || url.host !== "" ? refused("it is not the URL of a local file") : value(fileURLToPath(url))
  }
  const scheme = /^([a-z][a-z0-9+.-]*):\/\//i.exec(given)?.[1]
  return scheme === undefined
    ? text(given)
    : refused(`${scheme} is not supported; name a file, or - for standard output`)
}

const parseTimeout = (given: string): Reading<number> => {
  const duration = parseDuration(given)
  if (duration === undefined || duration === 0) return refused("it must be a duration such as 30s or 2m")
  // Longer timers overflow in Node and would fire at once.
  return value(Math.min(Math.ceil(duration / 1000), 2 ** 31 - 1))
}

const parseExcludedLabel = (given: string): Reading<LabelSelector> => {
  const reading = parseLabelSelector(given)
  return reading._tag === "Refused" ? refused(reading.reason) : toLabelSelector(reading.requirements)
}

/** The line form as the object that SimKube's request carries, which knows no comparisons. */
const toLabelSelector = (requirements: readonly LabelRequirement[]): Reading<LabelSelector> => {
  const matchExpressions: NonNullable<LabelSelector["matchExpressions"]>[number][] = []
  for (const { key, operator, values } of requirements) {
    if (operator === "GreaterThan" || operator === "LessThan") return refused("> and < cannot be used in an export")
    matchExpressions.push(values.length === 0 ? { key, operator } : { key, operator, values })
  }
  return value({ matchExpressions })
}

/** SimKube's own client exports the last half hour; scripts that move over get the same window. */
const defaultStart = "-30m"

const options = {
  output: optional({
    short: "o",
    placeholder: "FILE",
    help: "where to write the trace; - is standard output (required)",
    parse: parseOutput,
  }),
  format: optional({
    placeholder: "FORMAT",
    help: "ndjson (complete) or simkube (what SimKube 2 replays); default: simkube for a FILE that ends with .sktrace, else ndjson",
    parse: oneOf("ndjson", "simkube"),
  }),
  start: withDefault(defaultStart, {
    placeholder: "TIME",
    help: "begin of the window, included; a duration counts back from --end",
    parse: text,
  }),
  end: withDefault("now", {
    placeholder: "TIME",
    help: "end of the window, excluded; a duration counts back from now",
    parse: text,
  }),
  excludeNamespace: list({
    placeholder: "NAME",
    help: "leave out the objects of this namespace; several are separated by commas",
    parse: text,
    split: true,
  }),
  excludeLabel: list({
    placeholder: "SELECTOR",
    help: "leave out objects whose labels match, such as app=web,tier in (a,b)",
    parse: parseExcludedLabel,
    split: false,
  }),
  owned: optional({
    placeholder: "MODE",
    help: "include or exclude what objects of the trace own (a ReplicaSet of an exported Deployment); default: exclude in simkube, include in ndjson",
    parse: oneOf("include", "exclude"),
  }),
  daemonsetOwned: optional({
    placeholder: "MODE",
    help: "include or exclude what a DaemonSet owns; default as for --owned",
    parse: oneOf("include", "exclude"),
  }),
  ownerTimeout: optional({
    placeholder: "DURATION",
    help: "how long the recorder may look up owners it does not know; default: 5s",
    parse: parseTimeout,
  }),
  force: flag({ short: "f", help: "replace FILE if it exists" }),
  server: withDefault("http://127.0.0.1:7777", {
    short: "s",
    placeholder: "URL",
    help: "the recorder to ask",
    parse: parseServer,
  }),
  timeout: withDefault("2m", {
    placeholder: "DURATION",
    help: "give up when nothing comes for so long",
    parse: parseTimeout,
  }),
}

const syntax: CommandSyntax<typeof options> = {
  name: "reel export",
  summary: "Writes what a running recorder has recorded to a file.",
  description: [
    "The file appears when it is complete and has been checked, never before; what failed leaves nothing behind.",
    "TIME is RFC 3339 (2026-11-21T10:00:00Z), Unix seconds, now, or a duration such as -10m, 2h or 1h30m.",
  ],
  options,
  examples: [
    "reel export -o minute.ndjson --start -1m",
    "reel export -o trace.sktrace --exclude-namespace kube-system",
    "reel export -o - --start 2h | jq -c .name",
  ],
}

type Options = OptionValues<typeof options>

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
  readonly output: string
  readonly format: TraceFormat
  readonly startTime: number
  readonly endTime: number
}

/** What one option alone cannot check. */
const readOrder = (given: Options, terminal: Terminal, { now }: ExportSurroundings): Order | UsageError => {
  const wrong = (problem: string): UsageError => new UsageError({ command: syntax.name, problem })
  const { output } = given
  if (output === undefined) return wrong("--output FILE is missing: it must be given; - is standard output")
  const format = given.format ?? (output.endsWith(".sktrace") ? "simkube" : "ndjson")
  if (output === "-" && format === "simkube" && terminal.standardOutput.isTTY === true)
    return wrong("the simkube format is not for terminals; write it to a file, or redirect the output")
  const moment = now()
  const end = parseInstant(given.end, { now: moment, before: moment })
  if (end._tag === "Refused") return wrong(`--end ${JSON.stringify(given.end)}: ${end.reason}`)
  const start = parseInstant(given.start, { now: moment, before: end.value })
  if (start._tag === "Refused") return wrong(`--start ${JSON.stringify(given.start)}: ${start.reason}`)
  const [startTime, endTime] = [start.value, end.value]
  if (startTime >= endTime)
    return wrong(`the window is empty: it starts at ${formatInstant(startTime)} and ends at ${formatInstant(endTime)}`)
  return { ...given, output, format, startTime, endTime }
}

const runExport = async (order: Order, terminal: Terminal, { fileSystem }: ExportSurroundings): Promise<ExitCode> => {
  const abort = new AbortController()
  const stopListening = terminal.onInterrupt(() => abort.abort())
  const progress = createLiveLine({
    stream: terminal.standardError,
    isEnabled: isLive(terminal.standardError, terminal.environment),
    clock: systemLiveClock,
  })
  try {
    const outcome = await exportTrace({
      query: {
        ...order,
        excludedNamespaces: order.excludeNamespace,
        excludedLabels: order.excludeLabel,
        daemonSetOwned: order.daemonsetOwned,
        ownerDeadlineMs: order.ownerTimeout,
        idleTimeoutMs: order.timeout,
        userAgent: `kubereel/${readVersion()}`,
      },
      openSink: async () =>
        order.output === "-"
          ? streamOutput(terminal.standardOutput)
          : openOutputFile(order.output, {
              force: order.force,
              token: randomBytes(8).toString("hex"),
              ...(fileSystem === undefined ? {} : { fileSystem }),
            }),
      signal: abort.signal,
      onProgress: (bytes) => progress.show(() => `exporting: ${formatBytes(bytes)}`),
    })
    progress.close()
    if (outcome._tag === "Exported") return report(order, outcome.summary, terminal)
    terminal.standardError.write(`${syntax.name}: ${outcome.error.message}\n`)
    return exitCodeOf(outcome.error)
  } finally {
    progress.close()
    stopListening()
  }
}

const report = (order: Order, summary: ExportSummary, terminal: Terminal): ExitCode => {
  const events = summary.events === undefined ? "" : `${formatCount(summary.events, "event")}, `
  const window = `${formatInstant(order.startTime)} to ${formatInstant(order.endTime)}`
  const place = order.output === "-" ? "standard output" : order.output
  terminal.standardError.write(`${place}: ${events}${formatBytes(summary.bytes)}, ${window}\n`)
  if (summary.incomplete !== undefined)
    terminal.standardError.write(
      `${syntax.name}: the trace is incomplete: ${summary.incomplete}. ${order.server.origin}/readyz?verbose says why\n`,
    )
  if (summary.gaps > 0)
    terminal.standardError.write(
      `${syntax.name}: the trace is incomplete: it has ${formatCount(summary.gaps, "gap")}, so changes are missing or may be; a trace in NDJSON says where and why\n`,
    )
  if (summary.unknownOwners !== undefined)
    terminal.standardError.write(
      `${syntax.name}: owners are not known yet: ${summary.unknownOwners}. What they own was taken for unowned; a longer --owner-timeout may help\n`,
    )
  // No reason for exit code 3: every export of this recording in this format lacks them.
  if (summary.leftOut !== undefined)
    terminal.standardError.write(
      `${syntax.name}: SimKube's format has no place for ${summary.leftOut}; --format ndjson has everything\n`,
    )
  const isComplete = summary.incomplete === undefined && summary.gaps === 0 && summary.unknownOwners === undefined
  return isComplete ? exitCodes.ok : exitCodes.incomplete
}

const exitCodeOf = (error: ExportError): ExitCode => {
  switch (error._tag) {
    case "ExportInterrupted":
      return exitCodes.interrupted
    case "OutputExists":
      return exitCodes.usage
    case "ExportRefused":
      return error.status === 401 || error.status === 403 ? exitCodes.notPermitted : exitCodes.failed
    case "ServerUnreachable":
    case "ExportCut":
    case "OutputFailed":
      return exitCodes.failed
  }
}
