/** Reads items into the list of the interactive view, and validates them, while the keyboard stays answered. */
import type { TraceItems } from "../../../trace/formats/decoded-items.ts"
import type { TraceItem } from "../../../trace/trace-item.ts"
import { TraceValidation } from "../../../validation/trace-validation.ts"
import { formatCount } from "../../terminal/quantities.ts"
import { takeItems } from "../inspected-items.ts"
import { type EventList, namespacePrefix } from "./event-list.ts"

/** ms of work between two turns of the event loop: a key is answered before anyone notices a delay. */
const turnMs = 20

/** Takes all items. Resolves with what the user should know of the whole, empty if there is nothing. Rejects as the items do, and with SpoolError. */
export const loadEvents = async (
  items: TraceItems,
  list: EventList,
  onProgress: () => void,
  signal: AbortSignal,
): Promise<string> => {
  const validation = new TraceValidation({ namespacePrefix })
  let gaps = 0
  let incomplete = 0
  const cut = await takeItems(inTurns(items, onProgress, signal), (item) => {
    validation.add(item)
    list.judgement.configure(item)
    if (item.type === "header") incomplete = item.incomplete.length
    if (item.type !== "event") return
    if (item.event.type === "object") list.add(item.event, item.isSnapshot)
    else gaps++
  })
  list.judgement.settle(validation.finish().rules.flatMap(({ findings }) => findings))
  const notes = [
    ...(cut === undefined ? [] : [`cut off or damaged: ${cut.message}`]),
    ...(incomplete === 0 ? [] : [`incomplete kinds: ${incomplete}`]),
    ...(gaps === 0 ? [] : [`${formatCount(gaps, "gap")}, where changes are missing: -o text names them`]),
  ]
  return notes.join("; ")
}

async function* inTurns(
  items: TraceItems,
  onProgress: () => void,
  signal: AbortSignal,
): AsyncGenerator<Iterable<TraceItem>, void> {
  let turnEnds = performance.now() + turnMs
  for await (const chunk of items) {
    if (signal.aborted) return
    yield chunk
    if (performance.now() < turnEnds) continue
    onProgress()
    await new Promise((resolve) => setImmediate(resolve))
    turnEnds = performance.now() + turnMs
  }
}
