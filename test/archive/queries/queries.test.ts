import fc from "fast-check"
import { expect, test } from "vitest"
import { selectionOf } from "../../../src/actors/watcher/selection.ts"
import { ArchiveWriter } from "../../../src/archive/archive-writer.ts"
import type { ChangesEnd } from "../../../src/archive/queries/changes.ts"
import { QueriedRecording } from "../../../src/archive/queries/queried-recording.ts"
import { QuestionRefused } from "../../../src/archive/queries/query-errors.ts"
import { isComplete } from "../../../src/archive/queries/shortcomings.ts"
import type { StateEnd, StateQuestion } from "../../../src/archive/queries/state-at.ts"
import { type FieldPath, parseFieldPath } from "../../../src/trace/index.ts"
import { temporaryDirectory } from "../../harness/temporary-directory.ts"
import { encodeFrame, START } from "../sample-frames.ts"
import { aliveIn, anyHistory, type HistoryEvent, historyKinds, recordHistory } from "./sample-history.ts"
import { changes, stateAt, stateDifferences } from "./whole-answers.ts"

interface Answer<Item, End> {
  readonly items: ReadonlyArray<Item>
  readonly end: End
}

/** Everything that a question yields, copied as it comes. */
const all = <Item, Copy, End>(answer: Generator<Item, End, void>, copy: (item: Item) => Copy): Answer<Copy, End> => {
  const items: Copy[] = []
  for (;;) {
    const next = answer.next()
    if (next.done === true) return { items, end: next.value }
    items.push(copy(next.value))
  }
}

const textOf = (bytes: Uint8Array | undefined): string | undefined =>
  bytes === undefined ? undefined : Buffer.from(bytes).toString()

const recorded = (steps: Parameters<typeof recordHistory>[1], kept?: number) => {
  const directory = temporaryDirectory()
  const events = recordHistory(directory, steps, kept)
  return { events, recording: QueriedRecording.open(directory, { cachedBytes: 2000 }) }
}

/** Every page of a state. */
const pagesOf = (recording: QueriedRecording, question: StateQuestion): Answer<string, StateEnd> => {
  const items: string[] = []
  let page: string | undefined
  for (;;) {
    const answer = all(stateAt(recording, { ...question, continue: page }), ({ object }) => textOf(object) ?? "")
    if (question.limit !== undefined) expect(answer.items.length).toBeLessThanOrEqual(question.limit)
    items.push(...answer.items)
    page = answer.end.continue
    if (page === undefined) return { items, end: answer.end }
  }
}

const placeOf = ({ namespace, name }: HistoryEvent): string => `${namespace}/${name}`
const byPlace = (one: HistoryEvent, other: HistoryEvent): number => (placeOf(one) < placeOf(other) ? -1 : 1)
const objects = (events: ReadonlyArray<HistoryEvent>): ReadonlyArray<string> => events.map(({ object }) => object)

const anyMoment = fc.double({ min: -0.1, max: 1.1, noNaN: true })
const momentIn = (events: ReadonlyArray<HistoryEvent>, part: number): number =>
  START + Math.round(part * ((events.at(-1)?.time ?? START) - START))

test("a state is the fold of all changes up to its moment, in either order and in pages of any size", () => {
  fc.assert(
    fc.property(anyHistory, anyMoment, fc.integer({ min: 1, max: 5 }), (steps, part, limit) => {
      const { events, recording } = recorded(steps)
      const time = momentIn(events, part)
      for (const gvk of historyKinds) {
        const alive = aliveIn(events, gvk, time)
        const inOrderOfNames = objects(alive.toSorted(byPlace))
        const inOrderOfChanges = objects(alive.toSorted((one, other) => other.sequence - one.sequence))
        expect(pagesOf(recording, { gvk, time }).items).toEqual(inOrderOfNames)
        expect(pagesOf(recording, { gvk, time, limit }).items).toEqual(inOrderOfNames)
        expect(pagesOf(recording, { gvk, time, order: "change" }).items).toEqual(inOrderOfChanges)
        expect(pagesOf(recording, { gvk, time, order: "change", limit }).items).toEqual(inOrderOfChanges)
        const labels = [{ key: "app", operator: "In" as const, values: ["web"] }]
        const selected = alive.filter(({ object, namespace }) => object.includes('"app":"web"') && namespace === "ns-1")
        const question = { gvk, time, limit, namespace: "ns-1", labels }
        expect(pagesOf(recording, question).items).toEqual(objects(selected.toSorted(byPlace)))
        const fields = [{ field: "spec.replicas", isEqual: false, value: "1" }]
        const others = alive.filter(({ object }) => !object.includes('"replicas":1'))
        expect(pagesOf(recording, { gvk, time, fields }).items).toEqual(objects(others.toSorted(byPlace)))
      }
      recording.close()
    }),
    { numRuns: 12 },
  )
})

