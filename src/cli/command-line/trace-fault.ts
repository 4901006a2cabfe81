/** What can be wrong with a trace that a command reads: a line for people, and the exit code. */
import { ExportInterrupted } from "../../trace/files/output-errors.ts"
import { InputUnreadable } from "../../trace/files/trace-input.ts"
import { DecompressionError } from "../../trace/formats/compression.ts"
import { BadTraceError } from "../../trace/formats/format.ts"
import { SpoolError } from "../../trace/spool.ts"
import { type ExitCode, exitCodes } from "./exit-codes.ts"

const faults = [BadTraceError, DecompressionError, InputUnreadable, SpoolError, ExportInterrupted]

/** `name`: of the trace, for faults of its content. `undefined`: the error is a defect. */
export const traceFault = (
  error: unknown,
  name: string,
): { readonly line: string; readonly exitCode: ExitCode } | undefined => {
  if (!(error instanceof Error && faults.some((fault) => error instanceof fault))) return undefined
  const isOfContent = error instanceof BadTraceError || error instanceof DecompressionError
  const exitCode = error instanceof ExportInterrupted ? exitCodes.interrupted : exitCodes.failed
  return { line: isOfContent ? `${name}: ${error.message}` : error.message, exitCode }
}
