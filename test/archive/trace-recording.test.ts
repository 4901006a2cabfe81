import { expect, test } from "vitest"
import { ArchiveReader } from "../../src/archive/archive-reader.ts"
import { QueriedRecording } from "../../src/archive/queries/queried-recording.ts"
import { isComplete } from "../../src/archive/queries/shortcomings.ts"
import { recordedTrace } from "../../src/archive/recorded-trace.ts"
import { NoHistoryInTrace, recordTrace } from "../../src/archive/trace-recording.ts"
import type { TraceItem } from "../../src/trace/index.ts"
import { temporaryDirectory } from "../harness/temporary-directory.ts"
import { stateAt } from "./queries/whole-answers.ts"
import { START } from "./sample-frames.ts"
import { sample, sampleMiddle } from "./sample-recording.ts"

async function* batches(items: Iterable<TraceItem>): AsyncGenerator<Iterable<TraceItem>, void> {
  yield items
}

/** As an export has it: its window begins where the state is. */
function* beginningAt(start: number, items: Iterable<TraceItem>): Generator<TraceItem, void> {
  for (const item of items)
    yield item.type === "header" && item.window !== undefined ? { ...item, window: { ...item.window, start } } : item
}

/** Every item as text, without its place in the recording and what only recordings have. */
const textsOf = (directory: string, from: number): ReadonlyArray<string> => {
  const reader = ArchiveReader.open(directory)
  try {
    return Array.from(recordedTrace(reader, { from, to: undefined }), (item) => {
      if (item.type !== "event") return ""
      const { sequence: _, ...event } = item.event
      return JSON.stringify({ ...event, ...("object" in event && { object: Buffer.from(event.object).toString() }) })
    }).filter((text) => text !== "")
  } finally {
    reader.close()
  }
}

test("a trace of a window becomes a recording with the same state at its start, changes and gaps", async () => {
  const [original, copy] = [sample(), temporaryDirectory()]
  const reader = ArchiveReader.open(original)
  await recordTrace(
    copy,
    batches(beginningAt(sampleMiddle, recordedTrace(reader, { from: sampleMiddle, to: undefined }))),
  )
  reader.close()
  expect(textsOf(copy, sampleMiddle)).toEqual(textsOf(original, sampleMiddle))
  const recording = QueriedRecording.open(copy)
  const end = (time: number) => {
    const answer = stateAt(recording, { gvk: "v1.Pod", time })
    for (let next = answer.next(); ; next = answer.next()) if (next.done === true) return next.value
  }
  expect(isComplete(end(sampleMiddle))).toBe(true)
  expect(end(START).unrecorded).toMatchObject([{ why: "before", time: sampleMiddle }])
  recording.close()
})

test("a trace without a window has no history", async () => {
  const header: TraceItem = { type: "header", cut: 0, kinds: [], incomplete: [] }
  await expect(recordTrace(temporaryDirectory(), batches([header]))).rejects.toThrow(NoHistoryInTrace)
})

test("a trace with a kind that is none has no history, and the message names it", async () => {
  const window = { start: START, end: START + 1_000_000 }
  const event = { type: "object", sequence: 1, time: START, gvk: "\u001b[2J", action: "applied", uid: "1" } as const
  const items: ReadonlyArray<TraceItem> = [
    { type: "header", cut: 1, kinds: [], incomplete: [], window },
    {
      ...{ type: "event", isSnapshot: false },
      event: { ...event, namespace: "", name: "a", resourceVersion: "1", object: Buffer.from("{}") },
    },
  ]
  const recording = recordTrace(temporaryDirectory(), batches(items))
  await expect(recording).rejects.toThrow(
    new NoHistoryInTrace('the trace has what no cluster has: gvk is "\\u001b[2J"'),
  )
})
