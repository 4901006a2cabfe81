/** `reel convert`: arguments and printing. The work is in src/trace/files. */

import { basename } from "node:path"
import { type Clock, systemClock } from "../clock.ts"
import { quoted, visible } from "../text/index.ts"
import {
  type ConvertProgress,
  type ConvertSummary,
  convertInto,
  type Delivery,
  type EndpointCompression,
  formatOfFileName,
  type OtlpSink,
  type OutputFileSystem,
  openTraceFile,
  otlpEndpoint,
  TRACE_FORMAT_NAMES,
  type TraceFormatName,
  type TraceInput,
  VIEW_NAMES,
  type ViewName,
  viewOfFileName,
} from "../trace/index.ts"
import {
  type CommandSyntax,
  type DescribedName,
  flag,
  type OptionValues,
  oneOf,
  optional,
  withDefault,
} from "./command-line/arguments.ts"
import { type Command, type CommandTerminal, command } from "./command-line/command.ts"
import { type ExitCode, exitCodes } from "./command-line/exit-codes.ts"
import { formatOption, temporaryVariables } from "./command-line/shared-options.ts"
import {
  compressionOf,
  describeLeftOut,
  exitCodeOfFailure,
  openOutput,
  placeOf,
  saysItsGaps,
  terminalFault,
} from "./command-line/written-trace.ts"
import { progressLine } from "./terminal/live-line.ts"
import { formatBytes, formatCount, formatDuration, formatRecorded } from "./terminal/quantities.ts"
import { interruption, type Terminal } from "./terminal/terminal.ts"

// What `reel convert` reads of an OTLP endpoint: its address, and headers and compression in the variables that OpenTelemetry's exporters use.

/** Of each, the first that is set counts. */
const HEADER_VARIABLES = ["OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS"]
const COMPRESSION_VARIABLES = ["OTEL_EXPORTER_OTLP_TRACES_COMPRESSION", "OTEL_EXPORTER_OTLP_COMPRESSION"]

/** For the help of the command. */
const endpointVariables: readonly DescribedName[] = [
  [
    "OTEL_EXPORTER_OTLP_HEADERS",
    "headers for an OTLP endpoint, as NAME=VALUE,NAME=VALUE; OTEL_EXPORTER_OTLP_TRACES_HEADERS takes precedence",
  ],
  [
    "OTEL_EXPORTER_OTLP_COMPRESSION",
    "compression of requests to an OTLP endpoint: gzip, or none (default); OTEL_EXPORTER_OTLP_TRACES_COMPRESSION takes precedence",
  ],
]

/** Whether an output is the address of an endpoint and not a file. */
export const isEndpoint = (output: string): boolean => /^https?:\/\//i.test(output)

/** What is wrong with the address; `undefined`: nothing. */
export const problemOfEndpoint = (output: string): string | undefined => {
  if (!URL.canParse(output)) return "the address of the endpoint is not a URL"
  const { username, password } = new URL(output)
  // The address is in messages, which are in logs.
  if (username !== "" || password !== "")
    return "the address of the endpoint contains credentials; put them in OTEL_EXPORTER_OTLP_HEADERS"
  return undefined
}

/** A header: its name and its value. */
type EndpointHeader = readonly [name: string, value: string]

/** How requests are sent, or what is wrong with that in words that do not quote headers: they may be secret. */
type EndpointSettings =
  | {
      readonly _tag: "Settings"
      readonly headers: ReadonlyArray<EndpointHeader>
      readonly compression: EndpointCompression
    }
  | { readonly _tag: "BadEndpoint"; readonly problem: string }

type Environment = Readonly<Record<string, string | undefined>>

/** What the environment says. */
export const endpointSettings = (environment: Environment): EndpointSettings => {
  const headers = headersIn(environment)
  if (typeof headers === "string") return { _tag: "BadEndpoint", problem: headers }
  const { name, value: compression } = firstSet(COMPRESSION_VARIABLES, environment) ?? { name: "", value: "none" }
  if (compression !== "gzip" && compression !== "none")
    return { _tag: "BadEndpoint", problem: `${name}: must be gzip or none` }
  return { _tag: "Settings", headers, compression }
}

const firstSet = (names: ReadonlyArray<string>, environment: Environment) =>
  names.map((name) => ({ name, value: environment[name] ?? "" })).find(({ value }) => value !== "")

/** W3C baggage without properties, values percent-encoded. A problem is a text. */
const headersIn = (environment: Environment): ReadonlyArray<EndpointHeader> | string => {
  const set = firstSet(HEADER_VARIABLES, environment)
  if (set === undefined) return []
  const headers: EndpointHeader[] = []
  const entries = set.value.split(",")
  for (const [index, entry] of entries.entries()) {
    if (entry.trim() === "") continue
    const header = headerIn(entry)
    if (header === undefined)
      return `${set.name}: entry ${index + 1} of ${entries.length} is not NAME=VALUE with a value in percent-encoding`
    headers.push(header)
  }
  return headers
}

