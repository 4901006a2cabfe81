/** An answer to a reader with few rights is what is left of the whole answer without the objects that it may not see. */
import fc from "fast-check"
import { expect, test } from "vitest"
import { answerOf } from "../../../src/actors/reader/answer.ts"
import type { Question } from "../../../src/actors/reader/question.ts"
import { shownPart } from "../../../src/actors/reader/shown-part.ts"
import { waiting } from "../../../src/actors/reader/subscription.ts"
import { QueriedRecording } from "../../../src/archive/index.ts"
import type { GapEvent } from "../../../src/trace/index.ts"
import { anyHistory, historyKinds, recordHistory } from "../../archive/queries/sample-history.ts"
import { START } from "../../archive/sample-frames.ts"
import { isThorough } from "../../harness/effort.ts"
import { temporaryDirectory } from "../../harness/temporary-directory.ts"

interface Item {
  readonly gvk: string
  readonly namespace: string
}

const answered = (recording: QueriedRecording, question: Question) => {
  const items: Item[] = []
  const answer = answerOf(recording, question)
  for (;;) {
    const next = answer.next()
    if (next.done === true) return { items, end: next.value }
    const value = next.value === waiting ? [] : next.value
    const text = value.map((part) => (typeof part === "string" ? part : Buffer.from(part).toString())).join("")
    if (text !== "") items.push(JSON.parse(text) as Item)
  }
}

const anyNamespaces = fc.subarray(["ns-1", "ns-2", "elsewhere"])
const anyShown = fc.record(
  Object.fromEntries(historyKinds.map((gvk) => [gvk, fc.constantFrom("all", "some", "none")])),
) as fc.Arbitrary<Readonly<Record<string, "all" | "some" | "none">>>

test("whatever is asked, and whatever may be seen", () => {
  fc.assert(
    fc.property(anyHistory, anyShown, anyNamespaces, (steps, ofKinds, namespaces) => {
      const directory = temporaryDirectory()
      recordHistory(directory, steps)
      const recording = QueriedRecording.open(directory)
      try {
        const shown = historyKinds.flatMap((gvk) =>
          ofKinds[gvk] === "none" ? [] : [{ gvk, ...(ofKinds[gvk] === "some" && { namespaces }) }],
        )
        const isShown = ({ gvk, namespace }: Item): boolean =>
          ofKinds[gvk] === "all" || (ofKinds[gvk] === "some" && namespaces.includes(namespace))
        const window = { from: 0, to: START + 1e9, known: [], withObjects: true }
        const questions: ReadonlyArray<Question> = [
          { about: "changes", ...window },
          { about: "changes", ...window, labels: "app=web" },
          { about: "changes", ...window, namespace: "ns-1" },
          { about: "differences", ...window },
          ...historyKinds.flatMap(
            (gvk): ReadonlyArray<Question> => [
              { about: "objects", ...window, kinds: [gvk] },
              { about: "objects", ...window, kinds: [gvk], order: "change" },
              { about: "changes", ...window, kinds: [gvk], field: "spec.replicas" },
              { about: "changes", ...window, kinds: [gvk], name: "object-1", withOwned: true, withOwners: true },
            ],
          ),
        ]
        for (const question of questions) {
          const whole = answered(recording, question)
          const part = answered(recording, { ...question, shown })
          expect(part.items).toEqual(whole.items.filter(isShown))
          expect(part.end.isRestricted).toBe(true)
        }
      } finally {
        recording.close()
      }
    }),
    { numRuns: isThorough() ? 100 : 20 },
  )
})

test("pages are restricted one by one, whoever got the token of the next", () => {
  const directory = temporaryDirectory()
  const steps = Array.from({ length: 9 }, (_, index) => ({
    ...{ kind: 0, number: index + 1, action: "applied", delay: 1, app: "web", replicas: 1, commits: true },
  })) as Parameters<typeof recordHistory>[1]
  recordHistory(directory, steps)
  const recording = QueriedRecording.open(directory)
  try {
    const question: Question = { about: "objects", kinds: ["v1.Pod"], from: 0, to: START + 1e9, known: [], limit: 2 }
    const first = answered(recording, question)
    const page = String(first.end.continue)
    const shown = [{ gvk: "v1.Pod", namespaces: ["ns-2"] }]
    const rest = answered(recording, { ...question, limit: 100, continue: page, shown })
    expect(new Set(rest.items.map(({ namespace }) => namespace))).toEqual(new Set(["ns-2"]))
  } finally {
    recording.close()
  }
})

test("what an answer lacks elsewhere is not told, nor what the recorder says in words", () => {
  const part = shownPart({
    shown: [{ gvk: "v1.Pod", namespaces: ["shop"] }, { gvk: "v1.Node" }],
  })
  const gap = { type: "gap", fromTime: 1, toTime: 2, reason: "expired", detail: "bank/vault" } as const
  const gaps = [
    { ...gap, gvk: "v1.Pod", namespace: "" },
    { ...gap, gvk: "v1.Pod", namespace: "bank" },
    { ...gap, gvk: "v1.Node", namespace: "" },
    { ...gap, gvk: "v1.Secret", namespace: "" },
  ] as unknown as Parameters<typeof part.readable>[0]["gaps"]
  const selected = [{ gvk: "v1.Pod", selection: "namespaces bank,shop" }]
  const unrecorded = [
    { gvk: "v1.Pod", namespace: "bank", why: "before", time: 1 },
    { gvk: "v1.Other", namespace: "", why: "never", time: 0 },
  ] as const
  expect(part.readable({ gaps, late: [], selected, unrecorded })).toEqual({
    gaps: [
      { ...gap, gvk: "v1.Pod", namespace: "", detail: "" },
      { ...gap, gvk: "v1.Node", namespace: "" },
    ],
    late: [],
    selected: [{ gvk: "v1.Pod", selection: "a part of the objects" }],
    unrecorded: [unrecorded[1]],
  })
})

test("who may see one object by its name gets no words about the others of its kind", () => {
  const gap: GapEvent = {
    ...({ type: "gap", reason: "damaged" } as const),
    ...{ sequence: 1, time: 1, gvk: "v1.Node", namespace: "", fromVersion: "", toVersion: "" },
    ...{ fromTime: 0, toTime: 1, detail: "node two was lost" },
  }
  const lacks = { gaps: [gap], late: [], unrecorded: [], selected: [{ gvk: "v1.Node", selection: "app=secret" }] }
  const wordsFor = (shown: NonNullable<Question["shown"]>) => {
    const { gaps, selected } = shownPart({ shown }).readable(lacks)
    return [gaps[0]?.detail, selected[0]?.selection]
  }
  expect(wordsFor([{ gvk: "v1.Node" }])).toEqual(["node two was lost", "app=secret"])
  expect(wordsFor([{ gvk: "v1.Node", isNamedOnly: true }])).toEqual(["", "a part of the objects"])
})
