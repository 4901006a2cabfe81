/**
 * The answer to a question, as JSON: one value per object or change, and at the end what the answer may lack.
 *
 * Objects are passed on byte by byte as they were recorded; only what has to be compared is parsed.
 */
import {
  ChangeAuthors,
  changeSteps,
  differenceSteps,
  eventsAbout,
  keptSettings,
  type ObjectSelection,
  ownersAbove,
  ownerTree,
  type QueriedRecording,
  QuestionRefused,
  recordedKinds,
  recordedRange,
  type Shortcomings,
  stateSteps,
  TimelineCache,
  type TreeObject,
} from "../../archive/index.ts"
import { isStatusKnown, parseFieldSelector, parseLabelSelector } from "../../kube/offline.ts"
import {
  eventKinds,
  exactJsonIn,
  isFieldPath,
  isJsonObject,
  type JsonObject,
  type ObjectEvent,
  parseFieldPath,
} from "../../trace/index.ts"
import { type AnswerItem, authorFact, changeItem, differenceItem, json, objectItem } from "./answer-items.ts"
import { resolveKinds } from "./asked-kinds.ts"
import type { Question } from "./question.ts"
import { type ShownPart, shownPart } from "./shown-part.ts"
import { subscriptionOf, type waiting } from "./subscription.ts"
import { findingItems, histogramItems, laneItems, tileItems } from "./timeline-answer.ts"

/** What questions share, and a clock in ms. */
interface AnswerMeans {
  readonly now?: () => number
  readonly timeline?: TimelineCache
}

/**
 * The values, one at a time; the last one, of type `end`, is what the generator returns. Throws QuestionRefused, as far as possible before the first value,
 * and ArchiveError.
 */
export function* answerOf(
  recording: QueriedRecording,
  question: Question,
  { now = () => performance.now(), timeline = new TimelineCache() }: AnswerMeans = {},
): Generator<AnswerItem | typeof waiting, JsonObject, void> {
  const { from, to } = question
  const shown = shownPart(question)
  switch (question.about) {
    case "kinds":
      for (const { discovered, namespaced, selection, status, ...kind } of recordedKinds(recording)) {
        const [statusFrom, statusUntil] = [status.from, status.to].map((time) => (time === NEVER ? null : time))
        const plain = { ...kind, statusFrom, statusUntil, selection: shown.showsAll(kind.gvk) ? selection : "" }
        yield [json({ type: "kind", ...plain, namespaced: namespaced ?? null, discovered: discovered ?? null })]
      }
      return { type: "end", ...recordedRange(recording), cut: recording.cut }
    case "objects": {
      const [gvk, another] = resolveKinds(recording, question.kinds)
      if (gvk === undefined || another !== undefined) throw refused("objects are asked for kind by kind: name one kind")
      const { order, limit, continue: page } = question
      const answer = stateSteps(recording, { ...selectionOf(question), gvk, time: to, order, limit, continue: page })
      const status = keptSettings(recording.metadata()).statusOf(gvk)
      let isStatusMissed = false
      const { continue: next, ...lacks } = yield* mapped(answer, (event) => {
        const isKnown = isStatusKnown(status, event.time, to)
        isStatusMissed ||= !isKnown
        return objectItem(event, isKnown)
      })
      const unknown = isStatusMissed ? { withoutStatus: [{ gvk }] } : {}
      return { ...endOf(recording, lacks, shown), ...unknown, ...(next !== undefined && { continue: next }) }
    }
    case "changes": {
      const path = question.field === undefined ? undefined : parseFieldPath(question.field)
      if (path !== undefined && !isFieldPath(path)) throw refused(`the field ${question.field}: ${path.problem}`)
      const tree = treeOf(recording, question, shown)
      const { statusOf } = keptSettings(recording.metadata())
      const statusFacts = ({ gvk, time }: ObjectEvent): object =>
        isStatusKnown(statusOf(gvk), time, time) ? {} : { isStatusUnknown: true }
      const selection = tree ?? { ...selectionOf(question), kinds: kindsOrAll(recording, question, shown) }
      const withObjects = question.withObjects === true
      const authors = new ChangeAuthors(recording)
      const answer = changeSteps(recording, { ...selection, from, to, field: path, withBefore: true })
      const { hasField, ...lacks } = yield* mapped(answer, (change) =>
        tree?.isAbout(change.event) === false
          ? undefined
          : changeItem(change, {
              withObjects,
              withDifferences: true,
              facts: { ...statusFacts(change.event), ...authorFact(authors, change) },
            }),
      )
      const rest = { ...withoutStatus(recording, selection.kinds, from, to), ...authorsRange(authors), hasField }
      return { ...endOf(recording, lacks, shown), ...rest }
    }
    case "events": {
      const kinds = kindsOrAll(recording, question, shown)
      return yield* subscriptionOf(recording, question, { selection: selectionOf(question), kinds, shown, now })
    }
    case "differences": {
      const withObjects = question.withObjects === true
      const asked = { ...selectionOf(question), kinds: kindsOrAll(recording, question, shown), from, to }
      const answer = differenceSteps(recording, asked)
      const authors = new ChangeAuthors(recording)
      const lacks = yield* mapped(answer, (difference) => {
        const { before, after } = difference
        const author = after && authors.of({ event: after, before: before?.object })
        return differenceItem(difference, withObjects, author)
      })
      const rest = { ...withoutStatus(recording, asked.kinds, from, to), ...authorsRange(authors) }
      return { ...endOf(recording, lacks, shown), ...leftOutOf(recording, question, shown), ...rest }
    }
    case "lanes":
    case "tiles":
    case "histogram":
    case "findings": {
      const kinds = kindsOrAll(recording, question, shown) ?? recording.objectKinds
      const asked = { recording, cache: timeline, question, kinds, shown }
      const { lacks, facts } = yield* timelineItems[question.about](asked)
      return { ...endOf(recording, lacks, shown), ...leftOutOf(recording, question, shown), ...facts }
    }
  }
}

