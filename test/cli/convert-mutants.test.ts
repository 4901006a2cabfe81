/**
 * `reel convert` with damaged and hostile traces: whatever the bytes, it ends, within bounded time and memory, with a message for people; and what
 * it does write it can read.
 */
import fc from "fast-check"
import { afterAll, beforeAll, expect, test } from "vitest"
import { VIEW_NAMES } from "../../src/trace/index.ts"
import { mutantCount, mutantRuns, mutantSeed, shownBytes, shrinkingSoon } from "../mutants/mutant-run.ts"
import { Subject } from "../mutants/subject.ts"
import { baseTraces, formats, traceMutant, traceMutantOf } from "../mutants/trace-mutants.ts"
import type { ConvertTask } from "../mutants/workers/convert-subject.ts"

const subject = new Subject<ConvertTask>(new URL("../mutants/workers/convert-subject.ts", import.meta.url))
let bases: Awaited<ReturnType<typeof baseTraces>>
beforeAll(async () => {
  bases = await baseTraces()
})
afterAll(() => subject.close())

const given = fc.record({
  format: fc.constantFrom(...formats),
  mutant: traceMutant,
  to: fc.constantFrom(...formats, ...VIEW_NAMES),
  isNamed: fc.boolean(),
  excludeOwned: fc.nat(9).map((of10) => of10 === 9),
  piece: fc.constantFrom(65_536, 65_536, 4096, 100, 7),
  isPipe: fc.boolean(),
})

const count = mutantCount()

test(`${count} mutants of traces are converted or refused (KUBEREEL_TEST_SEED=${mutantSeed})`, {
  timeout: 600_000,
}, async () => {
  await fc.assert(
    fc.asyncProperty(
      given,
      shrinkingSoon(async ({ format, mutant, isNamed, ...how }) => {
        const bytes = traceMutantOf(format, bases[format], mutant)
        const { problems } = await subject.try({ bytes, from: isNamed ? format : undefined, ...how })
        if (problems.length > 0)
          expect.fail(`${problems.join("\n")}\nThe ${format} trace, to ${JSON.stringify(how)}: ${shownBytes(bytes)}`)
      }),
    ),
    mutantRuns(count),
  )
  console.log(`${count} mutants of traces: ${Math.round(subject.cpuMs)} ms of processor time`)
})
