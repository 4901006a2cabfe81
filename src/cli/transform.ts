/** `reel transform`: arguments and printing. The language is in src/trace/transform. */

import { existsSync } from "node:fs"
import { availableParallelism } from "node:os"
import { formatLocalTime } from "../local-time.ts"
import { quoted, visible } from "../text/index.ts"
import {
  type ConvertSummary,
  convertInto,
  formatExactJson,
  formatOfFileName,
  type JsonValue,
  type OutputSink,
  openTraceFile,
  TRACE_FORMAT_NAMES,
  type TraceFormatName,
  type TraceInput,
} from "../trace/index.ts"
import {
  faultAt,
  noTransformation,
  runBatch,
  type TransformCounts,
  TransformFailed,
  type TransformSample,
  TransformThreads,
  transformedItems,
} from "../trace/transform/index.ts"
import {
  type CommandSyntax,
  flag,
  type OptionValues,
  oneOf,
  optional,
  refused,
  value,
  withDefault,
} from "./command-line/arguments.ts"
import { type Command, command, type Say } from "./command-line/command.ts"
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
import { differenceLines } from "./past/describe-change.ts"
import { alignedRows } from "./terminal/display-width.ts"
import { progressLine } from "./terminal/live-line.ts"
import { formatBytes, formatCount, formatInteger } from "./terminal/quantities.ts"
import { interruption, type Terminal } from "./terminal/terminal.ts"
import { type ProgramPlace, readProgram, type WrittenProgram } from "./transform/written-program.ts"

// What a program did to a trace: for people a row for each command, with examples of a trial; for programs JSON.

/** Characters of a command that are shown: the rest is in the program. */
const shownOfCommand = 72

/** The line in which a command begins, from 1. */
const lineOf = (text: string, at: number): number => text.slice(0, at).split("\n").length

const commandText = ({ text, program }: WrittenProgram, statement: number): string => {
  const from = program[statement]?.at ?? 0
  const written = text
    .slice(from, program[statement + 1]?.at ?? text.length)
    .replaceAll(/"(?:[^"\\]|\\.)*"|#[^\n]*/gs, (part) => (part.startsWith("#") ? "" : part))
    .replaceAll(/\s+/g, " ")
    .trim()
  return written.length > shownOfCommand ? `${written.slice(0, shownOfCommand - 1)}…` : written
}

/** One line: how much of the trace is different. */
const summaryLine = ({ objects, changed, dropped, inserted }: TransformCounts): string => {
  const parts = [
    `${formatInteger(changed)} changed`,
    `${formatInteger(dropped)} removed`,
    ...(inserted > 0 ? [`${formatInteger(inserted)} inserted`] : []),
  ]
  return `${formatCount(objects, "state")} of objects, ${parts.join(", ")}`
}

/** A row for each command, and what could not be done. */
const commandTable = (written: WrittenProgram, { statements }: TransformCounts): ReadonlyArray<string> => [
  ...alignedRows([
    ["LINE", "COMMAND", "MATCHED", "CHANGED", "DELETED"],
    ...statements.map((count, statement) => {
      const matched = count.kept + count.changed + count.deleted + count.lacking + count.placeless
      return [
        String(lineOf(written.text, written.program[statement]?.at ?? 0)),
        commandText(written, statement),
        ...(written.program[statement]?.type === "insert"
          ? ["–", "–", "–"]
          : [matched, count.changed, count.deleted].map(formatInteger)),
      ]
    }),
  ]),
  ...statements.flatMap(({ lacking, placeless }, statement) => {
    const line = `line ${lineOf(written.text, written.program[statement]?.at ?? 0)}`
    return [
      ...(lacking > 0
        ? [`${line}: ${formatCount(lacking, "state")} without the value to assign stay as they are`]
        : []),
      ...(placeless > 0
        ? [
            `${line}: ${formatCount(placeless, "state")} without a place for the field stay as they are: a parent is no object, or the list is too short`,
          ]
        : []),
    ]
  }),
]

/** Examples of what each command does, field by field. */
const sampleLines = (written: WrittenProgram, { samples }: TransformCounts, nowMs: number): ReadonlyArray<string> =>
  written.program.flatMap((command, statement) => {
    const own = samples.filter((sample) => sample.statement === statement)
    if (own.length === 0) return []
    return [
      "",
      `line ${lineOf(written.text, command.at)}: ${commandText(written, statement)}`,
      ...own.flatMap((sample) => linesOf(sample, nowMs)),
    ]
  })

/** Differences of an example that are shown. */
const shownDifferences = 10

const linesOf = ({ time, subject, differences }: TransformSample, nowMs: number): ReadonlyArray<string> => {
  const head = `  ${formatLocalTime(time / 1000, nowMs)}  ${subject}`
  if (differences.length === 0) return [`${head} is deleted`]
  const shown = differences.slice(0, shownDifferences).map((each) => ({ ...each }))
  return [
    head,
    ...differenceLines({ differences: shown, hasMoreDifferences: differences.length > shownDifferences }).map(
      (line) => `  ${line}`,
    ),
  ]
}