const headerIn = (entry: string): EndpointHeader | undefined => {
  const equals = entry.indexOf("=")
  if (equals === -1) return undefined
  try {
    const name = decodeURIComponent(entry.slice(0, equals).trim())
    const value = decodeURIComponent(entry.slice(equals + 1).trim())
    // Throws for what no header can be.
    new Headers([[name, value]])
    return [name, value]
  } catch {
    // decodeURIComponent and Headers have no other errors than that the text is wrong.
    return undefined
  }
}

/** What OUT can be: a trace, or a view of one. */
type OutputName = TraceFormatName | ViewName

const outputNames: ReadonlyArray<OutputName> = [...TRACE_FORMAT_NAMES, ...VIEW_NAMES]

const options = {
  from: formatOption("IN"),
  to: optional(
    "FORMAT",
    `format of OUT: one of those, or a view, which is never read back: ${VIEW_NAMES.join(", ")}; default: inferred from its name`,
    oneOf(...outputNames),
  ),
  owned: withDefault(
    "include",
    "MODE",
    "include or exclude objects that other objects of the trace own, directly or indirectly, but for the lifecycles of their pods; controllers create them again on replay",
    oneOf("include", "exclude"),
  ),
  force: flag({ short: "f", help: "overwrite OUT if it exists" }),
}

const syntax: CommandSyntax<typeof options> = {
  name: "reel convert",
  summary: "Converts a trace to another format, or to a view for another program.",
  description: [
    "Compressed input is detected regardless of its name; OUT is compressed if its name ends with .zst or .gz.",
    "OUT appears only when it is complete. Converting a SimKube trace to NDJSON and back reproduces it byte for byte.",
    "With perfetto, OUT shows the lives of objects, pods and containers in the Perfetto UI; with parquet, it is a table of events.",
    "With otlp, the same lives are OpenTelemetry spans: in a file, or sent to a collector if OUT is an address such as http://collector:4318/v1/traces.",
    "With html, OUT is one page that shows them, and what changed.",
  ],
  options,
  operand: {
    placeholder: "IN OUT",
    help: "the input and output files; - means standard input or standard output; OUT may be the address of an OTLP endpoint",
    count: 2,
  },
  exitCodes: {
    incomplete:
      "the trace has gaps, or kinds that were not being watched, which the format of OUT cannot say; or the endpoint rejected some spans",
  },
  environment: [...temporaryVariables, ...endpointVariables],
  examples: [
    "reel convert trace.sktrace trace.ndjson.zst",
    "reel convert day.ndjson.zst day.sktrace --owned exclude",
    "reel convert day.ndjson recording.yaml.gz",
    "reel convert trace.sktrace - --to ndjson | jq -c .name",
    "reel convert day.ndjson.zst day.pftrace",
    "reel convert day.ndjson.zst day.parquet",
    "reel convert hour.ndjson hour.html",
    "reel convert day.ndjson.zst http://localhost:4318/v1/traces",
  ],
  seeAlso: ["reel export", "reel transform", "docs/reference/trace-formats.md", "docs/reference/trace-views.md"],
}

type Options = OptionValues<typeof options>

/** Dependencies that tests replace. */
export interface ConvertSurroundings {
  readonly openInput: (path: string) => Promise<TraceInput>
  /** Monotonic ms. */
  readonly now: () => number
  readonly fileSystem?: OutputFileSystem
  /** Waits for endpoints. Default: the system's clock. */
  readonly clock?: Clock
}

const systemSurroundings: ConvertSurroundings = { openInput: openTraceFile, now: () => performance.now() }

/** The command; `surroundings` defaults to the real system. */
export const convertCommand = (surroundings: ConvertSurroundings = systemSurroundings): Command =>
  command(syntax, async (given, terminal, [input = "", output = ""]) => {
    const order = readOrder(given, input, output, terminal)
    return typeof order === "string" ? order : runConversion(order, terminal, surroundings)
  })

interface Order {
  readonly input: string
  readonly output: string
  readonly from: TraceFormatName | undefined
  readonly to: OutputName
  readonly excludeOwned: boolean
  readonly force: boolean
  /** Absent: OUT is a file. */
  readonly endpoint?: Extract<EndpointSettings, { readonly _tag: "Settings" }>
}

