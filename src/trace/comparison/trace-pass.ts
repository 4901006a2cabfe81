/** One reading of a trace from its beginning to its end: its items, chunk by chunk, and which events count. */
import type { ObjectEvent } from "../event.ts"
import type { TraceItem } from "../trace-item.ts"

/** A trace that is read once. */
export interface TracePass {
  readonly items: AsyncIterable<Iterable<TraceItem>>
  /** Events that are left out do not exist for the comparison. */
  readonly isSelected: (event: ObjectEvent) => boolean
  /** Takes what is no event of an object. */
  readonly onOther?: (item: TraceItem) => void
}

/** The events that count, in order. Their bytes are valid until the next one is taken. */
export async function* objectEvents({
  items,
  isSelected,
  onOther,
}: TracePass): AsyncGenerator<ObjectEvent, void, void> {
  for await (const chunk of items)
    for (const item of chunk) {
      if (item.type !== "event" || item.event.type !== "object") onOther?.(item)
      else if (isSelected(item.event)) yield item.event
    }
}
