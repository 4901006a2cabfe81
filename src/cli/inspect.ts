/** `reel inspect`: what is in a trace or a recording, as a summary, or in a terminal to be looked through. The parts are in src/cli/inspect. */

import { backgroundClock } from "../clock.ts"
import { visibleInJson } from "../text/index.ts"
import { formatOfFileName, openTraceFile, openTraceItems, type TraceInput, type TraceItems } from "../trace/index.ts"
import { type CommandSyntax, flag, type OptionValues, oneOf, optional, withDefault } from "./command-line/arguments.ts"
import { type Command, type CommandTerminal, command, type Say } from "./command-line/command.ts"
import { type ExitCode, exitCodes } from "./command-line/exit-codes.ts"
import { reading } from "./command-line/failures.ts"
import { formatOption, recorderVariables, temporaryVariables } from "./command-line/shared-options.ts"
import {
  faultOfPlace,
  type OpenPlace,
  openPlace,
  type PlaceOptions,
  placeOfOperand,
  placeOptions,
} from "./export/connection/recorder-place.ts"
import { askCoverage, type CoverageAnswer } from "./export/coverage-table.ts"
import { recordingItems, type Stretch, takeItems } from "./inspect/inspected-items.ts"
import {
  directoryOverview,
  eventsIn,
  overviewJson,
  overviewLines,
  type RecordingOverview,
  recorderOverview,
} from "./inspect/recording-overview.ts"
import { type CountedRecording, RecordingParts, type WantedPart } from "./inspect/recording-parts.ts"
import type { Reading } from "./inspect/screen/screen-session.ts"
import { summaryJson, summaryLines } from "./inspect/summary-lines.ts"
import { TraceSummarizer } from "./inspect/trace-summary.ts"
import { readWindow } from "./past/moments.ts"
import { interruption, isLive, type Terminal } from "./terminal/terminal.ts"

// What a command line names to be inspected: a trace, a directory, or a recorder.

/** What is inspected. `name`: as it was given. */
type InspectedSubject =
  | { readonly tag: "trace"; readonly name: string; readonly path: string }
  | { readonly tag: "recording"; readonly name: string; readonly place: PlaceOptions }

/** What the operand and the options name; a problem is a text. Only whether it is a directory is looked up. */
const readSubject = async (
  given: PlaceOptions & { readonly from: string | undefined },
  operand: string | undefined,
): Promise<InspectedSubject | string> => {
  const named = [given.server, given.dataDir, given.inCluster].filter((place) => place !== undefined)
  if (operand === "") return "the name of TRACE is empty"
  if (operand !== undefined && named.length > 0)
    return `${JSON.stringify(operand)} and an option each name what to inspect: use only one of them`
  if (operand === undefined && named.length === 0)
    return "missing argument: expected TRACE, DATA-DIR or the URL of a recorder"
  const place = operand === undefined ? given : await placeOfOperand(given, operand)
  if (typeof place === "string") return place
  if (place === undefined)
    return { tag: "trace", name: operand === "-" ? "standard input" : (operand ?? ""), path: operand ?? "" }
  if (given.from !== undefined) return "--from is for a TRACE"
  const fault = faultOfPlace(place)
  if (fault !== undefined) return fault
  return { tag: "recording", name: operand ?? place.dataDir ?? String(place.server ?? "the recorder"), place }
}

const options = {
  output: optional(
    "-o FORMAT",
    "a summary: text, with times of this machine's time zone, or json; default: in a terminal the interactive view, else text",
    oneOf("text", "json"),
  ),
  full: flag({ help: "of a recording: a summary of its events, as of a trace" }),
  start: optional(
    "TIME",
    "of a recording: start of what is read of it, inclusive; a duration counts back from --end, 0 is the beginning. Default: the beginning",
  ),
  end: withDefault(
    "now",
    "TIME",
    "of a recording: end of what is read of it, exclusive; now is, for a directory, the end of the recording",
  ),
  from: formatOption("TRACE"),
  ...placeOptions,
}

