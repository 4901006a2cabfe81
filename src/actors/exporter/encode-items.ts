/**
 * Encodes a window in a trace format whose encoder needs only the items, one after another. Used for kwok's; NDJSON and SimKube's format
 * have their own, faster encoders.
 */
import type { TraceEncoder } from "../../trace/formats/format.ts"
import type { TraceHeader } from "../../trace/trace-item.ts"
import { type ExportWindow, eventsPerTurn } from "./export-window.ts"

/** Pieces of about 64 KiB with their own memory; empty ones are pauses. Throws what reading the window and the encoder throw. */
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
    const piece = encoder.take()
    if (piece !== undefined) yield Uint8Array.from(piece)
    else if (isDue()) yield pause
  }
  for (const event of window.events()) {
    if (event !== undefined) encoder.add({ type: "event", event, isSnapshot: false })
    const piece = encoder.take()
    if (piece !== undefined) yield Uint8Array.from(piece)
    else if (isDue()) yield pause
  }
  for (const piece of encoder.finish()) yield Uint8Array.from(piece)
}

const pause = new Uint8Array(0)
