/**
 * The answer that does not end: what is committed from an event on, as a JSON object per line or as Server-Sent Events.
 *
 * Each item has the sequence number after which the client continues if its connection breaks. Events that are filtered
 * out move that number too: items of type `progress` say up to which number everything was sent, once at the beginning
 * of what is live, and then after each {@link progressMs} without another item.
 */
import { ChangeAuthors, LiveChanges, type ObjectSelection, type QueriedRecording } from "../../archive/index.ts"
import type { GapEvent } from "../../trace/index.ts"
import { type AnswerItem, authorFact, changeItem } from "./answer-items.ts"
import { type EventForm, encodedItem } from "./event-encoding.ts"
import type { Question } from "./question.ts"
import type { ShownPart } from "./shown-part.ts"

/** ms without an item after which a client gets one of type `progress`: proxies end connections silent for a minute. */
const progressMs = 10_000

/** Nothing has been committed since: ask again in a while. */
export const waiting = Symbol("waiting")

/** Why the reader ends an answer that has no end of its own: what follows was removed, the reader stops, or the recording cannot be read. */
export type ReaderEnding = "retention" | "stopping" | "failed"

interface SubscriptionOptions {
  readonly selection: ObjectSelection
  /** Default: all. */
  readonly kinds: ReadonlyArray<string> | undefined
  readonly shown: ShownPart
  /** ms on a monotonic clock. */
  readonly now: () => number
}

/** Never returns. @throws QuestionRefused before the first item, ArchiveError */
export function* subscriptionOf(
  recording: QueriedRecording,
  question: Question,
  { selection, kinds, shown, now }: SubscriptionOptions,
): Generator<AnswerItem | typeof waiting, never, void> {
  const { after = recording.cut, withObjects = true, withDifferences = false, isEventStream = false } = question
  const encoding: EventForm = isEventStream ? "server-sent-events" : "lines"
  const form = (sequence: number, type: string, item: AnswerItem): AnswerItem =>
    encodedItem(encoding, { type, sequence }, item)
  const live = new LiveChanges(recording, { ...selection, kinds, after, withBefore: withDifferences })
  const authors = new ChangeAuthors(recording)
  for (let saidAt = Number.NEGATIVE_INFINITY; ; recording.refresh()) {
    for (const item of live.toCut()) {
      if (item === undefined) {
        yield []
        continue
      }
      saidAt = now()
      if ("event" in item) {
        const { event, type, isSelected } = item
        const facts = { ...(!isSelected && { isSelected }), ...(withDifferences && authorFact(authors, item)) }
        yield form(event.sequence, type, changeItem(item, { withObjects, withDifferences, facts }))
      } else yield form(item.sequence, "gap", [JSON.stringify(readableGap(item, shown))])
    }
    do {
      if (now() - saidAt >= progressMs) {
        yield form(live.position, "progress", [JSON.stringify({ type: "progress", sequence: live.position })])
        saidAt = now()
      }
      yield waiting
    } while (!recording.hasGrown)
  }
}

/** The sequence number is among the first members, as in every item. */
const readableGap = ({ type, sequence, ...gap }: GapEvent, { showsAll }: ShownPart): GapEvent => ({
  ...{ type, sequence, ...gap },
  ...(!showsAll(gap.gvk) && { detail: "" }),
})
