/** The items that are inspected: of a trace in a file or a pipe, or of a stretch of a recording, which is exported for it in full. */
import {
  BadTraceError,
  DecompressionError,
  decodedItems,
  ndjsonDecoder,
  type TraceItem,
  type TraceItems,
} from "../../trace/index.ts"
import type { OpenPlace } from "../export/connection/recorder-place.ts"
import { requestExport } from "../export/export-client.ts"

/** µs since the Unix epoch; the end is exclusive. */
export interface Stretch {
  readonly start: number
  readonly end: number
}

/** What a recording has of a stretch, with the state at its start. Rejects with an ExportError; so does taking the items. */
export const recordingItems = async (
  place: OpenPlace,
  { start, end }: Stretch,
  signal: AbortSignal,
): Promise<TraceItems> => {
  const { recorder, idleTimeoutMs, userAgent } = place
  const response = await requestExport(
    {
      ...{ recorder, idleTimeoutMs, userAgent, startTime: start, endTime: end, format: "ndjson", compression: "none" },
      ...{ owned: "include", daemonSetOwned: "include", ownerDeadlineMs: 0, sanitise: "none" },
    },
    signal,
  )
  return decodedItems(response.pieces, ndjsonDecoder())
}

/**
 * Takes all items. Returns why they end early, if bytes are missing or damaged and something was read before; `undefined`: they are whole. Rejects with every
 * other error of the source.
 */
export const takeItems = async (
  items: TraceItems,
  take: (item: TraceItem) => void,
): Promise<BadTraceError | DecompressionError | undefined> => {
  let isBegun = false
  try {
    for await (const chunk of items)
      for (const item of chunk) {
        take(item)
        if (item.type === "event") isBegun = true
      }
  } catch (error) {
    const isAboutBytes = error instanceof BadTraceError || error instanceof DecompressionError
    if (!isAboutBytes || !isBegun) throw error
    return error
  }
  return undefined
}
