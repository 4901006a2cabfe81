/** Traces that commands write: where to (a file, compressed by its name, or standard output for `-`), and what they lack. */
import { randomBytes } from "node:crypto"
import { visible } from "../../text/index.ts"
import {
  type Compression,
  factsOf,
  isTextView,
  isView,
  type LeftOut,
  type OutputFileSystem,
  type OutputSink,
  openOutputFile,
  streamOutput,
  type TraceFormatName,
  type ViewName,
  withoutCompressionExtension,
} from "../../trace/index.ts"
import { formatCount, formatRecorded } from "../terminal/quantities.ts"
import type { Terminal } from "../terminal/terminal.ts"
import { type ExitCode, exitCodes } from "./exit-codes.ts"

/** Why a format cannot go there: it is binary, and there is a terminal. `undefined`: it can. */
export const terminalFault = (
  output: string,
  format: TraceFormatName | ViewName,
  { standardOutput }: Terminal,
): string | undefined =>
  output === "-" && standardOutput.isTTY === true && !(isView(format) ? isTextView(format) : factsOf(format).isText)
    ? `the ${format} format is binary and cannot be written to a terminal; write it to a file, or redirect the output`
    : undefined

export const compressionOf = (output: string): Compression =>
  output === "-" ? "none" : withoutCompressionExtension(output).compression

/** As messages name it. */
export const placeOf = (output: string): string => (output === "-" ? "standard output" : output)

interface OutputOptions {
  /** Whether a file that exists is overwritten. */
  readonly force: boolean
  /** How a file is opened. Default: {@link openOutputFile}. */
  readonly open?: typeof openOutputFile
  /** Default: Node's. */
  readonly fileSystem?: OutputFileSystem | undefined
}

/** Rejects as opening a file does. */
export const openOutput = async (
  output: string,
  { force, open = openOutputFile, fileSystem }: OutputOptions,
  { standardOutput }: Terminal,
): Promise<OutputSink> =>
  output === "-"
    ? streamOutput(standardOutput)
    : open(output, { force, token: randomBytes(8).toString("hex"), ...(fileSystem && { fileSystem }) })

/** Of a command that could not write its trace. */
export const exitCodeOfFailure = ({ _tag }: { readonly _tag: string }): ExitCode => {
  if (_tag === "ExportInterrupted") return exitCodes.interrupted
  return _tag === "OutputExists" ? exitCodes.usage : exitCodes.failed
}

/** Writes a whole file that replaces none without `force`. Rejects as opening a file does. */
export const writeWholeFile = async (
  path: string,
  bytes: Uint8Array,
  { force, mode }: { readonly force: boolean; readonly mode?: number },
): Promise<void> => {
  const sink = await openOutputFile(path, { force, token: randomBytes(8).toString("hex"), ...(mode && { mode }) })
  try {
    await sink.write(bytes)
    await sink.commit()
  } finally {
    await sink.discard()
  }
}

// What a trace that was written lacks of the one that it was made of, in words that several commands print.

/** Changes that were left out because they change nothing for a replay. */
export const describeUnchanged = (count: number): string =>
  `skipped ${formatCount(count, "change")} that ${count === 1 ? "does" : "do"} not affect a replay, such as changes of status`

/** Whether readers of the output can see that the trace is incomplete, or it is not. */
export const saysItsGaps = ({ gaps, incomplete }: LeftOut): boolean => gaps === 0 && incomplete === 0

/** One line for each category of content that the output format cannot represent. */
export const describeLeftOut = (
  { gaps, incomplete, objects, unchanged, warnings }: LeftOut,
  to: string,
): ReadonlyArray<string> => {
  const lines: string[] = []
  if (gaps > 0)
    lines.push(`the trace is incomplete: it has ${formatCount(gaps, "gap")}, which the ${to} format cannot represent`)
  if (incomplete > 0)
    lines.push(
      `the trace is incomplete: ${incomplete === 1 ? "1 kind was" : `${incomplete} kinds were`} not being watched when it was exported, or not recorded yet at the start of its window`,
    )
  if (objects.size > 0) {
    const kinds = [...objects].map(([gvk, count]) => `${gvk} (${formatRecorded(count)})`)
    lines.push(`the ${to} format cannot represent ${kinds.join(", ")}`)
  }
  if (unchanged > 0) lines.push(describeUnchanged(unchanged))
  lines.push(...warnings)
  // Kinds are those of the trace, which may contain control sequences.
  return lines.map((line) => withoutEndlessWords(visible(line)))
}

/** A damaged trace may have names of any length. Kubernetes' own have at most 253 characters, and a kind a group of as many. */
const withoutEndlessWords = (line: string): string => line.replaceAll(/\S{321,}/g, (word) => `${word.slice(0, 320)}…`)
