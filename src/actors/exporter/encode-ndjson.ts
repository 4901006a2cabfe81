/** Encodes a window as NDJSON. Objects are copied in 2 µs per event, so the exporter's own thread is enough. */
import type { NdjsonHeader } from "../../trace/formats/ndjson/ndjson.ts"
import { NdjsonWriter } from "../../trace/formats/ndjson/ndjson-writer.ts"
import { type ExportWindow, eventsPerTurn } from "./export-window.ts"
import type { ReplayedWindow } from "./replayed-window.ts"

/** Pieces of about 64 KiB; empty ones are pauses. Throws what reading the window throws. */
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

const pause = new Uint8Array(0)
