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
import { anyShip, run } from "../shipped-recorder.ts"

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

test("what was merged or removed after it was sent is restored as it was", { timeout: patient(120_000) }, async () => {
  const step = fc.oneof(
    { weight: 16, arbitrary: anyCommand.filter(({ type }) => type !== "compare") },
    { weight: 1, arbitrary: anyShip },
    { weight: 1, arbitrary: anyRetention },
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
