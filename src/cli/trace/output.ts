/** Where commands write a trace: a file, compressed by its name, or standard output for `-`. */
import { randomBytes } from "node:crypto"
import { type OutputFileSystem, type OutputSink, openOutputFile, streamOutput } from "../../trace/files/output-file.ts"
import { type Compression, withoutCompressionExtension } from "../../trace/formats/compression-names.ts"
import { type ExitCode, exitCodes } from "../command-line/exit-codes.ts"
import type { Terminal } from "../terminal/terminal.ts"

/** Why a format cannot go there: it is binary, and there is a terminal. `undefined`: it can. */
export const terminalFault = (
  output: string,
  { format, isText }: { readonly format: string; readonly isText: boolean },
  { standardOutput }: Terminal,
): string | undefined =>
  output === "-" && !isText && standardOutput.isTTY === true
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
