/** Answers about the time line as JSON: lanes, tiles, histogram, findings. */
import {
  findingSteps,
  histogramOf,
  lanesOf,
  type QueriedRecording,
  QuestionRefused,
  type Shortcomings,
  type TimelineCache,
  tileSteps,
} from "../../archive/index.ts"
import { kindsWithoutLanes, type Lane } from "../../timeline/index.ts"
import type { JsonObject } from "../../trace/index.ts"
import { type AnswerItem, json } from "./answer-items.ts"
import type { Question } from "./question.ts"
import type { ShownPart } from "./shown-part.ts"

interface Timeline {
  readonly recording: QueriedRecording
  readonly cache: TimelineCache
  readonly question: Question
  /** By name: those that were asked for, or all of which something may be shown. */
  readonly kinds: ReadonlyArray<string>
  readonly shown: ShownPart
}

/** What the answer lacks, and what else its end says. */
interface TimelineEnd {
  readonly lacks: Shortcomings
  readonly facts?: JsonObject
}

/** Items of one answer; without pieces where others may have their turn. */
type TimelineItems = Generator<AnswerItem, TimelineEnd, void>

const nothingYet: AnswerItem = []

/** Lanes in one page unless another number is asked for. */
const pageLanes = 200

/** The lanes below one, or the one of an object with those above it. */
export function* laneItems({ recording, cache, question, kinds, shown }: Timeline): TimelineItems {
  const { from, to, namespace, find, name, uid, parent, offset = 0, limit = pageLanes } = question
  const [gvk] = question.kinds === undefined ? [] : kinds
  const isOne = uid !== undefined || name !== undefined
  if (isOne && uid === undefined && (gvk === undefined || namespace === undefined)) {
    const problem = "an object is named by its uid, or by kind, namespace and name"
    throw new QuestionRefused({ problem, fault: "request" })
  }
  const shownKinds = question.kinds === undefined ? kinds.filter((each) => !kindsWithoutLanes.includes(each)) : kinds
  const asked = { kinds: shownKinds, from, to, namespace, find, shownNamespaces: shown.namespaces }
  const { tree, lacks } = yield* paused(lanesOf(recording, cache, asked))
  if (isOne) {
    const placed = tree.laneOf({ ...(gvk !== undefined && { gvk }), ...given({ namespace, name, uid }) })
    if (placed !== undefined) yield [json({ ...laneFacts(placed.lane), above: placed.above })]
    return { lacks, facts: { total: placed === undefined ? 0 : 1 } }
  }
  const page = tree.page(parent, { offset, limit })
  for (const lane of page.lanes) yield [json(laneFacts(lane))]
  return { lacks, facts: { total: page.total } }
}

/** Without those that are undefined. */
const given = (names: Readonly<Record<string, string | undefined>>): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(names).flatMap(([key, value]) => (value === undefined ? [] : [[key, value]])))

const laneFacts = ({ id, type, object, children, objects }: Lane): object => ({
  ...{ type: "lane", id, laneType: type, ...object, children, objects },
})

/** Tiles as they become known. */
export function* tileItems({ recording, cache, question, shown }: Timeline): TimelineItems {
  const { from, to, width = 0, lanes = [], namespace, withParts = false } = question
  const asked = { from, to, width, lanes, namespace, withParts, shownNamespaces: shown.namespaces }
  const steps = tileSteps(recording, cache, asked)
  for (;;) {
    const { done, value } = steps.next()
    if (done === true) return { lacks: value }
    if (value === undefined) yield nothingYet
    else yield [json({ type: "tile", ...value, columns: Buffer.from(value.columns).toString("base64") })]
  }
}

/** No items: all of it is in the end. */
export function* histogramItems({ recording, cache, question, kinds, shown }: Timeline): TimelineItems {
  const { from, to, width = 0, namespace } = question
  const asked = { kinds, from, to, width, namespace, shownNamespaces: shown.namespaces }
  const { counts, lacks } = yield* paused(histogramOf(recording, cache, asked))
  return { lacks, facts: { counts: [...counts] } }
}

/** Findings as they are found, and how much is done. */
export function* findingItems({ recording, question, kinds, shown }: Timeline): TimelineItems {
  const { from, to, namespace } = question
  const steps = findingSteps(recording, { kinds, from, to, namespace, shownNamespaces: shown.namespaces })
  for (;;) {
    const { done, value } = steps.next()
    if (done === true) return { lacks: value }
    if (value === undefined) yield nothingYet
    else yield [json({ type: "done" in value ? "progress" : "finding", ...value })]
  }
}

function* paused<End>(steps: Generator<undefined, End, void>): Generator<AnswerItem, End, void> {
  for (;;) {
    const { done, value } = steps.next()
    if (done === true) return value
    yield nothingYet
  }
}
