import { expect, onTestFinished, test } from "vitest"
import { ArchiveReader } from "../../../src/archive/archive-reader.ts"
import { ArchiveWriter } from "../../../src/archive/archive-writer.ts"
import { recordedTrace } from "../../../src/archive/reading/recorded-trace.ts"
import type { TraceItem } from "../../../src/trace/trace-item.ts"
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

test("begins with the state when the first lists of all kinds were complete", () => {
  const reader = recording()
  const [header] = recordedTrace(reader, whole)
  expect(header).toEqual({
    type: "header",
    window: { start: START + 201, end: START + 601 },
    cut: reader.cut(),
    kinds: [POD, NODE],
    incomplete: [],
    clusterUid: "a-cluster",
  })
  expect(shown(recordedTrace(reader, whole))).toEqual([
    "(v1.Pod@90)",
    "(v1.Pod@100)",
    "(v1.Node@200)",
    "v1.Pod@300",
    "gap",
    "v1.Pod@510",
    "v1.Node@600",
  ])
})

test("begins earlier if that is wanted, names what is not recorded there, and ends where it should", () => {
  const window = { from: START + 150, to: START + 600 }
  const [header] = recordedTrace(recording(), window)
  expect(header).toMatchObject({
    window: { start: START + 90, end: START + 601 },
    incomplete: [{ gvk: NODE, state: expect.stringMatching(/^recorded-2025-/) }],
  })
  expect(shown(recordedTrace(recording(), window))).toEqual([
    "(v1.Pod@90)",
    "(v1.Pod@100)",
    "v1.Node@200",
    "v1.Pod@300",
    "gap",
    "v1.Pod@510",
  ])
})

test("does not wait for a kind whose first list is not complete, and names it", () => {
  const listing = { gvk: "v1.Secret", newObjects: [1], events: [applied(1, 700)] }
  const [header] = recordedTrace(recording([...frames, listing]), whole)
  expect(header).toMatchObject({
    window: { start: START + 201 },
    incomplete: [{ gvk: "v1.Secret", state: "unrecorded" }],
  })
})

test("waits neither for kinds without objects nor for those that are recorded much later, and names the latter", () => {
  const empty = { gvk: "v1.Secret", events: [], completeThrough: "9" }
  const [soon] = recordedTrace(recording([empty]), whole)
  expect(soon).toMatchObject({ window: { start: 0 }, incomplete: [] })
  const later = { gvk: "v1.Service", newObjects: [1], events: [applied(1, 90_000_000)], completeThrough: "700" }
  const [header] = recordedTrace(recording([...frames, later]), whole)
  expect(header).toMatchObject({
    window: { start: START + 201, end: START + 90_000_001 },
    incomplete: [{ gvk: "v1.Service", state: expect.stringMatching(/^recorded-/) }],
  })
})
