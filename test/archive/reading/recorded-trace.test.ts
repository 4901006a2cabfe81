import { expect, onTestFinished, test } from "vitest"
import { ArchiveReader } from "../../../src/archive/archive-reader.ts"
import { ArchiveWriter } from "../../../src/archive/archive-writer.ts"
import { firstListsOf } from "../../../src/archive/reading/first-lists.ts"
import { recordedTrace } from "../../../src/archive/recorded-trace.ts"
import type { TraceItem } from "../../../src/trace/index.ts"
import { temporaryDirectory } from "../../harness/temporary-directory.ts"
import { encodeFrame, gapAt, type SampleEvent, type SampleFrame, START } from "../sample-frames.ts"

const POD = "v1.Pod"
const NODE = "v1.Node"

const applied = (number: number, at: number): SampleEvent => ({
  action: "applied",
  number,
  time: START + at,
  version: at,
  object: `{"at":${at}}`,
})

/** Lists of pods at 100 µs and of nodes at 200 µs, changes until 600 µs, and a gap of the pods. */
const frames: ReadonlyArray<SampleFrame> = [
  { gvk: POD, newObjects: [1, 2], events: [applied(1, 90), applied(2, 100)], completeThrough: "100" },
  { gvk: NODE, newObjects: [1], events: [applied(1, 200)], completeThrough: "200" },
  { gvk: POD, events: [applied(1, 300)], completeThrough: "300" },
  { gvk: POD, events: [applied(2, 510)], gaps: [gapAt(START + 500)], completeThrough: "510" },
  { gvk: NODE, events: [applied(1, 600)], completeThrough: "600" },
]

const recording = (written = frames): ArchiveReader => {
  const directory = temporaryDirectory()
  const writer = ArchiveWriter.open(directory)
  onTestFinished(() => writer.close())
  written.forEach((frame, index) => {
    writer.append("watcher/1", 1, index + 1, encodeFrame(frame))
    writer.commit()
  })
  writer.metadata.set("clusterUid", "a-cluster")
  const reader = ArchiveReader.open(directory)
  onTestFinished(() => reader.close())
  return reader
}

/** `kind@µs`, in brackets for the state at the start. */
const shown = (items: Iterable<TraceItem>): ReadonlyArray<string> =>
  [...items].flatMap((item) => {
    if (item.type !== "event") return []
    const { event, isSnapshot } = item
    const text = event.type === "gap" ? "gap" : `${event.gvk}@${event.time - START}`
    return [isSnapshot ? `(${text})` : text]
  })

const whole = { from: undefined, to: undefined }

test("begins when the first list was complete, with all first lists as the state at that moment", () => {
  const reader = recording()
  const [header] = recordedTrace(reader, whole)
  expect(header).toEqual({
    type: "header",
    window: { start: START + 100, end: START + 601 },
    cut: reader.cut(),
    kinds: [POD, NODE],
    incomplete: [],
    clusterUid: "a-cluster",
  })
  expect(shown(recordedTrace(reader, whole))).toEqual([
    "(v1.Node@100)",
    "(v1.Pod@90)",
    "(v1.Pod@100)",
    "v1.Pod@300",
    "gap",
    "v1.Pod@510",
    "v1.Node@600",
  ])
})

test("keeps what happened before the last of the first lists was complete", () => {
  const [pods, nodes, ...others] = frames
  const gone = { gvk: POD, events: [{ ...applied(2, 150), action: "deleted" as const }] }
  expect(
    shown(recordedTrace(recording([pods, gone, nodes, ...others].filter((frame) => frame !== undefined)), whole)).slice(
      0,
      5,
    ),
  ).toEqual(["(v1.Node@100)", "(v1.Pod@90)", "(v1.Pod@100)", "v1.Pod@150", "v1.Pod@300"])
})

test("begins earlier if that is wanted, names what is not recorded there, and ends where it should", () => {
  const window = { from: START + 150, to: START + 600 }
  const [header] = recordedTrace(recording(), window)
  expect(header).toMatchObject({
    window: { start: START + 100, end: START + 601 },
    incomplete: [{ gvk: NODE, state: expect.stringMatching(/^recorded-2025-/) }],
  })
  expect(shown(recordedTrace(recording(), window))).toEqual([
    "(v1.Node@150)",
    "(v1.Pod@90)",
    "(v1.Pod@100)",
    "v1.Pod@300",
    "gap",
    "v1.Pod@510",
  ])
})

test("names a kind whose first list is not complete", () => {
  const listing = { gvk: "v1.Secret", newObjects: [1], events: [applied(1, 700)] }
  const [header] = recordedTrace(recording([...frames, listing]), whole)
  expect(header).toMatchObject({
    window: { start: START + 100 },
    incomplete: [{ gvk: "v1.Secret", state: "unrecorded" }],
  })
})

const later = { gvk: "v1.Service", newObjects: [1], events: [applied(1, 20_000_000)], completeThrough: "700" }

test("begins a kind that was added later where it was added, and names it", () => {
  const added = recording([...frames, later])
  expect([...recordedTrace(added, whole)][0]).toMatchObject({
    window: { start: START + 100, end: START + 20_000_001 },
    incomplete: [{ gvk: "v1.Service", state: expect.stringMatching(/^recorded-/) }],
  })
  expect(shown(recordedTrace(added, whole)).at(-1)).toBe("v1.Service@20000000")
})

test("knows from the recorder which lists were its first, however long they took", () => {
  const through = (at: number) => new Map([["firstLists", String(START + at)]])
  const kinds = recording([...frames, later]).kinds()
  expect(firstListsOf(kinds, through(20_000_000))).toMatchObject({ begin: START + 100, whole: START + 20_000_000 })
  expect(firstListsOf(kinds, through(150))).toMatchObject({ begin: START + 100, whole: START + 100 })
  expect([...(firstListsOf(kinds, new Map())?.kinds.keys() ?? [])]).toEqual([POD, NODE])
  expect(firstListsOf([], new Map())).toBeUndefined()
})

test("is not moved by a kind that was added after what retention has removed", () => {
  const kinds = recording([...frames, later]).kinds()
  const kept = kinds.map((kind) =>
    kind.gvk === "v1.Service" ? kind : { ...kind, recordedSince: START + 1_000_001, removedThrough: START + 1_000_000 },
  )
  for (const metadata of [new Map(), new Map([["firstLists", String(START + 300)]])])
    expect(firstListsOf(kept, metadata)).toMatchObject({ begin: START + 1_000_001, whole: START + 1_000_001 })
})