/** The same for programs. */
const reportJson = (
  written: WrittenProgram,
  { objects, changed, dropped, inserted, statements, samples }: TransformCounts,
): object => ({
  ...{ states: objects, changed, removed: dropped, inserted },
  commands: statements.map(({ kept, lacking, placeless, ...count }, statement) => ({
    line: lineOf(written.text, written.program[statement]?.at ?? 0),
    command: commandText(written, statement),
    matched: kept + count.changed + count.deleted + lacking + placeless,
    ...count,
    withoutValue: lacking,
    withoutPlace: placeless,
    samples: samples
      .filter((sample) => sample.statement === statement)
      .map(({ subject, time, differences }) => ({ subject, time, differences })),
  })),
})

const options = {
  output: optional("-o OUT", "the trace to write; - means standard output"),
  expression: optional("-e PROGRAM", "the program itself, instead of its file"),
  dryRun: flag({ help: "write nothing; count what each command would change, with examples" }),
  samples: withDefault("3", "N", "examples for each command of a --dry-run", (given) =>
    /^\d{1,3}$/.test(given) ? value(Number(given)) : refused("expected a number from 0 to 999"),
  ),
  report: withDefault(
    "text",
    "FORMAT",
    "text or json: what was done, on standard error; of a --dry-run on standard output",
    oneOf("text", "json"),
  ),
  from: formatOption("TRACE"),
  to: optional(
    "FORMAT",
    "format of OUT; default: inferred from its name, else that of TRACE by its name",
    oneOf(...TRACE_FORMAT_NAMES),
  ),
  force: flag({ short: "f", help: "overwrite OUT if it exists" }),
}

const syntax: CommandSyntax<typeof options> = {
  name: "reel transform",
  summary: "Changes the objects of a trace by a program: sets and removes fields, deletes and inserts objects.",
  description: [
    "PROGRAM is in SimKube's transform language with what its users miss: ||, !, parentheses, null, lists and objects as values, =~, in, insert, escapes in strings. " +
      "Deletions, SimKube's index and the lives of pods follow the objects. OUT appears only when it is complete.",
  ],
  options,
  operand: {
    placeholder: "TRACE PROGRAM",
    help: "the trace and the file of the program; - means standard input; PROGRAM is left out with --expression",
    isRepeated: true,
  },
  exitCodes: {
    incomplete: "the trace has gaps, or kinds that were not being watched, which the format of OUT cannot say",
    failed: "the program or the trace cannot be read, or a command cannot be carried out; nothing is written",
  },
  environment: temporaryVariables,
  examples: [
    "reel transform day.ndjson.zst changes.skel -o changed.ndjson.zst",
    "reel transform trace.sktrace -e 'remove(status);' -o small.sktrace",
    `reel transform trace.sktrace -e 'modify(@t >= 15m && kind == "Deployment", spec.replicas = 3);' --dry-run`,
    `reel transform trace.sktrace -e 'delete(kind in ["Job", "CronJob"] || metadata.name =~ "^test-");' -o less.sktrace`,
  ],
  seeAlso: ["reel validate", "reel convert", "docs/reference/transform.md"],
}

type Options = OptionValues<typeof options>

/** The command. Tests replace `openInput`, and `now`, which is ms since the Unix epoch. */
export const transformCommand = (
  openInput: (path: string) => Promise<TraceInput> = openTraceFile,
  now: () => number = Date.now,
): Command =>
  command(syntax, async (given, terminal, operands) => {
    const order = readOrder(given, operands, terminal)
    if (typeof order === "string") return order
    const written = await readProgram(order.program, openInput)
    if (typeof written === "string") {
      // A program's line and its caret stay on lines of their own.
      terminal.standardError.write(`${syntax.name}: ${written}\n`)
      return exitCodes.failed
    }
    return runTransform({ ...order, given, written }, terminal, { openInput, now, say: terminal.say })
  })

interface Order {
  readonly trace: string
  readonly output: string | undefined
  readonly to: TraceFormatName
  readonly program: ProgramPlace
}

