/** `reel inspect`: what is in a trace or a recording, as a summary. The parts are in src/cli/inspect. */
import { stat } from "node:fs/promises"
import { resolve } from "node:path"
import { withLocalTimes } from "../local-time.ts"
import { visible } from "../recorder/configuration/quoted.ts"
import { ExportInterrupted } from "../trace/files/output-errors.ts"
import { InputUnreadable, openTraceFile, type TraceInput } from "../trace/files/trace-input.ts"
import { openTraceItems } from "../trace/files/trace-items.ts"
import { DecompressionError } from "../trace/formats/compression.ts"
import { BadTraceError } from "../trace/formats/format.ts"
import { formatOfFileName, TRACE_FORMAT_NAMES } from "../trace/formats/names.ts"
import {
  type CommandSyntax,
  flag,
  type OptionValues,
  oneOf,
  optional,
  text,
  withDefault,
} from "./command-line/arguments.ts"
import { type Command, command } from "./command-line/command.ts"
import { type ExitCode, exitCodes } from "./command-line/exit-codes.ts"
import { parseInstant } from "./command-line/instant.ts"
import { UsageError } from "./command-line/usage-error.ts"
import { recorderVariables } from "./command-line/variables.ts"
import {
  faultOfPlace,
  openPlace,
  type PlaceOptions,
  parseServer,
  placeOptions,
} from "./export/connection/recorder-place.ts"
import { exitCodeOfExport, isExportError } from "./export/export-errors.ts"
import { recordingItems, type Stretch, takeItems } from "./inspect/inspected-items.ts"
import { overviewJson, overviewLines } from "./inspect/overview-text.ts"
import { directoryOverview, recorderOverview } from "./inspect/recording-overview.ts"
import { summaryJson } from "./inspect/summary-json.ts"
import { summaryLines } from "./inspect/summary-lines.ts"
import { TraceSummarizer } from "./inspect/trace-summary.ts"
import type { Terminal } from "./terminal/terminal.ts"

const options = {
  output: withDefault("text", {
    short: "o",
    placeholder: "FORMAT",
    help: "text, with times of this machine's time zone; or json",
    parse: oneOf("text", "json"),
  }),
  full: flag({ help: "of a recording: read its events, as of a trace" }),
  start: withDefault("0", {
    placeholder: "TIME",
    help: "of a recording with --full: start of the window, inclusive; a duration counts back from --end. 0 is the beginning of the recording",
    parse: text,
  }),
  end: withDefault("now", {
    placeholder: "TIME",
    help: "of a recording with --full: end of the window, exclusive; now is, for a directory, the end of the recording",
    parse: text,
  }),
  from: optional({
    placeholder: "FORMAT",
    help: `format of TRACE: ${TRACE_FORMAT_NAMES.join(", ")}; default: inferred from its name, else from its first bytes`,
    parse: oneOf(...TRACE_FORMAT_NAMES),
  }),
  ...placeOptions,
}

const syntax: CommandSyntax<typeof options> = {
  name: "reel inspect",
  summary: "Shows what is in a trace or a recording: events by kind and time, objects, pods, gaps, sizes.",
  description: [
    "A trace is read once, whatever its size. Of a recording only counts are read, which takes a moment whatever its size; --full reads its events.",
  ],
  options,
  operand: {
    placeholder: "TRACE|DATA-DIR|URL",
    help: "a trace in any format, - for standard input; a recording's directory; or a recorder, http://…",
  },
  exitCodes: { failed: "the trace is cut off or damaged; what is before that is shown" },
  environment: recorderVariables,
  examples: [
    "reel inspect trace.sktrace",
    "reel inspect day.ndjson.zst -o json | jq .pods",
    "reel inspect /var/lib/kubereel",
    "reel inspect http://127.0.0.1:7777 --full --start -1h",
  ],
  seeAlso: ["reel coverage", "reel validate", "reel events", "docs/guides/recordings.md"],
}

