/**
 * The values of answers as JSON. Objects are passed on byte by byte as they were recorded; only what has to be compared is parsed.
 */
import type { ChangeAuthor, ChangeAuthors, RecordedChange, StateDifference } from "../../archive/index.ts"
import {
  compactJson,
  differencesBetween,
  eventStatement,
  exactJsonIn,
  formatExactJson,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  managersBetween,
  type ObjectEvent,
} from "../../trace/index.ts"

/** A value of the answer: JSON text in pieces, valid until the next value is taken. Without pieces: nothing yet, others may have their turn. */
export type AnswerItem = ReadonlyArray<string | Uint8Array>

/** Fields that differ in one step, beyond which the answer says that there are more. */
const mostDifferences = 200

/** All values are plain: numbers, texts, lists. */
export const json = (value: object): string => JSON.stringify(value)

const factsOf = ({ gvk, namespace, name, uid, resourceVersion, time, received, sequence }: ObjectEvent) => ({
  ...{ gvk, namespace, name, uid, resourceVersion, time, ...(received !== undefined && { received }), sequence },
})

/** An object as it was. `isStatusKnown`: its status is that of the moment that was asked about. */
export const objectItem = (event: ObjectEvent, isStatusKnown: boolean): AnswerItem => [
  `${json({ type: "object", ...factsOf(event), ...(!isStatusKnown && { isStatusUnknown: true }) }).slice(0, -1)},"object":`,
  compactJson(event.object),
  "}",
]

/** Who made a change, where that is known. */
export const authorFact = (authors: ChangeAuthors, change: RecordedChange): { readonly author?: ChangeAuthor } => {
  const author = authors.of(change)
  return author === undefined ? {} : { author }
}

interface ChangeForm {
  /** With the whole object. */
  readonly withObjects: boolean
  /** With the fields that differ, and who changed them. */
  readonly withDifferences: boolean
  /** What else is to be said of it. */
  readonly facts?: object
}

/** A change. */
export const changeItem = (
  { type, event, before }: RecordedChange,
  { withObjects, withDifferences, facts = {} }: ChangeForm,
): AnswerItem => {
  if (!withDifferences) return whole(json({ type, ...factsOf(event), ...facts }).slice(0, -1), event, withObjects)

  const one = objectIn(before)
  const other = type === "vanished" ? undefined : objectIn(event.object)
  // A deletion adds no entry to managedFields: the newest one is that of an earlier write.
  const managers = other === undefined || type === "deleted" ? undefined : managersBetween(one, other, event.time)
  const said = eventSaid(event.gvk, other)
  const head = json({ type, ...factsOf(event), ...facts, ...(managers && { managers }), ...said }).slice(0, -1)
  const compared = one !== undefined && other !== undefined ? differencesText(one, other) : ""
  return whole(`${head}${compared}`, event, withObjects)
}

const whole = (head: string, { object }: ObjectEvent, withObject: boolean): AnswerItem =>
  !withObject || object.length === 0 ? [`${head}}`] : [`${head},"object":`, compactJson(object), "}"]

/** What two moments differ in. `author`: of the last state. */
export const differenceItem = (
  { gvk, namespace, name, before, after }: StateDifference,
  withObjects: boolean,
  author?: ChangeAuthor,
): AnswerItem => {
  const type =
    before === undefined
      ? "created"
      : after === undefined
        ? "deleted"
        : before.uid === after.uid
          ? "changed"
          : "replaced"
  const [one, other] = [objectIn(before?.object), objectIn(after?.object)]
  const managers = other && managersBetween(type === "replaced" ? undefined : one, other, after?.time)
  const times = { ...(before && { timeBefore: before.time }), ...(after && { timeAfter: after.time }) }
  const said = { ...eventSaid(gvk, other ?? one), ...(author && { author }) }
  const head = json({ type, gvk, namespace, name, ...times, ...(managers && { managers }), ...said }).slice(0, -1)
  const item: (string | Uint8Array)[] = [head]
  if (one !== undefined && other !== undefined) item.push(differencesText(one, other))
  if (withObjects && before !== undefined) item.push(`,"before":`, compactJson(before.object))
  if (withObjects && after !== undefined) item.push(`,"after":`, compactJson(after.object))
  return [...item, "}"]
}

const eventSaid = (gvk: string, object: JsonObject | undefined): object => {
  const event = eventStatement(gvk, object)
  return event === undefined ? {} : { event }
}

const objectIn = (bytes: Uint8Array | undefined): JsonObject | undefined => {
  const value = bytes === undefined || bytes.length === 0 ? undefined : exactJsonIn(bytes)
  return isJsonObject(value) ? value : undefined
}

/** What every write changes, and what {@link managersBetween} says in other words. */
const bookkeeping = new Set([
  "metadata.resourceVersion",
  "metadata.generation",
  "metadata.managedFields",
  "metadata.uid",
])

const differencesText = (one: JsonValue, other: JsonValue): string => {
  const options = { isLeftOut: (path: string) => bookkeeping.has(path), maximum: mostDifferences + 1 }
  const found = differencesBetween(one, other, options)
  const more = found.length > mostDifferences ? `,"hasMoreDifferences":true` : ""
  const shown = found
    .slice(0, mostDifferences)
    .map(({ path, before, after }) =>
      formatExactJson({ path, ...(before !== undefined && { before }), ...(after !== undefined && { after }) }),
    )
  return `,"differences":[${shown.join(",")}]${more}`
}
