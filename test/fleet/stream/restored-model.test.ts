/** Any recording, sent at any moments in segments of any size, is restored as it is: row for row, or, where it was merged or removed since, as a plain list. */
import fc from "fast-check"
import { expect, test } from "vitest"
import { ArchiveReader, DeltaReader, verifyRecording } from "../../../src/archive/index.ts"
import { compactStream, restoreStream } from "../../../src/fleet/index.ts"
import { anyCommand, anyRetention, type Command, KINDS, ModelledRecorder } from "../../archive/modelled-recorder.ts"
import { plain, START } from "../../archive/sample-frames.ts"
import { rounds } from "../../harness/effort.ts"
import { patient } from "../../harness/patience.ts"
import { temporaryDirectory } from "../../harness/temporary-directory.ts"
import { StepsStore } from "../compaction/steps-store.ts"
import { MemoryStore } from "../memory-store.ts"
import { expectSameRecording } from "../same-recording.ts"
import { firstTenure, ship, type Tenure } from "../shipping-recorder.ts"

/** A recorder whose recording is sent, each time by a reader that may be new. */
class ShippedRecorder {
  readonly store = new MemoryStore()
  readonly recorder: ModelledRecorder
  #reader: DeltaReader | undefined
  #tenure: Tenure = firstTenure
  #compactions = 0
  /** What happened before this time may have been dropped. */
  keptFrom = 0

  constructor(seed: number) {
    this.recorder = new ModelledRecorder(temporaryDirectory(), seed)
  }

  async ship(maximumBytes: number, isNewReader: boolean, most?: number): Promise<void> {
    if (isNewReader) this.forget()
    this.#reader ??= new DeltaReader(this.recorder.writer.directory)
    this.#tenure = await ship(this.store, this.#reader, this.#tenure, {
      maximumBytes,
      ...(most !== undefined && { most }),
    })
  }

  /** What is replaced is removed at once. `part`: of the time that has passed, how much is kept. */
  async compact(rangeBytes: number, partBytes: number, part = 1): Promise<void> {
    if (this.store.objects.size === 0) return
    const { model } = this.recorder
    const all = { cut: model.sequence, fromTime: 0, untilTime: Number.MAX_SAFE_INTEGER, kinds: KINDS }
    const events = model.events(all)
    const now = Math.max(START, ...events.map((event) => (event.type === "object" ? event.time : 0)))
    const keepMicros = part === 1 ? undefined : 1 + Math.floor((now - START) * part)
    this.keptFrom = Math.max(this.keptFrom, now - (keepMicros ?? now))
    await compactStream(new StepsStore(this.store), {
      ...{ temporaryDirectory: temporaryDirectory(), graceMs: 0, nowMicros: () => now, rangeBytes, partBytes },
      ...{ keepMicros, randomId: () => String(++this.#compactions) },
    })
  }

  /** Before the directory of the recorder is another one, or has another writer. */
  forget(): void {
    this.#reader?.close()
    this.#reader = undefined
  }

  async restored(): Promise<string> {
    const directory = temporaryDirectory()
    await restoreStream(this.store, directory)
    return directory
  }

  close(): void {
    this.forget()
    this.recorder.writer.close()
  }
}

type Step =
  | Command
  | { readonly type: "ship"; readonly bytes: number; readonly isNewReader: boolean; readonly most: number }
  | { readonly type: "shrink"; readonly rangeBytes: number; readonly partBytes: number; readonly part: number }

const anyShip: fc.Arbitrary<Step> = fc.record({
  type: fc.constant("ship" as const),
  bytes: fc.constantFrom(1, 3000, 1_000_000),
  isNewReader: fc.boolean(),
  most: fc.constantFrom(1, 2, 1000),
})

const compactions = (part: fc.Arbitrary<number>): fc.Arbitrary<Step> =>
  fc.record({
    type: fc.constant("shrink" as const),
    rangeBytes: fc.constantFrom(1, 10_000, 1_000_000),
    partBytes: fc.constantFrom(1, 5000, 1_000_000),
    part,
  })

const anyCompaction = compactions(fc.constant(1))

const run = async (steps: ReadonlyArray<Step>, seed: number, check: (shipped: ShippedRecorder) => Promise<void>) => {
  const shipped = new ShippedRecorder(seed)
  try {
    for (const step of steps) {
      if (step.type === "ship") {
        await shipped.ship(step.bytes, step.isNewReader, step.most)
        continue
      }
      if (step.type === "shrink") {
        await shipped.compact(step.rangeBytes, step.partBytes, step.part)
        continue
      }
      // Merging and retention change what has been sent, and nothing else.
      if (step.type === "merge" || step.type === "retain" || step.type === "compact") {
        shipped.recorder.run({ type: "commit" })
        await shipped.ship(1_000_000, false)
      }
      if (step.type === "crash" || step.type === "reopen") shipped.forget()
      shipped.recorder.run(step)
    }
    shipped.recorder.run({ type: "commit" })
    await shipped.ship(4000, false)
    await check(shipped)
  } finally {
    shipped.close()
  }
}

test("a recording is restored row for row", { timeout: patient(120_000) }, async () => {
  const step = fc.oneof(
    { weight: 8, arbitrary: anyCommand.filter(({ type }) => type !== "merge" && type !== "compare") },
    { weight: 1, arbitrary: anyShip },
  )
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 100, size: "max" }), fc.nat(), (steps, seed) =>
      run(steps, seed, async ({ recorder, store }) => {
        const directory = temporaryDirectory()
        const { segments, last, position } = await restoreStream(store, directory)
        expectSameRecording(directory, recorder.writer.directory)
        expect(position).toEqual(last?.facts.position)
        expect(segments).toBe(store.objects.size - 1)
      }),
    ),
    { numRuns: rounds(25) },
  )
})