type Options = OptionValues<typeof options>

/** What is inspected. */
type Subject =
  | { readonly tag: "trace"; readonly path: string }
  | { readonly tag: "recording"; readonly name: string; readonly place: PlaceOptions }

/** What tests replace. */
interface InspectSurroundings {
  /** µs since the Unix epoch. */
  readonly now?: () => number
  readonly openInput?: (path: string) => Promise<TraceInput>
}

/** The command. */
export const inspectCommand = (surroundings: InspectSurroundings = {}): Command =>
  command(syntax, async (given, terminal, [operand]) => {
    const subject = await readSubject(given, operand)
    if (typeof subject === "string") return refuse(subject, terminal)
    return inspect(subject, given, terminal, {
      now: () => Date.now() * 1000,
      openInput: openTraceFile,
      ...surroundings,
    })
  })

const refuse = (problem: string, { standardError }: Terminal): ExitCode => {
  standardError.write(`${new UsageError({ command: syntax.name, problem }).message}\n`)
  return exitCodes.usage
}

/** What the operand and the options name; a problem is a text. */
const readSubject = async (given: Options, operand: string | undefined): Promise<Subject | string> => {
  const named = [given.server, given.dataDir, given.inCluster].filter((place) => place !== undefined)
  if (operand === "") return "the name of TRACE is empty"
  if (operand !== undefined && named.length > 0)
    return `${JSON.stringify(operand)} and an option each name what to inspect: use only one of them`
  const isUrl = operand !== undefined && /^https?:\/\//i.test(operand)
  const isDirectory = operand !== undefined && !isUrl && operand !== "-" && (await isDirectoryAt(operand))
  let place: PlaceOptions = given
  if (isUrl) {
    const server = parseServer(operand)
    if (server._tag === "Refused") return `${JSON.stringify(operand)}: ${server.reason}`
    place = { ...given, server: server.value }
  } else if (isDirectory) place = { ...given, dataDir: operand }
  else if (operand !== undefined) {
    const fault = given.full || given.start !== "0" || given.end !== "now"
    return fault ? "--full, --start and --end are for recordings" : { tag: "trace", path: operand }
  } else if (named.length === 0) return "missing argument: expected TRACE, DATA-DIR or the URL of a recorder"
  if (given.from !== undefined) return "--from is for a TRACE"
  if (!given.full && (given.start !== "0" || given.end !== "now")) return "--start and --end require --full"
  const fault = faultOfPlace(place)
  if (fault !== undefined) return fault
  return { tag: "recording", name: operand ?? place.dataDir ?? String(place.server ?? "the recorder"), place }
}

const isDirectoryAt = (path: string): Promise<boolean> =>
  // What else is wrong with it is reported when it is opened.
  stat(path).then(
    (status) => status.isDirectory(),
    () => false,
  )

const isKnown = (error: unknown): error is Error =>
  [BadTraceError, DecompressionError, InputUnreadable, ExportInterrupted].some((known) => error instanceof known)

const inspect = async (
  subject: Subject,
  given: Options,
  terminal: Terminal,
  surroundings: Required<InspectSurroundings>,
): Promise<ExitCode> => {
  const say = (line: string): void => void terminal.standardError.write(`${syntax.name}: ${visible(line)}\n`)
  const abort = new AbortController()
  const stopListening = terminal.onInterrupt(() => abort.abort())
  const { signal } = abort
  const nowMs = surroundings.now() / 1000
  try {
    return subject.tag === "trace"
      ? await summarizeTrace(subject.path, given, { terminal, say, signal, nowMs, openInput: surroundings.openInput })
      : await summarizeRecording(subject, given, { terminal, say, signal, nowMs })
  } catch (error) {
    if (isExportError(error)) {
      say(error._tag === "ExportRefused" ? withLocalTimes(error.message, nowMs) : error.message)
      return exitCodeOfExport(error)
    }
    if (!isKnown(error)) throw error
    const name = subject.tag === "trace" ? nameOf(subject.path) : subject.name
    const isWhole = error instanceof InputUnreadable || error instanceof ExportInterrupted
    say(isWhole ? error.message : `${name}: ${error.message}`)
    return error instanceof ExportInterrupted ? exitCodes.interrupted : exitCodes.failed
  } finally {
    stopListening()
  }
}