const leftOutOf = (recording: QueriedRecording, { kinds }: Question, shown: ShownPart): JsonObject => {
  const leftOut = shown.leftOut(kinds === undefined ? recording.objectKinds : resolveKinds(recording, kinds))
  return leftOut === undefined ? {} : { leftOut: { ...leftOut } }
}

const authorsRange = (authors: ChangeAuthors): JsonObject => {
  const range = authors.range()
  return range === undefined ? {} : { authors: { ...range } }
}

const timelineItems = {
  lanes: laneItems,
  tiles: tileItems,
  histogram: histogramItems,
  findings: findingItems,
} as const

function* mapped<Item, End>(
  answer: Generator<Item | undefined, End, void>,
  item: (item: Item) => AnswerItem | undefined,
): Generator<AnswerItem, End, void> {
  for (;;) {
    const next = answer.next()
    if (next.done === true) return next.value
    yield (next.value === undefined ? undefined : item(next.value)) ?? []
  }
}

const refused = (problem: string): QuestionRefused => new QuestionRefused({ problem, fault: "request" })

const endOf = (recording: QueriedRecording, lacks: Shortcomings, shown: ShownPart): JsonObject => {
  const { gaps, unrecorded, late, selected } = shown.readable(lacks)
  const plain = { gaps, unrecorded, late, selected } as unknown as JsonObject
  const restricted = shown.namespaces === undefined ? {} : { isRestricted: true }
  return { type: "end", isComplete: gaps.length + unrecorded.length === 0, ...restricted, ...plain, cut: recording.cut }
}

/** As an end: there is none; as a beginning: it never began. */
const NEVER = Number.MAX_SAFE_INTEGER