test("changes are the recorded events in order, each with the state before it", () => {
  fc.assert(
    fc.property(anyHistory, anyMoment, anyMoment, (steps, one, other) => {
      const { events, recording } = recorded(steps)
      const [from = 0, to = 0] = [momentIn(events, one), momentIn(events, other)].sort((a, b) => a - b)
      const within = events.filter(({ time }) => time >= from && time <= to)
      const expected = within.map((event) => {
        const before = events.findLast(
          (each) =>
            each.sequence < event.sequence &&
            each.gvk === event.gvk &&
            each.number === event.number &&
            each.action !== "vanished",
        )
        const applied = before === undefined ? "appeared" : "changed"
        return {
          sequence: event.sequence,
          type: event.action === "applied" ? applied : event.action,
          object: event.object,
          before: before?.object,
        }
      })
      const found = all(changes(recording, { from, to, withBefore: true }), ({ type, event, before }) => ({
        ...{ sequence: event.sequence, type, object: textOf(event.object), before: textOf(before) },
      }))
      expect(found.items).toEqual(expected)
      expect(isComplete(found.end)).toBe(to <= (events.at(-1)?.time ?? 0) && from >= START)
      recording.close()
    }),
    { numRuns: 12 },
  )
})

test("a history is what a filter of all changes leaves: by name, by label before or after, and by field", () => {
  const field = parseFieldPath("spec.replicas") as FieldPath
  const replicas = (object: string | undefined): string | undefined => /"replicas":(\d)/.exec(object ?? "")?.[1]
  fc.assert(
    fc.property(anyHistory, fc.integer({ min: 1, max: 9 }), (steps, number) => {
      const { events, recording } = recorded(steps)
      const gvk = "v1.Pod"
      const all_ = all(changes(recording, { kinds: [gvk], from: 0, withBefore: true }), ({ type, event, before }) => ({
        ...{ sequence: event.sequence, type, name: event.name, object: textOf(event.object), before: textOf(before) },
      })).items
      const sequences = (question: Omit<Parameters<typeof changes>[1], "from" | "kinds">) =>
        all(changes(recording, { ...question, kinds: [gvk], from: 0 }), ({ event }) => event.sequence).items
      const name = `object-${number}`
      expect(sequences({ name })).toEqual(all_.filter((each) => each.name === name).map(({ sequence }) => sequence))
      const labels = [{ key: "app", operator: "In" as const, values: ["db"] }]
      const isDb = (object: string | undefined): boolean => object?.includes('"app":"db"') === true
      expect(sequences({ labels })).toEqual(
        all_.filter(({ object, before }) => isDb(object) || isDb(before)).map(({ sequence }) => sequence),
      )
      const isOther = ({ type, object, before }: (typeof all_)[number]): boolean =>
        replicas(before) !== replicas(type === "deleted" ? undefined : object)
      expect(sequences({ field, name })).toEqual(
        all_.filter((each) => each.name === name && isOther(each)).map(({ sequence }) => sequence),
      )
      expect(events.length).toBeGreaterThan(0)
      recording.close()
    }),
    { numRuns: 12 },
  )
})

test("the differences of two moments are the objects whose states differ", () => {
  fc.assert(
    fc.property(anyHistory, anyMoment, anyMoment, (steps, one, other) => {
      const { events, recording } = recorded(steps)
      const [from, to] = [momentIn(events, one), momentIn(events, other)]
      const expected = historyKinds.flatMap((gvk) => {
        const [before, after] = [from, to].map(
          (time) => new Map(aliveIn(events, gvk, time).map((event) => [placeOf(event), event])),
        ) as [Map<string, HistoryEvent>, Map<string, HistoryEvent>]
        return [...new Set([...before.keys(), ...after.keys()])]
          .sort()
          .map((place) => ({ place, before: before.get(place), after: after.get(place) }))
          .filter((each) => each.before?.sequence !== each.after?.sequence)
          .map((each) => ({ place: each.place, before: each.before?.object, after: each.after?.object }))
      })
      const kinds = historyKinds
      const found = all(stateDifferences(recording, { kinds, from, to }), ({ namespace, name, before, after }) => ({
        ...{ place: `${namespace}/${name}`, before: textOf(before?.object), after: textOf(after?.object) },
      }))
      expect(found.items).toEqual(expected)
      recording.close()
    }),
    { numRuns: 12 },
  )
})

