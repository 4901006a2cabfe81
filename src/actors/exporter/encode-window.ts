/**
 * Encodes a window in each trace format, in the exporter's own thread: an object is copied for NDJSON in 2 µs, and written in SimKube's
 * format in 3 (docs/decisions/0014).
 *
 * Pieces are of about 64 KiB, with memory of their own; empty ones are pauses. What reading the window and encoding throw is thrown.
 */
import {
  type GapEvent,
  type NdjsonHeader,
  NdjsonWriter,
  type ObjectEvent,
  type OwnedLifecycles,
  type SimkubeTraceWriter,
  type TraceEncoder,
  type TraceHeader,
} from "../../trace/index.ts"
import { type ExportWindow, eventsPerTurn, type LeftOut, type ReplayedWindow } from "./export-window.ts"
import type { KeptOwners } from "./window-owners.ts"

export async function* encodeNdjson(
  header: NdjsonHeader,
  window: ExportWindow | ReplayedWindow,
): AsyncGenerator<Uint8Array, void> {
  const writer = new NdjsonWriter(header)
  let looked = 0
  for (const event of window.snapshot()) {
    if (event !== undefined) writer.addSnapshot(event)
    const piece = writer.take()
    if (piece !== undefined || ++looked % eventsPerTurn === 0) yield piece ?? pause
  }
  for (const event of window.events()) {
    if (event !== undefined) writer.add(event)
    const piece = writer.take()
    if (piece !== undefined || ++looked % eventsPerTurn === 0) yield piece ?? pause
  }
  yield writer.end("unchanged" in window ? window.unchanged : 0)
}

/** Bytes of objects that are encoded between two pauses: some ms of work. */
const bytesPerTurn = 1024 * 1024

/** Only pauses while the window is read; then the trace. `lifecycles` is iterated when the index is complete. */
export async function* encodeSimkube(
  window: ExportWindow,
  writer: SimkubeTraceWriter,
  lifecycles: Iterable<OwnedLifecycles>,
  keptOwners: KeptOwners = () => [],
): AsyncGenerator<Uint8Array, void> {
  let [looked, bytes] = [0, 0]
  const isDue = (event: ObjectEvent | GapEvent | LeftOut): boolean => {
    if (event?.type === "object") bytes += event.object.length
    if (++looked < eventsPerTurn && bytes < bytesPerTurn) return false
    looked = 0
    bytes = 0
    return true
  }
  for (const event of window.snapshot()) {
    if (event !== undefined) writer.addRecordedSnapshot(event, { json: event.object, keptOwners: keptOwners(event) })
    if (isDue(event)) yield pause
  }
  for (const event of window.events()) {
    // SimKube's format cannot represent gaps; the headers of the response report them.
    if (event !== undefined && event.type !== "gap") {
      const { gvk, namespace, name, action, time, object } = event
      if (action === "applied") writer.addRecorded(event, { json: object, keptOwners: keptOwners(event) })
      else writer.add({ gvk, namespace, name, action, time })
    }
    if (isDue(event)) yield pause
  }
  yield* writer.finish(lifecycles)
}

/** For encoders that need only the items, one after another: kwok's, and that of the page in one file. */
export async function* encodeItems(
  header: TraceHeader,
  window: ExportWindow,
  encoder: TraceEncoder,
): AsyncGenerator<Uint8Array, void> {
  encoder.add({ type: "header", ...header })
  let looked = 0
  const isDue = (): boolean => ++looked % eventsPerTurn === 0
  for (const event of window.snapshot()) {
    if (event !== undefined) encoder.add({ type: "event", event, isSnapshot: true })
    for (let piece = encoder.take(); piece !== undefined; piece = encoder.take()) yield Uint8Array.from(piece)
    if (isDue()) yield pause
  }
  for (const event of window.events()) {
    if (event !== undefined) encoder.add({ type: "event", event, isSnapshot: false })
    for (let piece = encoder.take(); piece !== undefined; piece = encoder.take()) yield Uint8Array.from(piece)
    if (isDue()) yield pause
  }
  for (const piece of encoder.finish()) yield Uint8Array.from(piece)
}

const pause = new Uint8Array(0)