const syntax: CommandSyntax<typeof options> = {
  name: "reel inspect",
  summary: "Shows what is in a trace or a recording: a summary, or in a terminal its events and objects.",
  description: [
    "In a terminal: a time line, the events, the objects below their owners, each state with what changed and what reel validate finds in it, search and filters; ? shows the keys, which are those of SimKube's xray and some more. Of a recording the last 200,000 events are in the list; < and > go to those before and after them.",
    "The summary has events by kind, namespace and time, objects, running times of pods, gaps and sizes. A trace is read once for it, whatever its size. Of a recording only counts are read, which takes a moment whatever its size; --full reads its events.",
  ],
  options,
  operand: {
    placeholder: "TRACE|DATA-DIR|URL",
    help: "a trace in any format, - for standard input; a recording's directory, or the address of a stream (s3://BUCKET/PREFIX, gs://, azure://); or a recorder, http://…",
  },
  exitCodes: {
    failed: "the trace cannot be read, or is cut off or damaged; what is before that is shown",
    interrupted: "Ctrl-C, also in the interactive view",
  },
  environment: [...recorderVariables, ...temporaryVariables],
  examples: [
    "reel inspect trace.sktrace",
    "reel inspect day.ndjson.zst -o json | jq .pods",
    "reel inspect /var/lib/kubereel",
    "reel inspect http://127.0.0.1:7777 --full --start -1h",
  ],
  seeAlso: ["reel coverage", "reel validate", "reel events", "docs/guides/history.md"],
}

type Options = OptionValues<typeof options>

/** What tests replace. */
interface InspectSurroundings {
  /** µs since the Unix epoch. */
  readonly now: () => number
  readonly openInput: (path: string) => Promise<TraceInput>
  /** Of a part of a recording; `undefined`: as many as {@link RecordingParts} takes. */
  readonly mostEvents: number | undefined
}

/** The command. */
export const inspectCommand = (surroundings: Partial<InspectSurroundings> = {}): Command =>
  command(syntax, async (given, terminal, [operand]) => {
    const subject = await readSubject(given, operand)
    if (typeof subject === "string") return subject
    const isOfRecording = given.full || given.start !== undefined || given.end !== "now"
    if (subject.tag === "trace" && isOfRecording) return "--full, --start and --end are for recordings"
    const isInteractive =
      given.output === undefined && !given.full && isLive(terminal.standardOutput, terminal.environment)
    if (!isInteractive && isOfRecording && !given.full) return "--start and --end require --full"
    return inspect(subject, given, terminal, {
      ...{ isInteractive, now: () => Date.now() * 1000, openInput: openTraceFile, mostEvents: undefined },
      ...surroundings,
    })
  })

const inspect = async (
  subject: InspectedSubject,
  given: Options,
  terminal: CommandTerminal,
  surroundings: InspectSurroundings & { readonly isInteractive: boolean },
): Promise<ExitCode> => {
  using interrupted = interruption(terminal)
  const nowMs = surroundings.now() / 1000
  const course: Course = {
    ...surroundings,
    given,
    terminal,
    say: terminal.say,
    signal: interrupted.signal,
    giveUp: interrupted.interrupt,
    nowMs,
  }
  return await reading(
    () => subject.name,
    () => (subject.tag === "trace" ? inspectTrace(subject, course) : inspectRecording(subject, course)),
  )
}

interface Course extends InspectSurroundings {
  readonly given: Options
  readonly terminal: Terminal
  readonly say: Say
  readonly signal: AbortSignal
  /** Ends what is being read: a pipe may never continue. */
  readonly giveUp: () => void
  readonly nowMs: number
  readonly isInteractive: boolean
}

const print = ({ standardOutput }: Terminal, lines: ReadonlyArray<string>): void =>
  void standardOutput.write(`${lines.join("\n")}\n`)

const printJson = (terminal: Terminal, document: object): void =>
  print(terminal, [visibleInJson(JSON.stringify(document, undefined, 2))])

/** The interactive view; `undefined`: there is no keyboard. It is loaded when it is needed. `open`: the items of the part that is wanted. */
const look = async (
  name: string,
  { terminal, nowMs }: Course,
  open: (wanted: WantedPart, loading: Reading) => Promise<TraceItems>,
): Promise<ExitCode | undefined> => {
  const { loadEvents, runScreen } = await import("./inspect/screen/screen-session.ts")
  return runScreen({
    ...{ terminal, name, nowMs, clock: backgroundClock },
    load: async (list, wanted, loading) =>
      loadEvents(await open(wanted, loading), list, loading.onProgress, loading.signal),
  })
}