test("after retention the past from its beginning on is as before, and what precedes it is said to be unknown", () => {
  fc.assert(
    fc.property(anyHistory, fc.double({ min: 0, max: 1, noNaN: true }), anyMoment, (steps, kept, part) => {
      const { events, recording } = recorded(steps, kept)
      const time = Math.max(START, momentIn(events, Math.min(part, 1)))
      for (const gvk of historyKinds) {
        const { items, end } = pagesOf(recording, { gvk, time })
        const since = recording.kindOf(gvk)?.recordedSince ?? 0
        if (time < since) expect(end.unrecorded).toMatchObject([{ gvk, why: "before", time: since }])
        else expect(items).toEqual(objects(aliveIn(events, gvk, time).toSorted(byPlace)))
        if (time < since - 1) expect(items).toEqual([])
      }
      const since = Math.max(...historyKinds.map((gvk) => recording.kindOf(gvk)?.recordedSince ?? 0))
      const found = all(changes(recording, { from: since, withBefore: true }), ({ event, before }) => ({
        ...{ object: textOf(event.object), hasBefore: before !== undefined },
      }))
      const later = events.filter((event) => event.time >= since)
      expect(found.items.map(({ object }) => object)).toEqual(objects(later))
      recording.close()
    }),
    { numRuns: 12 },
  )
})

const step = { kind: 0, number: 1, action: "applied", delay: 1000, app: "web", replicas: 1, commits: true } as const

test("a field that no object has is told apart from one that never changed", () => {
  const { recording } = recorded([step, step, step])
  const end = (path: string): ChangesEnd => {
    const question = { kinds: ["v1.Pod"], from: START + 1001, field: parseFieldPath(path) as FieldPath }
    const { items, end: known } = all(changes(recording, question), ({ event }) => event.sequence)
    expect(items).toEqual([])
    return known
  }
  expect(end("spec.replicas").hasField).toBe(true)
  expect(end("spec.replica").hasField).toBe(false)
  recording.close()
})

test("a continuation of another question is refused", () => {
  const { recording } = recorded([step, { ...step, number: 2 }])
  const time = START + 9000
  const page = all(stateAt(recording, { gvk: "v1.Pod", time, limit: 1 }), () => 0).end.continue
  expect(page).toBeDefined()
  const ask = (question: StateQuestion) => () => all(stateAt(recording, question), () => 0)
  expect(ask({ gvk: "v1.Pod", time: time + 1, limit: 1, continue: page })).toThrow(QuestionRefused)
  expect(ask({ gvk: "v1.Pod", time, limit: 1, continue: "nonsense" })).toThrow(QuestionRefused)
  recording.close()
})

test("an answer says what is not recorded: an unknown kind, the time before the beginning and that after the end", () => {
  const { recording } = recorded([step])
  const why = (gvk: string, time: number) =>
    all(stateAt(recording, { gvk, time }), () => 0).end.unrecorded.map((each) => [each.why, each.time])
  expect(why("v1.Pod", START + 1000)).toEqual([])
  expect(why("v1.Secret", START + 1000)).toEqual([["never", 0]])
  expect(why("v1.Pod", START - 1)).toEqual([["before", START]])
  expect(why("v1.Pod", START + 1001)).toEqual([["after", START + 1000]])
  recording.close()
})

test.each([
  ["all namespaces", undefined, false],
  ["all namespaces", "redacted", false],
  ["all namespaces; labels app=web", "redacted", true],
  ["all namespaces; without owned objects", undefined, true],
  ["namespaces shop", "redacted", true],
] as const)("of %s, values %s, an answer says whether objects were left out", (objectsOf, values, isPart) => {
  const directory = temporaryDirectory()
  const writer = ArchiveWriter.open(directory, { now: () => START })
  const watched = { namespaces: undefined, labelSelector: undefined, fieldSelector: undefined, skipOwned: false }
  const rules = { secret: true, env: [], annotations: [], toolAnnotations: [], pointers: [] }
  const redaction = { rules, key: Buffer.alloc(32) }
  const redacted = selectionOf({ ...watched, redaction }).replace("all namespaces", objectsOf)
  const selection = values === "redacted" ? redacted : objectsOf
  writer.append("watcher", 1, 1, encodeFrame({ gvk: "v1.Pod", completeThrough: "1", selection }))
  writer.commit()
  writer.close()
  const recording = QueriedRecording.open(directory)
  const { selected } = all(stateAt(recording, { gvk: "v1.Pod", time: START }), () => 0).end
  expect(selected).toEqual(isPart ? [{ gvk: "v1.Pod", selection }] : [])
  recording.close()
})
