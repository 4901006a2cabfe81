/**
 * Mutants of requests to a real API server and to the sandbox: the sandbox fails (500 and above) for none that the real server refuses or
 * serves, and nearly all get a status of the same class.
 */
import fc from "fast-check"
import { afterAll, beforeAll, expect, test } from "vitest"
import { Sandbox } from "../../../src/sandbox/index.ts"
import { patient } from "../../harness/patience.ts"
import { mutantSeed, shownBytes } from "../../mutants/mutant-run.ts"
import { requestMutant, wireBytes } from "../../mutants/request-mutants.ts"
import { requestScripts } from "../../mutants/script-requests.ts"
import type { Connection } from "../connection.ts"
import { openTestCluster } from "../guard.ts"
import { compareMutants, type MutantDifference, withNamespace } from "./mutant-comparison.ts"

let sandbox: Sandbox
let real: Connection
const defects: string[] = []
beforeAll(async () => {
  real = (await openTestCluster()).connection
  sandbox = await Sandbox.start({ lifecycle: true, ledger: "none", onTrouble: (detail) => void defects.push(detail) })
})
afterAll(() => sandbox?.close())

const fewest = 1000
const given = fc.record({
  script: fc.noBias(fc.nat()),
  mutants: fc.array(requestMutant, { minLength: 20, maxLength: 20 }),
})

test(`${fewest} requests with their mutants (KUBEREEL_TEST_SEED=${mutantSeed})`, {
  timeout: patient(120_000),
}, async () => {
  const ours: Connection = { server: sandbox.url, options: {} }
  const differences: MutantDifference[] = []
  let sent = 0
  for (const { script: which, mutants } of fc.sample(given, { seed: mutantSeed, numRuns: 100 })) {
    if (sent >= fewest) break
    const script = requestScripts[which % requestScripts.length]
    if (script === undefined) throw new Error("there are no scripts")
    const namespace = `mutants-${process.pid.toString(36)}-${sent}`
    const found = await withNamespace([real, ours], namespace, () =>
      compareMutants(real, ours, script, mutants, namespace),
    )
    sent += found.sent
    differences.push(...found.differences)
  }
  // A mutant before may have begun the end of the namespace on one side only; what is created in it is refused there before anything else.
  const isEnding = ({ real: { body } }: MutantDifference): boolean =>
    /because it is being terminated/.test(String(body))
  const failures = differences.filter(
    (difference) => difference.sandbox.status >= 500 && difference.real.status < 500 && !isEnding(difference),
  )
  expect(failures.map(describeDifference)).toEqual([])
  expect(defects).toEqual([])
  console.log(`${sent} requests, ${differences.length} of them with a status of another class:`)
  for (const difference of differences) console.log(describeDifference(difference))
  // A difference makes others: what one server has stored, the other has not.
  expect(differences.length).toBeLessThan(sent * 0.03)
})

const describeDifference = ({ script, request, real: theirs, sandbox: own }: MutantDifference): string =>
  `${script}: ${theirs.status} and ${own.status} for ${shownBytes(wireBytes(request), 400)}: ${theirs.body.slice(0, 200)} and ${own.body.slice(0, 200)}`