/** Checks that involve more than one option; a problem is a text. */
const readOrder = (given: Options, input: string, output: string, terminal: Terminal): Order | string => {
  if (input === "" || output === "") return "a file name is empty"
  const endpoint = isEndpoint(output) ? readEndpoint(given, output, terminal) : undefined
  if (endpoint?._tag === "BadEndpoint") return endpoint.problem
  // The names of some views end with that of a format: .otlp.jsonl.
  const to = endpoint !== undefined ? "otlp" : (given.to ?? viewOfFileName(output) ?? formatOfFileName(output))
  if (to === undefined) {
    const what = output === "-" ? "standard output" : quoted(basename(output))
    return `--to FORMAT is required (${outputNames.join(", ")}): ${what} does not imply a format`
  }
  const fault = terminalFault(output, to, terminal)
  if (fault !== undefined) return fault
  return {
    input,
    output,
    from: given.from ?? formatOfFileName(input),
    to,
    excludeOwned: given.owned === "exclude",
    force: given.force,
    ...(endpoint !== undefined && { endpoint }),
  }
}

/** What is only asked of endpoints. */
const readEndpoint = ({ to }: Options, output: string, { environment }: Terminal): EndpointSettings => {
  const problem =
    to === undefined || to === "otlp"
      ? problemOfEndpoint(output)
      : `an endpoint takes --to otlp only, and not ${to}; to write a file, name the file`
  return problem === undefined ? endpointSettings(environment) : { _tag: "BadEndpoint", problem }
}

const runConversion = async (
  order: Order,
  terminal: CommandTerminal,
  { openInput, now, fileSystem, clock = systemClock }: ConvertSurroundings,
): Promise<ExitCode> => {
  using interrupted = interruption(terminal)
  using progress = progressLine(terminal)
  const started = now()
  const endpoint =
    order.endpoint === undefined
      ? undefined
      : otlpEndpoint({
          url: order.output,
          headers: order.endpoint.headers,
          compression: order.endpoint.compression,
          signal: interrupted.signal,
          clock,
          random: Math.random,
        })
  const outcome = await convertInto({
    inputName: order.input === "-" ? "standard input" : order.input,
    openInput: () => openInput(order.input),
    from: order.from,
    to: order.to,
    excludeOwned: order.excludeOwned,
    compression: endpoint === undefined ? compressionOf(order.output) : "none",
    openSink: async () => endpoint ?? openOutput(order.output, { force: order.force, fileSystem }, terminal),
    signal: interrupted.signal,
    onProgress: (state) => progress.show(() => describeProgress(state, now() - started)),
  })
  progress.close()
  if (outcome._tag === "Converted") return report(order, outcome.summary, endpoint, terminal)
  terminal.say(outcome.error.message)
  if (endpoint !== undefined && outcome.error._tag === "ExportInterrupted")
    terminal.say(describeDelivery(endpoint.delivery))
  return exitCodeOfFailure(outcome.error)
}

/** The size of a pipe is unknown, so the time left is shown for files only. */
const describeProgress = (
  { objects, events, bytesRead, size, passes }: Readonly<ConvertProgress>,
  elapsedMs: number,
): string => {
  // A file that is read twice counts half for each pass.
  const read = size === undefined ? bytesRead : bytesRead / passes
  const done = `converting: ${formatRecorded(objects + events)}, ${formatBytes(read)}`
  if (size === undefined || size === 0 || read === 0) return done
  const share = Math.min(1, read / size)
  return `${done} of ${formatBytes(size)}, ${formatDuration((elapsedMs * (1 - share)) / share)} left`
}

const report = (
  order: Order,
  summary: ConvertSummary,
  endpoint: OtlpSink | undefined,
  { standardError, say }: CommandTerminal,
): ExitCode => {
  const { objects, events } = summary
  const atStart = objects === 0 ? "" : `${formatCount(objects, "object")} at the start, `
  const counts = `${atStart}${formatCount(events, "event")}, ${formatBytes(summary.bytes)}`
  standardError.write(`${visible(placeOf(order.output))}: ${counts}, ${summary.from} to ${order.to}\n`)
  for (const line of describeLeftOut(summary.leftOut, order.to)) say(line)
  if (endpoint !== undefined) say(describeDelivery(endpoint.delivery))
  const isComplete = saysItsGaps(summary.leftOut) && (endpoint?.delivery.rejected ?? 0) === 0
  return isComplete ? exitCodes.ok : exitCodes.incomplete
}

/** Collectors also send warnings without a span that was rejected. */
const describeDelivery = ({ spans, rejected, message }: Delivery): string => {
  const taken = `the endpoint took ${formatCount(spans, "span")}`
  if (rejected > 0) return `${taken} and rejected ${formatCount(rejected, "span")}: ${message ?? "it does not say why"}`
  return message === undefined ? taken : `${taken}, and says: ${message}`
}
