/** Parts that count nowhere, because their recorder ended before the whole segment: wherever a compaction finds them, the stream stays one that can be read. */
import fc from "fast-check"
import { expect, test } from "vitest"
import { fromTheBeginning } from "../../../src/archive/index.ts"
import { FORMAT_VERSION } from "../../../src/archive/tables/schema.ts"
import { compactStream, StreamReader, segmentKey } from "../../../src/fleet/index.ts"
import { manifestKey, readManifest } from "../../../src/fleet/stream/manifest.ts"
import { rounds } from "../../harness/effort.ts"
import { temporaryDirectory } from "../../harness/temporary-directory.ts"
import { MadeStream } from "../made-stream.ts"
import { StepsStore } from "./steps-store.ts"

type Step = "whole" | "part" | "takeOver" | "compact" | "compactAll"

/** A stream without rows, of a recorder that sends and is taken over. */
class TakenOver {
  readonly stream = new MadeStream()
  readonly store = new StepsStore(this.stream.store)
  /** Sequence of the last whole segment, and of the last one. */
  whole = 0
  #sent = 0
  #epoch = 1
  #ids = 0

  async take(step: Step): Promise<void> {
    if (step === "compact" || step === "compactAll") {
      const options = { temporaryDirectory: temporaryDirectory(), graceMs: 0, nowMicros: () => this.store.nowMs * 1000 }
      const rangeBytes = step === "compact" ? 1 : 1e6
      await compactStream(this.store, { ...options, rangeBytes, randomId: () => String(++this.#ids) })
      return
    }
    const isOpening = step === "takeOver"
    if (isOpening) this.#epoch++
    const after = isOpening ? this.whole : this.#sent
    this.#sent = isOpening ? after : after + 1
    if (step === "whole") this.whole = this.#sent
    this.stream.add({
      ...{ recordingFormat: FORMAT_VERSION, isWhole: step === "whole", epoch: this.#epoch, owner: `o${this.#epoch}` },
      ...{ after, through: this.#sent, position: { ...fromTheBeginning, sequence: this.#sent } },
    })
  }
}

const taken = async (...steps: ReadonlyArray<Step>): Promise<TakenOver> => {
  const recorder = new TakenOver()
  for (const step of steps) await recorder.take(step)
  return recorder
}

/** Event numbers that follow one another up to the last whole segment, or what is wrong. */
const readThrough = async ({ store }: TakenOver): Promise<number> => {
  const reader = await StreamReader.open(store)
  for await (const segment of reader.segments()) expect(segment.facts.after).toBeLessThanOrEqual(segment.facts.through)
  return reader.position.sequence
}

test.each<[place: string, ...steps: Step[]]>([
  ["at the beginning of a stream", "part", "takeOver", "whole", "whole", "whole", "compactAll"],
  ["in the middle of a range", "whole", "part", "part", "takeOver", "whole", "whole", "whole", "compactAll"],
  ["at the end of a range", "whole", "whole", "part", "takeOver", "compactAll", "whole"],
  [
    ...(["at the beginning of the next range", "whole", "whole", "whole", "takeOver", "compact"] as const),
    ...(["takeOver", "whole", "whole", "whole", "compact"] as const),
  ],
  [
    ...(["at the beginning of what joins a range", "whole", "whole", "whole", "takeOver", "compactAll"] as const),
    ...(["part", "takeOver", "whole", "whole", "whole", "compactAll"] as const),
  ],
])("parts that count nowhere %s leave no hole", async (_, ...steps) => {
  const recorder = await taken(...steps)
  expect((await readManifest(recorder.store)).compactedThrough).toBeGreaterThan(0)
  expect(await readThrough(recorder)).toBe(recorder.whole)
})

test("wherever recorders end, and compactions begin, the stream can be read to its end", async () => {
  const step = fc.constantFrom<Step>("whole", "whole", "part", "takeOver", "compact", "compactAll")
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40, size: "max" }), async (steps) => {
      const recorder = await taken(...steps, "whole", "whole", "compact")
      expect(await readThrough(recorder)).toBe(recorder.whole)
    }),
    { numRuns: rounds(50) },
  )
})

test("a compaction that would make a stream unreadable is not committed", async () => {
  const recorder = await taken("whole", "whole", "whole", "whole")
  const { objects } = recorder.stream.store
  // The store loses the segment behind the range while it is compacted.
  recorder.store.beforeCall = async (call) => {
    if (call.startsWith("create compacted/")) objects.set(segmentKey(4), objects.get(segmentKey(1)) ?? Buffer.alloc(0))
  }
  await expect(recorder.take("compactAll")).rejects.toThrow("it was copied or renamed")
  expect(objects.has(manifestKey(1))).toBe(false)
  expect(objects.has(segmentKey(1))).toBe(true)
})
