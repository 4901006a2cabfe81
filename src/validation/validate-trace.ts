/** Checks a trace that is being read, as far as it can be read. */
import { DecompressionError } from "../trace/formats/compression.ts"
import { BadTraceError } from "../trace/formats/format.ts"
import type { TraceItem } from "../trace/trace-item.ts"
import { TraceValidation, type ValidationOptions, type ValidationReport } from "./trace-validation.ts"

/** A report, and whether it is of the whole trace. */
export interface ValidatedTrace {
  readonly report: ValidationReport
  readonly validation: TraceValidation
  /** Why the trace could not be read to its end, with the byte; absent: it was. */
  readonly cut?: BadTraceError | DecompressionError
}

/** Reads all items. Rejects with the error of the source, unless that is about the bytes and some objects were read before. */
export const validateTrace = async (
  items: AsyncIterable<Iterable<TraceItem>>,
  options: ValidationOptions,
): Promise<ValidatedTrace> => {
  const validation = new TraceValidation(options)
  let isBegun = false
  try {
    for await (const chunk of items)
      for (const item of chunk) {
        validation.add(item)
        if (item.type === "event") isBegun = true
      }
  } catch (error) {
    const isAboutBytes = error instanceof BadTraceError || error instanceof DecompressionError
    if (!isAboutBytes || !isBegun) throw error
    return { report: validation.finish(), validation, cut: error }
  }
  return { report: validation.finish(), validation }
}