/** Checks that involve more than one option; a problem is a text. */
const readOrder = (
  given: Options,
  [trace, program, more]: ReadonlyArray<string>,
  terminal: Terminal,
): Order | string => {
  if (trace === undefined) return "missing argument: expected TRACE and PROGRAM"
  if (more !== undefined) return `unexpected argument ${JSON.stringify(more)}`
  if (trace === "" || program === "" || given.output === "") return "a file name is empty"
  if ((program === undefined) === (given.expression === undefined))
    return program === undefined
      ? "the program is missing: its file as the second argument, or --expression PROGRAM"
      : "a PROGRAM and --expression exclude each other"
  if (trace === "-" && program === "-") return "TRACE and PROGRAM cannot both be standard input"
  if (given.dryRun ? given.output !== undefined : given.output === undefined)
    return given.dryRun ? "--dry-run writes nothing; leave out --output" : "--output OUT is required, or --dry-run"
  const output = given.dryRun ? undefined : given.output
  const to =
    given.to ?? (output === undefined ? undefined : formatOfFileName(output)) ?? given.from ?? formatOfFileName(trace)
  if (to === undefined && output !== undefined)
    return `--to FORMAT is required (${TRACE_FORMAT_NAMES.join(", ")}): neither ${quoted(output)} nor ${quoted(trace)} implies a format`
  const fault = output === undefined || to === undefined ? undefined : terminalFault(output, to, terminal)
  if (fault !== undefined) return fault
  return {
    trace,
    output,
    to: to ?? "ndjson",
    program: program === undefined ? { text: given.expression ?? "" } : { file: program },
  }
}

interface Surroundings {
  readonly openInput: (path: string) => Promise<TraceInput>
  readonly now: () => number
  readonly say: Say
}

const runTransform = async (
  { trace, output, to, given, written }: Order & { readonly given: Options; readonly written: WrittenProgram },
  terminal: Terminal,
  { openInput, now, say }: Surroundings,
): Promise<ExitCode> => {
  using interrupted = interruption(terminal)
  using progress = progressLine(terminal)
  await using threads = new TransformThreads({ entry: entry(), threads: availableParallelism(), alone: runBatch })
  let counts: TransformCounts = noTransformation(written.program)
  const outcome = await convertInto({
    inputName: trace === "-" ? "standard input" : trace,
    openInput: () => openInput(trace),
    from: given.from ?? formatOfFileName(trace),
    to,
    excludeOwned: false,
    compression: output === undefined ? "none" : compressionOf(output),
    transform: (items) => {
      // A trace may be read twice.
      counts = noTransformation(written.program)
      const { run, lanes } = threads
      return transformedItems(
        items,
        { program: written.program, run, lanes, samples: given.dryRun ? given.samples : 0 },
        counts,
      )
    },
    openSink: async () => (output === undefined ? nowhere : openOutput(output, { force: given.force }, terminal)),
    signal: interrupted.signal,
    onProgress: ({ bytesRead, size }) =>
      progress.show(
        () =>
          `${formatInteger(counts.objects)} states${size === undefined ? "" : `, ${Math.floor((100 * bytesRead) / Math.max(1, size))} %`}`,
      ),
  })
  progress.close()
  if (outcome._tag === "Converted") {
    print({ output, given, written, counts, nowMs: now() }, outcome.summary, terminal)
    const { leftOut } = outcome.summary
    for (const line of describeLeftOut(leftOut, to)) say(line)
    return saysItsGaps(leftOut) ? exitCodes.ok : exitCodes.incomplete
  }
  const { error } = outcome
  if (error instanceof TransformFailed && error.at !== undefined) {
    const { line, column, excerpt } = faultAt(written.text, error.at, error.message)
    terminal.standardError.write(
      `${syntax.name}: ${trace}: line ${line}, column ${column} of the program: ${visible(error.message)}\n${excerpt}\nNothing was written\n`,
    )
  } else say(error instanceof TransformFailed ? `${trace}: ${error.message}. Nothing was written` : error.message)
  return exitCodeOfFailure(error)
}

/** The bundle beside the command, or of the checkout, else the source. */
const entry = (): URL => {
  for (const place of ["./workers/transform.js", "../../dist/workers/transform.js"]) {
    const url = new URL(place, import.meta.url)
    if (existsSync(url)) return url
  }
  return new URL("../trace/transform/entries/transform.ts", import.meta.url)
}

/** Where a trial writes. */
const nowhere: OutputSink = {
  isDirect: true,
  write: () => Promise.resolve(),
  commit: () => Promise.resolve(),
  discard: () => Promise.resolve(),
}

const print = (
  {
    output,
    given,
    written,
    counts,
    nowMs,
  }: {
    readonly output: string | undefined
    readonly given: Options
    readonly written: WrittenProgram
    readonly counts: TransformCounts
    readonly nowMs: number
  },
  { bytes }: ConvertSummary,
  { standardOutput, standardError }: Terminal,
): void => {
  const stream = given.dryRun ? standardOutput : standardError
  if (given.report === "json") {
    stream.write(`${formatExactJson(reportJson(written, counts) as JsonValue)}\n`)
    return
  }
  const head =
    output === undefined ? summaryLine(counts) : `${placeOf(output)}: ${summaryLine(counts)}, ${formatBytes(bytes)}`
  const lines = [
    head,
    "",
    ...commandTable(written, counts),
    ...(given.dryRun ? sampleLines(written, counts, nowMs) : []),
  ]
  stream.write(lines.map((line) => `${visible(line)}\n`).join(""))
}
