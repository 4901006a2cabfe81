/** `reel import audit`: arguments, progress and exit codes. The work is in src/audit. */

import { stat } from "node:fs/promises"
import { ArchiveWriter, openForReading } from "../archive/index.ts"
import { describeLosses, type ImportProgress, type ImportSummary, importAudit, importAuthors } from "../audit/index.ts"
import { describeRedacted } from "../kube/offline.ts"
import { defaultExceptions, isExcepted, isException } from "../recorder/index.ts"
import { quoted, visible } from "../text/index.ts"
import {
  formatOfFileName,
  openOutputForEnd,
  openTraceFile,
  type TraceFormatName,
  type TraceInput,
} from "../trace/index.ts"
import {
  type CommandSyntax,
  flag,
  list,
  type OptionValues,
  oneOf,
  optional,
  refused,
  value,
  withDefault,
} from "./command-line/arguments.ts"
import { type Command, type CommandTerminal, command } from "./command-line/command.ts"
import { type ExitCode, exitCodes } from "./command-line/exit-codes.ts"
import {
  outputFormatOption,
  parseOwnDirectory,
  redactionOptions,
  temporaryVariables,
} from "./command-line/shared-options.ts"
import {
  compressionOf,
  describeLeftOut,
  exitCodeOfFailure,
  openOutput,
  placeOf,
  terminalFault,
} from "./command-line/written-trace.ts"
import { parseOutput } from "./export/export-options.ts"
import { loadedConfiguration, redactionKeyFrom } from "./record/loaded-configuration.ts"
import { progressLine } from "./terminal/live-line.ts"
import { formatBytes, formatCount, formatInteger } from "./terminal/quantities.ts"
import { interruption, type Terminal } from "./terminal/terminal.ts"

// What an import says at its end: what was written, and what the logs did not have, by kind and reason.

/** Whether the trace lacks something that happened. What was not written while the logs were made is not counted. */
const isIncomplete = ({ gaps, sent, unknown, leftOut }: ImportSummary): boolean =>
  gaps > 0 || sent.size > 0 || unknown.count > 0 || leftOut.gaps > 0

/** The first line follows the name of the trace; the others are sentences. */
const reportLines = (summary: ImportSummary, format: TraceFormatName): ReadonlyArray<string> => {
  const { changes, gaps, bytes, writes, texts, repetitions, found, unseenDeletions, superseded, late, leftOut } =
    summary
  const withGaps = gaps === 0 ? "" : ` and ${formatCount(gaps, "gap")}`
  const lines = [
    `${formatCount(changes, "change")}${withGaps}, ${formatBytes(bytes)}, out of ${formatCount(writes, "write")} in ${formatCount(texts, "entry").replace(/entrys$/, "entries")}`,
  ]
  for (const [gvk, reasons] of summary.losses) lines.push(`${gvk}: no objects for ${describeLosses(reasons)}`)
  for (const [gvk, count] of summary.sent)
    lines.push(
      `${gvk}: ${formatCount(count, "state")} as sent by clients, without what the server filled in, which level RequestResponse logs`,
    )
  lines.push(
    `objects that were not written while the logs were made are not in the trace${found === 0 ? "" : `; ${formatInteger(found)} that existed before ${found === 1 ? "appears" : "appear"} with the first change`}`,
  )
  if (repetitions > 0) lines.push(`${formatCount(repetitions, "write")} left out that the logs have twice`)
  if (unseenDeletions > 0)
    lines.push(`${formatCount(unseenDeletions, "deletion")} left out of objects that the logs had not shown before`)
  if (superseded > 0)
    lines.push(`${formatCount(superseded, "change")} left out that the logs have after a newer one of the same object`)
  if (late > 0)
    lines.push(`${formatCount(late, "change")} more than 5 s out of order: they have the time of the one before`)
  if (summary.redacted.length > 0) lines.push(`values replaced: ${describeRedacted(summary.redacted)}`)
  lines.push(...unknownLines(summary))
  return [...lines, ...describeLeftOut(leftOut, format)]
}

