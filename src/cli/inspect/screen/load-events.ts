/** Reads items into the list of the interactive view, and validates them, while the keyboard stays answered. */
import type { TraceItems } from "../../../trace/formats/decoded-items.ts"
import type { TraceItem } from "../../../trace/trace-item.ts"
import { TraceValidation } from "../../../validation/trace-validation.ts"
import { takeItems } from "../inspected-items.ts"
import { type EventList, namespacePrefix } from "./event-list.ts"

/** ms of work between two turns of the event loop: a key is answered before anyone notices a delay. */
const turnMs = 20

/** Takes all items, and what they lack. Rejects as the items do, and with SpoolError. */
export const loadEvents = async (
  items: TraceItems,
  list: EventList,
  onProgress: () => void,
  signal: AbortSignal,
): Promise<void> => {
  const validation = new TraceValidation({ namespacePrefix })
  const cut = await takeItems(inTurns(items, onProgress, signal), (item) => {
    validation.add(item)
    list.judgement.configure(item)
    if (item.type === "header") {
      const { start = 0, end = 0 } = item.window ?? {}
      for (const { gvk, namespace = "", state } of item.incomplete)
        list.addShortcoming({ gvk, namespace, fromTime: start, toTime: end, reason: state, detail: "" }, start)
    }
    if (item.type !== "event") return
    if (item.event.type === "object") list.add(item.event, item.isSnapshot)
    else list.addShortcoming({ ...item.event }, item.event.time)
  })
  if (cut !== undefined) {
    const time = list.time(list.length - 1)
    const where = { gvk: "", namespace: "", fromTime: time, toTime: time }
    list.addShortcoming({ ...where, reason: "cut off or damaged", detail: cut.message }, time)
  }
  if (!signal.aborted) list.judgement.settle(validation.finish().rules.flatMap(({ findings }) => findings))
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