const inspectTrace = async (
  { name, path }: Extract<InspectedSubject, { tag: "trace" }>,
  course: Course,
): Promise<ExitCode> => {
  const { given, signal, giveUp } = course
  const { items, format } = await openTraceItems(await course.openInput(path), {
    ...{ inputName: name, from: given.from ?? formatOfFileName(path), signal },
  })
  const code = course.isInteractive
    ? await look(name, course, async (_, loading) => {
        loading.signal.addEventListener("abort", giveUp, { once: true })
        return items
      })
    : undefined
  if (code !== undefined) return code
  return summarise(items, { name, format, mayBeCut: true }, course)
}

/** Prints the summary of all items. `mayBeCut`: what is before a cut is shown; else it is an error. */
const summarise = async (
  items: TraceItems,
  { name, format, mayBeCut }: { readonly name: string; readonly format: string; readonly mayBeCut: boolean },
  { given, terminal, say, nowMs }: Course,
): Promise<ExitCode> => {
  const summarizer = new TraceSummarizer()
  const cut = await takeItems(items, (item) => summarizer.add(item))
  if (cut !== undefined && !mayBeCut) throw cut
  if (cut !== undefined) say(`${name} is cut off or damaged: ${cut.message}. What is before that is shown`)
  const summary = summarizer.summary()
  if (given.output === "json") printJson(terminal, summaryJson(name, format, summary, cut?.message ?? null))
  else print(terminal, summaryLines(name, format, summary, nowMs))
  return cut === undefined ? exitCodes.ok : exitCodes.failed
}

const inspectRecording = async (
  { name, place: options }: Extract<InspectedSubject, { tag: "recording" }>,
  course: Course,
): Promise<ExitCode> => {
  const { given, terminal, say, signal, nowMs } = course
  const now = (): number => Math.floor(course.now())
  let place: OpenPlace | undefined
  const open = async (): Promise<OpenPlace> => {
    place ??= await openPlace(options, terminal, say, signal)
    return place
  }
  const overview = async (): Promise<RecordingOverview> => {
    const { directory } = await open()
    return directory === undefined ? recorderOverview(await open(), now(), signal) : directoryOverview(directory)
  }
  const stretch = ({ recorder }: OpenPlace, start: string): Stretch =>
    readWindow({ start, end: given.end }, { moment: recorder.offline?.knownUntil ?? now(), say })
  try {
    if (course.isInteractive) {
      const opened = await open()
      const { start } = stretch(opened, given.start ?? "0")
      const end = (): number => stretch(opened, given.start ?? "0").end
      const isGrowing = given.end === "now" && opened.recorder.offline === undefined
      const parts = await partsOf(opened, { start, end, isGrowing, mostEvents: course.mostEvents }, signal)
      const code = await look(name, course, async (wanted, loading) => {
        const part = await parts.next(wanted, loading.signal)
        loading.onPart(part)
        return recordingItems(opened, part, loading.signal)
      })
      if (code !== undefined) return code
    }
    if (!given.full) {
      const found = await overview()
      if (given.output === "json") printJson(terminal, overviewJson(name, found))
      else print(terminal, overviewLines(name, found, nowMs))
      return exitCodes.ok
    }
    const opened = await open()
    const items = await recordingItems(opened, stretch(opened, given.start ?? "0"), signal)
    // A recorder ends what it sends with its end, so nothing is shown of a part.
    return await summarise(items, { name, format: "recording", mayBeCut: false }, course)
  } finally {
    await place?.close()
  }
}

/** Rejects with an ExportError. */
const partsOf = async (
  place: OpenPlace,
  asked: Omit<CountedRecording, "count" | "since">,
  signal: AbortSignal,
): Promise<RecordingParts> => {
  const ask = async (start: number, end: number, asking: AbortSignal): Promise<CoverageAnswer> =>
    (await askCoverage(place, { start, end }, asking)).coverage
  const { kinds } = await ask(asked.start, asked.end(), signal)
  const starts = kinds.flatMap(({ ranges }) => ranges.slice(0, 1).map(({ start }) => start))
  const count: CountedRecording["count"] = async (start, end, ended) => eventsIn(await ask(start, end, ended))
  return new RecordingParts({ ...asked, count, since: Math.min(asked.end(), ...starts) })
}
