/** Any recording, sent at any moments in segments of any size, is restored as it is: row for row, or, where it was merged or removed since, as a plain list. */
import fc from "fast-check"
import { expect, test } from "vitest"
import { ArchiveReader, verifyRecording } from "../../../src/archive/index.ts"
import { restoreStream } from "../../../src/fleet/index.ts"
import { anyCommand, anyRetention } from "../../archive/modelled-recorder.ts"
import { plain } from "../../archive/sample-frames.ts"
import { rounds } from "../../harness/effort.ts"
import { patient } from "../../harness/patience.ts"
import { temporaryDirectory } from "../../harness/temporary-directory.ts"
import { expectSameRecording } from "../same-recording.ts"
import { anyCompaction, anyShip, anyTakeOver, compactions, run } from "../shipped-recorder.ts"

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
    { weight: 1, arbitrary: anyTakeOver },
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
    { weight: 1, arbitrary: anyTakeOver },
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
    { weight: 1, arbitrary: anyTakeOver },
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