/** The same for programs. */
const reportJson = (
  place: string,
  { losses, sent, unknown, leftOut, ...summary }: ImportSummary,
  format: TraceFormatName,
): object => ({
  ...{ trace: place, format, bytes: summary.bytes, entries: summary.texts },
  ...{ writes: summary.writes, repeatedWrites: summary.repetitions, changes: summary.changes, gaps: summary.gaps },
  lost: [...losses].flatMap(([kind, reasons]) => [...reasons].map(([reason, changes]) => ({ kind, reason, changes }))),
  asSent: [...sent].map(([kind, states]) => ({ kind, states })),
  ...{ foundObjects: summary.found, unseenDeletions: summary.unseenDeletions },
  ...{ supersededChanges: summary.superseded, lateChanges: summary.late },
  redacted: summary.redacted,
  unknownEntries: unknown,
  leftOut: { ...leftOut, objects: [...leftOut.objects].map(([kind, count]) => ({ kind, count })) },
  isComplete: !isIncomplete({ ...summary, losses, sent, unknown, leftOut }),
})

/** The first few by place. */
const unknownLines = ({ unknown }: ImportSummary): ReadonlyArray<string> => {
  const shown = unknown.first.map(({ log, line, found }) => `${log}:${line}: no audit entry: ${found}`)
  const rest = unknown.count - shown.length
  return rest > 0 ? [...shown, `and ${formatInteger(rest)} more`] : shown
}

// How far an import is, as one line.

/** `size`: bytes of all logs; `undefined` if it is not known. */
const describeProgress = (
  { bytesRead, changes, isWriting }: Readonly<ImportProgress>,
  size: number | undefined,
): string => {
  const found = formatCount(changes, "change")
  if (isWriting) return `writing: ${found}`
  const read = formatBytes(bytesRead)
  return size === undefined ? `reading: ${found}, ${read}` : `reading: ${found}, ${read} of ${formatBytes(size)}`
}

const options = {
  output: optional("-o TRACE", "where to write the trace; - means standard output (required)", parseOutput),
  into: optional(
    "DIRECTORY",
    "instead of a trace: add who wrote what to the recording in DIRECTORY, which no recorder may be writing; adding it again changes nothing",
    parseOwnDirectory,
  ),
  format: outputFormatOption("TRACE"),
  except: list(
    "KIND",
    `leave out a kind, such as v1.Event, or a group, such as metrics.k8s.io/*; always left out: ${defaultExceptions.join(", ")}`,
    (given) =>
      isException(given)
        ? value(given)
        : refused("write a kind as group/version.Kind or v1.Kind, or all kinds of a group as group/*"),
  ),
  config: optional(
    "FILE",
    "a recorder's configuration, of which the rules of redaction count here; default: the default rules",
  ),
  ...redactionOptions,
  report: withDefault(
    "text",
    "FORMAT",
    "text or json: what was imported and what the logs lack, on standard error",
    oneOf("text", "json"),
  ),
  force: flag({ short: "f", help: "overwrite TRACE if it exists" }),
}

const syntax: CommandSyntax<typeof options> = {
  name: "reel import",
  summary: "Makes a trace out of the audit logs of a cluster that has no recorder.",
  description: [
    "Reads what an API server logs or sends to its webhook, whatever wraps it: prefixes of lines, JSON of collectors and of clouds (EKS, AKS, GKE), compressed or not, several files in any order. " +
      "The audit policy must log writes at level RequestResponse: other levels lack objects, which is reported, and the trace has gaps for it.",
    "Objects that were not written while the logs were made are not in the trace; those that existed before appear with their first change.",
    "TRACE appears only when it is complete. The exit code is 3 if anything that happened is missing.",
  ],
  options,
  operand: {
    placeholder: "audit LOG",
    help: "the logs; - means standard input",
    count: 2,
    isRepeated: true,
  },
  exitCodes: {
    incomplete:
      "the logs have changes without the objects that these led to, objects as they were sent, or lines that are no audit entries",
    failed: "a log cannot be read, or has no successful write; nothing is written",
  },
  environment: temporaryVariables,
  examples: [
    "reel import audit audit.log -o day.ndjson.zst",
    "reel import audit audit-*.log.gz audit.log -o day.ndjson.zst --except v1.Event",
    "reel import audit audit.log --into /var/lib/kubereel",
    "gcloud logging read 'protoPayload.serviceName=\"k8s.io\"' --format json | reel import audit - -o day.ndjson.zst",
  ],
  seeAlso: ["reel record", "reel convert", "docs/guides/audit-logs.md"],
}

type Options = OptionValues<typeof options>

/** The command. `openInput`: tests replace it. */
export const importCommand = (openInput: (path: string) => Promise<TraceInput> = openTraceFile): Command =>
  command(syntax, async (given, terminal, [source = "", ...logs]) => {
    if (source === "audit" && given.into !== undefined)
      return given.output === undefined
        ? runAuthors(given.into, logs, terminal, openInput)
        : "--into adds to a recording: leave out --output"
    const order = readOrder(given, source, logs, terminal)
    return typeof order === "string" ? order : runImport(order, given, terminal, openInput)
  })

