/** Writes the repaired trace of `reel validate --fix`. */
import { type ConvertError, convertInto } from "../../trace/files/convert-file.ts"
import type { TraceInput } from "../../trace/files/trace-input.ts"
import type { LeftOut } from "../../trace/formats/format.ts"
import type { TraceFormatName } from "../../trace/formats/names.ts"
import type { Findings } from "../../validation/findings.ts"
import { type RepairCounts, repairing } from "../../validation/repair.ts"
import type { ValidationOptions } from "../../validation/trace-validation.ts"
import type { Terminal } from "../terminal/terminal.ts"
import { compressionOf, openOutput } from "../trace/output.ts"

/** What to repair, and where to. */
export interface FixOrder {
  readonly inputName: string
  /** The same trace as was validated, from its beginning. */
  readonly openInput: () => Promise<TraceInput>
  readonly from: TraceFormatName
  /** `-` is standard output. */
  readonly output: string
  readonly to: TraceFormatName
  readonly isForced: boolean
  readonly findings: Findings
  readonly options: ValidationOptions
  readonly signal: AbortSignal
}

/** The number of states that were changed, and what the format cannot represent; or why nothing was written. */
export const writeFixed = async (
  order: FixOrder,
  terminal: Terminal,
): Promise<(RepairCounts & { readonly leftOut: LeftOut }) | ConvertError> => {
  const counts: RepairCounts = { states: 0 }
  const outcome = await convertInto({
    inputName: order.inputName,
    openInput: order.openInput,
    from: order.from,
    to: order.to,
    excludeOwned: false,
    filter: repairing(order.findings, order.options, counts),
    compression: compressionOf(order.output),
    openSink: () => openOutput(order.output, { force: order.isForced }, terminal),
    signal: order.signal,
    onProgress: () => undefined,
  })
  return outcome._tag === "Converted" ? { ...counts, leftOut: outcome.summary.leftOut } : outcome.error
}