test("compacted at any moments, in ranges and objects of any size, it is restored row for row", {
  timeout: patient(120_000),
}, async () => {
  const step = fc.oneof(
    { weight: 6, arbitrary: anyCommand.filter(({ type }) => type !== "merge" && type !== "compare") },
    { weight: 2, arbitrary: anyShip },
    { weight: 1, arbitrary: anyCompaction },
  )
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 100, size: "max" }), fc.nat(), (steps, seed) =>
      run(steps, seed, async (shipped) => {
        expectSameRecording(await shipped.restored(), shipped.recorder.writer.directory)
        await shipped.compact(1_000_000, 5000)
        expectSameRecording(await shipped.restored(), shipped.recorder.writer.directory)
      }),
    ),
    { numRuns: rounds(25) },
  )
})

test("what was merged or removed after it was sent is restored as it was", { timeout: patient(120_000) }, async () => {
  const step = fc.oneof(
    { weight: 16, arbitrary: anyCommand.filter(({ type }) => type !== "compare") },
    { weight: 1, arbitrary: anyShip },
    { weight: 1, arbitrary: anyRetention },
    { weight: 1, arbitrary: anyCompaction },
  )
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 30, maxLength: 120, size: "max" }), fc.nat(), (steps, seed) =>
      run(steps, seed, async (shipped) => {
        const directory = await shipped.restored()
        expect(verifyRecording(directory).isSound).toBe(true)
        const { model } = shipped.recorder
        const reader = ArchiveReader.open(directory)
        try {
          expect(reader.cut()).toBe(model.sequence)
          const all = { cut: model.sequence, fromTime: 0, untilTime: Number.MAX_SAFE_INTEGER }
          const kinds = reader.kinds().map(({ gvk }) => gvk)
          expect(Array.from(reader.events({ ...all, kinds }), plain)).toEqual(model.events({ ...all, kinds }))
          for (const gvk of kinds) {
            const moment = { cut: model.sequence, time: Number.MAX_SAFE_INTEGER, kinds: [gvk] }
            expect(Array.from(reader.snapshotAt(moment), plain)).toEqual(model.snapshot(moment))
          }
        } finally {
          reader.close()
        }
      }),
    ),
    { numRuns: rounds(15) },
  )
})

test("what is older than it is kept is dropped at any moments, and nothing else", {
  timeout: patient(120_000),
}, async () => {
  const step = fc.oneof(
    { weight: 12, arbitrary: anyCommand.filter(({ type }) => type !== "compare") },
    { weight: 3, arbitrary: anyShip },
    { weight: 1, arbitrary: compactions(fc.double({ min: 0, max: 0.99, noNaN: true })) },
  )
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 40, maxLength: 120, size: "max" }), fc.nat(), (steps, seed) =>
      run(steps, seed, async (shipped) => {
        await shipped.compact(1_000_000, 5000, 0.5)
        const directory = await shipped.restored()
        expect(verifyRecording(directory).isSound).toBe(true)
        const { model } = shipped.recorder
        const reader = ArchiveReader.open(directory)
        try {
          const kinds = reader.kinds().map(({ gvk }) => gvk)
          const all = { cut: model.sequence, fromTime: 0, untilTime: Number.MAX_SAFE_INTEGER, kinds }
          const kept = (events: Iterable<ReturnType<typeof plain>>) =>
            [...events].filter((event) => event.type === "object" && event.time > shipped.keptFrom)
          expect(kept(Array.from(reader.events(all), plain))).toEqual(kept(model.events(all)))
          for (const gvk of kinds)
            for (const time of [shipped.keptFrom + 1, Number.MAX_SAFE_INTEGER]) {
              const moment = { cut: model.sequence, time, kinds: [gvk] }
              expect(Array.from(reader.snapshotAt(moment), plain)).toEqual(model.snapshot(moment))
            }
        } finally {
          reader.close()
        }
      }),
    ),
    { numRuns: rounds(25) },
  )
})