interface Order {
  readonly logs: ReadonlyArray<string>
  readonly output: string
  readonly format: TraceFormatName
}

/** Checks that involve more than one option; a problem is a text. */
const readOrder = (
  { output, format }: Options,
  source: string,
  logs: ReadonlyArray<string>,
  terminal: Terminal,
): Order | string => {
  if (source !== "audit") return `${quoted(source)} cannot be imported; there is audit`
  if (logs.includes("")) return "the name of a LOG is empty"
  const twice = logs.find((log, index) => logs.indexOf(log) !== index)
  if (twice !== undefined) return `${quoted(twice)} is given twice`
  if (output === undefined) return "--output TRACE is required; - means standard output"
  const to = format ?? formatOfFileName(output) ?? "ndjson"
  const fault = terminalFault(output, to, terminal)
  return fault ?? { logs, output, format: to }
}

const runImport = async (
  { logs, output, format }: Order,
  { except, secretsInPlainText, config, redactKeyFile, report, force }: Options,
  terminal: CommandTerminal,
  openInput: (path: string) => Promise<TraceInput>,
): Promise<ExitCode> => {
  const { say } = terminal
  const redactionKey = await redactionKeyFrom(redactKeyFile)
  const loaded = config === undefined ? undefined : await loadedConfiguration(config, { secretsInPlainText }, say)
  using interrupted = interruption(terminal)
  using progress = progressLine(terminal)
  const exceptions = [...defaultExceptions, ...except]
  const size = await sizeOf(logs)
  const outcome = await importAudit({
    ...{ logs, openInput, format, redactionKey, secretsInPlainText, redaction: loaded?.redaction },
    isExcluded: (gvk) => isExcepted(exceptions, gvk),
    compression: compressionOf(output),
    openSink: () => openOutput(output, { force, open: openOutputForEnd }, terminal),
    signal: interrupted.signal,
    onProgress: (done) => progress.show(() => describeProgress(done, size)),
  })
  progress.close()
  if (outcome.tag === "failed") {
    say(outcome.error.message)
    return exitCodeOfFailure(outcome.error)
  }
  const place = placeOf(output)
  if (report === "json") terminal.standardError.write(`${JSON.stringify(reportJson(place, outcome.summary, format))}\n`)
  else {
    const [first, ...rest] = reportLines(outcome.summary, format)
    terminal.standardError.write(`${visible(place)}: ${first}\n`)
    for (const line of rest) say(line)
  }
  return isIncomplete(outcome.summary) ? exitCodes.incomplete : exitCodes.ok
}

const runAuthors = async (
  directory: string,
  logs: ReadonlyArray<string>,
  terminal: CommandTerminal,
  openInput: (path: string) => Promise<TraceInput>,
): Promise<ExitCode> => {
  const size = await sizeOf(logs)
  // A writer would begin a new recording where there is none.
  openForReading(directory).close()
  const writer = ArchiveWriter.open(directory)
  try {
    using interrupted = interruption(terminal)
    using progress = progressLine(terminal)
    const outcome = await importAuthors({
      ...{ logs, openInput, signal: interrupted.signal },
      onProgress: (done) => progress.show(() => describeProgress(done, size)),
      add: (writes, range) => writer.addAuthors(writes, range),
    })
    progress.close()
    if (outcome.tag === "failed") {
      terminal.say(outcome.error.message)
      return exitCodeOfFailure(outcome.error)
    }
    const { writes, kept, unknown } = outcome.summary
    terminal.say(`${formatCount(writes, "write")} read, and who made ${formatInteger(kept)} of them is kept`)
    if (unknown > 0) terminal.say(`${formatInteger(unknown)} texts are no audit entries`)
    return unknown > 0 ? exitCodes.incomplete : exitCodes.ok
  } finally {
    writer.close()
  }
}

/** Bytes of all logs; `undefined` if one of them is a pipe, or cannot be read, which is reported when it is its turn. */
const sizeOf = async (logs: ReadonlyArray<string>): Promise<number | undefined> => {
  const sizes = await Promise.all(
    logs.map((log) =>
      log === "-"
        ? undefined
        : stat(log).then(
            (status) => (status.isFile() ? status.size : undefined),
            () => undefined,
          ),
    ),
  )
  return sizes.reduce((sum, size) => (sum === undefined || size === undefined ? undefined : sum + size), 0)
}
