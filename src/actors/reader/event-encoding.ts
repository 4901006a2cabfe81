/**
 * The items of a stream of events as bytes: a JSON object per line, or Server-Sent Events. Each item ends where a client can tell that it is whole: with a line feed, or
 * with an empty line.
 */
import type { AnswerItem } from "./answer-items.ts"

/** `lines`: a JSON object per line. `server-sent-events`: https://html.spec.whatwg.org/multipage/server-sent-events.html. */
export type EventForm = "lines" | "server-sent-events"

/** What ends an item. JSON on one line contains neither. */
export const itemEnd = (form: EventForm): string => (form === "lines" ? "\n" : "\n\n")

/** What an item of a stream says besides its JSON. */
interface ItemFacts {
  readonly type: string
  /** Sequence number after which the client continues; `undefined`: the item has none. */
  readonly sequence: number | undefined
}

/** An item without the line feed that ends its last line. `json`: on one line. */
export const encodedItem = (form: EventForm, { type, sequence }: ItemFacts, json: AnswerItem): AnswerItem => {
  if (form === "lines") return json
  const id = sequence === undefined ? "" : `id: ${sequence}\n`
  return [`${id}event: ${type}\ndata: `, ...json, "\n"]
}
