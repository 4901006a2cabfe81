/** Whatever is asked of a mirror, it answers as the recording that was sent, and fetches no more than it must. */
import fc from "fast-check"
import { expect, test } from "vitest"
import { provideBlobSource } from "../../../src/archive/index.ts"
import { Mirror, restoreStream } from "../../../src/fleet/index.ts"
import { anyCommand, anyRetention } from "../../archive/modelled-recorder.ts"
import { START } from "../../archive/sample-frames.ts"
import { rounds } from "../../harness/effort.ts"
import { patient } from "../../harness/patience.ts"
import { temporaryDirectory } from "../../harness/temporary-directory.ts"
import { anyCompaction, anyShip, run, type ShippedRecorder } from "../shipped-recorder.ts"
import { answersOf } from "./answers.ts"
import { memorySource } from "./memory-source.ts"

/** Of everything that was sent. */
const mirrored = async ({ store }: ShippedRecorder, keptBytes: number): Promise<string> => {
  const cache = { directory: temporaryDirectory(), maximumBytes: 1e9 }
  const mirror = new Mirror(store, { cache, everyMs: -1, keptBytes })
  provideBlobSource(memorySource(store))
  await mirror.update()
  return mirror.directory
}

const anyKept = fc.constantFrom(0, 500, 4096)

const moments = [START, START + 2000, START + 20_000, START + 1_000_000]

test("a mirror answers as the recording does", { timeout: patient(240_000) }, async () => {
  const step = fc.oneof(
    { weight: 8, arbitrary: anyCommand.filter(({ type }) => type !== "merge" && type !== "compare") },
    { weight: 1, arbitrary: anyShip },
    { weight: 1, arbitrary: anyCompaction },
  )
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 100, size: "max" }), fc.nat(), anyKept, (steps, seed, kept) =>
      run(steps, seed, async (shipped) => {
        const mirror = await mirrored(shipped, kept)
        expect(await answersOf(mirror, moments)).toEqual(await answersOf(shipped.recorder.writer.directory, moments))
      }),
    ),
    { numRuns: rounds(25) },
  )
})

test("of what was merged or removed after it was sent a mirror answers as a restored copy does", {
  timeout: patient(240_000),
}, async () => {
  const step = fc.oneof(
    { weight: 16, arbitrary: anyCommand.filter(({ type }) => type !== "compare") },
    { weight: 1, arbitrary: anyShip },
    { weight: 1, arbitrary: anyCompaction },
    { weight: 1, arbitrary: anyRetention },
  )
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 30, maxLength: 120, size: "max" }),
      fc.nat(),
      anyKept,
      (steps, seed, kept) =>
        run(steps, seed, async (shipped) => {
          const mirror = await mirrored(shipped, kept)
          const copy = temporaryDirectory()
          await restoreStream(shipped.store, copy)
          expect(await answersOf(mirror, moments)).toEqual(await answersOf(copy, moments))
        }),
    ),
    { numRuns: rounds(15) },
  )
})