/** The kinds of an answer of whose status changes in the asked time may be missing. Absent: none. */
const withoutStatus = (
  recording: QueriedRecording,
  kinds: ReadonlyArray<string> | undefined,
  from: number,
  to: number,
): { readonly withoutStatus?: ReadonlyArray<{ readonly gvk: string }> } => {
  const { statusOf } = keptSettings(recording.metadata())
  const missed = (kinds ?? recording.objectKinds).filter((gvk) => {
    const status = statusOf(gvk)
    const { recordedSince = 0 } = recording.kindOf(gvk) ?? {}
    const last = Math.min(to, recording.knownUntil(gvk))
    return recording.kindOf(gvk) !== undefined && !isStatusKnown(status, Math.max(from, recordedSince), last)
  })
  return missed.length === 0 ? {} : { withoutStatus: missed.map((gvk) => ({ gvk })) }
}

const kindsOrAll = (
  recording: QueriedRecording,
  { kinds }: Question,
  { namespaces, showsSome }: ShownPart,
): ReadonlyArray<string> | undefined => {
  if (kinds !== undefined) return resolveKinds(recording, kinds)
  return namespaces === undefined ? undefined : recording.objectKinds.filter(showsSome)
}

const selectionOf = (question: Question): ObjectSelection => {
  const { namespace, name, uid, labels, fields } = question
  const selector = parseLabelSelector(labels ?? "")
  if ("problem" in selector) throw refused(`the label selector: ${selector.problem}`)
  const requirements = parseFieldSelector(fields ?? "")
  if ("problem" in requirements) throw refused(`the field selector: ${requirements.problem}`)
  for (const { field } of requirements) {
    const path = parseFieldPath(field)
    if (!isFieldPath(path)) throw refused(`the field selector names ${JSON.stringify(field)}: ${path.problem}`)
  }
  const shownNamespaces = shownPart(question).namespaces
  return { namespace, name, uid, labels: selector, fields: requirements, shownNamespaces }
}

/** The objects above and below the named one, where they were asked for, and which Kubernetes Events are about them. */
const treeOf = (recording: QueriedRecording, question: Question, shown: ShownPart) => {
  const { withOwned = false, withOwners = false, namespace, name } = question
  if (!withOwned && !withOwners) return undefined
  const [gvk, another] = resolveKinds(recording, question.kinds)
  if (gvk === undefined || another !== undefined || name === undefined)
    throw refused("an owner tree is that of one object: name its kind and its name")
  const below = ownerTree(recording, { gvk, namespace, name, shownNamespaces: shown.namespaces })
  const roots = below.filter(({ depth }) => depth === 0)
  const tree = [
    ...(withOwners ? roots.flatMap((root) => ownersAbove(recording, root)) : []),
    ...(withOwned ? below : roots),
  ].filter(shown.shows)
  const objects = new Map<string, Set<number>>([[gvk, new Set()]])
  for (const object of tree) {
    const numbers = objects.get(object.gvk) ?? new Set()
    objects.set(object.gvk, numbers.add(object.number))
  }
  for (const [events, numbers] of eventsAbout(recording, tree, shown.namespaces))
    if (shown.showsSome(events)) objects.set(events, new Set(numbers))
  return { kinds: [...objects.keys()], objects, isAbout: aboutOneOf(tree) }
}

/** Whether an event is that of an object of the tree: a Kubernetes Event may be about another object of the same name. */
const aboutOneOf = (tree: ReadonlyArray<TreeObject>): ((event: ObjectEvent) => boolean) => {
  const uids = new Set(tree.map(({ uid }) => uid))
  return ({ gvk, object }) => {
    if (!eventKinds.includes(gvk) || object.length === 0) return true
    const event = exactJsonIn(object)
    const about = isJsonObject(event) ? (event.involvedObject ?? event.regarding) : undefined
    const uid = isJsonObject(about) ? about.uid : undefined
    return typeof uid !== "string" || uid === "" || uids.has(uid)
  }
}
