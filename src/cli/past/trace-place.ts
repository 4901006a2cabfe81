/** A trace in a file, as a recording in a temporary directory: what can be asked of the one can be asked of the other. */
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { isArchiveError, NoHistoryInTrace, recordTrace } from "../../archive/index.ts"
import { BadTraceError, openTraceFile, openTraceItems } from "../../trace/index.ts"
import { RecordingUnreadable } from "../export/connection/export-errors.ts"

/** A directory that exists until it is closed. */
interface TraceDirectory {
  readonly directory: string
  readonly close: () => Promise<void>
}

/** Rejects with RecordingUnreadable, and with what opening the file rejects with. */
export const traceDirectory = async (path: string, signal: AbortSignal): Promise<TraceDirectory> => {
  const directory = await mkdtemp(join(tmpdir(), "kubereel-trace-"))
  const close = (): Promise<void> => rm(directory, { recursive: true, force: true })
  try {
    const { bytes } = await openTraceFile(path)
    const { items } = await openTraceItems({ bytes, size: undefined }, { inputName: path, from: undefined, signal })
    await recordTrace(directory, items)
    return { directory, close }
  } catch (cause) {
    await close()
    const isKnown = cause instanceof NoHistoryInTrace || cause instanceof BadTraceError || isArchiveError(cause)
    throw isKnown ? new RecordingUnreadable({ message: `${path}: ${cause.message}` }) : cause
  }
}