const nameOf = (path: string): string => (path === "-" ? "standard input" : path)

interface Course {
  readonly terminal: Terminal
  readonly say: (line: string) => void
  readonly signal: AbortSignal
  readonly nowMs: number
}

const print = ({ standardOutput }: Terminal, lines: ReadonlyArray<string>): void =>
  void standardOutput.write(`${lines.join("\n")}\n`)

const asJson = (document: object): ReadonlyArray<string> => [JSON.stringify(document, undefined, 2)]

const summarizeTrace = async (
  path: string,
  given: Options,
  { terminal, say, signal, nowMs, openInput }: Course & Pick<Required<InspectSurroundings>, "openInput">,
): Promise<ExitCode> => {
  const name = nameOf(path)
  const opening = { inputName: name, from: given.from ?? formatOfFileName(path), signal }
  const { items, format } = await openTraceItems(await openInput(path), opening)
  const summarizer = new TraceSummarizer()
  const cut = await takeItems(items, (item) => summarizer.add(item))
  if (cut !== undefined) say(`${name} is cut off or damaged: ${cut.message}. What is before that is shown`)
  const summary = summarizer.summary()
  const isJson = given.output === "json"
  print(
    terminal,
    isJson
      ? asJson(summaryJson(name, format, summary, cut?.message ?? null))
      : summaryLines(name, format, summary, nowMs),
  )
  return cut === undefined ? exitCodes.ok : exitCodes.failed
}

const summarizeRecording = async (
  { name, place: options }: Extract<Subject, { tag: "recording" }>,
  given: Options,
  { terminal, say, signal, nowMs }: Course,
): Promise<ExitCode> => {
  const isJson = given.output === "json"
  if (options.dataDir !== undefined && !given.full) {
    const overview = directoryOverview(resolve(options.dataDir))
    print(terminal, isJson ? asJson(overviewJson(name, overview)) : overviewLines(name, overview, nowMs))
    return exitCodes.ok
  }
  const place = await openPlace(options, terminal, say, signal)
  try {
    if (!given.full) {
      const overview = await recorderOverview(place, Math.floor(nowMs * 1000), signal)
      print(terminal, isJson ? asJson(overviewJson(name, overview)) : overviewLines(name, overview, nowMs))
      return exitCodes.ok
    }
    const stretch = stretchOf(given, place.recorder.offline?.knownUntil ?? Math.floor(nowMs * 1000))
    if (typeof stretch === "string") return refuse(stretch, terminal)
    const summarizer = new TraceSummarizer()
    const cut = await takeItems(await recordingItems(place, stretch, signal), (item) => summarizer.add(item))
    // A recorder ends what it sends with its end, so nothing is shown of a part.
    if (cut !== undefined) throw cut
    const summary = summarizer.summary()
    print(
      terminal,
      isJson ? asJson(summaryJson(name, "ndjson", summary, null)) : summaryLines(name, "recording", summary, nowMs),
    )
    return exitCodes.ok
  } finally {
    await place.close()
  }
}

/** µs since the Unix epoch, or what is wrong with it. `moment`: what `now` means. */
const stretchOf = (given: Options, moment: number): Stretch | string => {
  const end = parseInstant(given.end, { now: moment, before: moment })
  if (end._tag === "Refused") return `--end ${JSON.stringify(given.end)}: ${end.reason}`
  const start = parseInstant(given.start, { now: moment, before: end.value })
  if (start._tag === "Refused") return `--start ${JSON.stringify(given.start)}: ${start.reason}`
  return start.value > end.value ? "the window ends before its start" : { start: start.value, end: end.value }
}
