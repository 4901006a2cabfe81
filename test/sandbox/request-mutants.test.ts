/**
 * The sandbox, with all its controllers, under damaged and hostile requests: each gets a response, none is a failure of the server that the real
 * one would not give, nothing is reported as a defect, and what was written can be read.
 */
import fc from "fast-check"
import { afterAll, expect, test } from "vitest"
import { mutantCount, mutantRuns, mutantSeed, shrinkingSoon } from "../mutants/mutant-run.ts"
import { requestMutant } from "../mutants/request-mutants.ts"
import { Subject } from "../mutants/subject.ts"
import type { RequestTask } from "../mutants/workers/request-subject.ts"

const subject = new Subject<RequestTask>(new URL("../mutants/workers/request-subject.ts", import.meta.url))
afterAll(() => subject.close())

/** Of one new cluster: enough that later requests meet what earlier ones left. */
const perCluster = 50
const count = mutantCount()

const given = fc.record({
  script: fc.noBias(fc.nat()),
  // So that a failure shrinks to the requests that cause it.
  mutants: fc.array(fc.option(requestMutant, { nil: undefined, freq: 1_000_000 }), {
    minLength: perCluster,
    maxLength: perCluster,
  }),
})

test(`${count} mutants of requests are answered (KUBEREEL_TEST_SEED=${mutantSeed})`, { timeout: 600_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(
      given,
      shrinkingSoon(async ({ script, mutants }) => {
        const { problems } = await subject.try({ script, mutants: mutants.filter((mutant) => mutant !== undefined) })
        if (problems.length > 0) expect.fail(problems.join("\n"))
      }),
    ),
    mutantRuns(Math.ceil(count / perCluster)),
  )
  console.log(`${count} mutants of requests: ${Math.round(subject.cpuMs)} ms of processor time`)
})
