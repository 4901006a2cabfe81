/** Several processes with one Lease, each of which loses and regains its connection: never two leaders, and always one again. */

import fc from "fast-check"
import { expect, test } from "vitest"
import { ApiClient } from "../../../src/kube/client/api-client.ts"
import { electionTimes, LeaderElector } from "../../../src/kube/election/leader-election.ts"
import { Sandbox } from "../../../src/sandbox/index.ts"
import { ManualClock } from "../../runtime/manual-clock.ts"
import { turn } from "../../runtime/until.ts"

/** A process, which can be cut off; its clock is that of all. */
const processOf = (identity: string, sandbox: Sandbox, clock: ManualClock) => {
  let isCut = false
  const server = {
    endpoint: async () => {
      if (isCut) throw new Error("cut off")
      return sandbox.endpoint
    },
    onUnauthorized: async () => undefined,
  }
  const api = new ApiClient({ server, userAgent: identity })
  const terms: string[] = []
  const elector = new LeaderElector({
    ...electionTimes({ name: "one" }),
    name: "one",
    namespace: "default",
    identity,
    releaseOnEnd: true,
    api,
    clock,
    random: Math.random,
    trouble: () => undefined,
    begin: () => terms.push("begins"),
    end: async () => void terms.push("ends"),
  })
  return {
    elector,
    api,
    cut: (value: boolean) => {
      isCut = value
    },
    /** What its controllers believe. */
    leads: () => terms.at(-1) === "begins",
  }
}

const step = fc.record({ index: fc.nat({ max: 2 }), isCut: fc.boolean(), turns: fc.integer({ min: 1, max: 60 }) })

test("At most one process leads whenever any of them is cut off, and one leads once all are connected", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 12 }), async (steps) => {
      const clock = new ManualClock()
      const sandbox = await Sandbox.start({ clock, bookmarkInterval: 0 })
      const processes = ["a", "b", "c"].map((identity) => processOf(identity, sandbox, clock))
      const leaders = () => processes.filter(({ leads }) => leads())
      const pass = async (): Promise<void> => {
        clock.advance(250)
        // Requests take no time compared with the durations of an election.
        for (let turns = 0; turns < 12; turns++) await turn()
        expect(leaders().length).toBeLessThanOrEqual(1)
      }
      for (const { elector } of processes) elector.start()
      for (const { index, isCut, turns } of steps) {
        processes[index]?.cut(isCut)
        for (let count = 0; count < turns; count++) await pass()
      }
      for (const { cut } of processes) cut(false)
      // The longest: a Lease that has just been renewed, its duration, and two attempts with their jitter.
      for (let waited = 0; leaders().length === 0; waited += 250) {
        expect(waited).toBeLessThan(15_000 + 2 * 2000 * 2.2 + 1000)
        await pass()
      }
      const closing = Promise.all(processes.map(({ elector }) => elector.close()))
      await closing
      for (const { api } of processes) api.close()
      await sandbox.close()
    }),
    { numRuns: 10 },
  )
})

test.each([
  [{ leaseDurationMs: 500 }, "at least 1,000"],
  [{ leaseDurationMs: 10_000 }, "more than renewDeadlineMs"],
  [{ renewDeadlineMs: 2000 }, "1.2 times retryPeriodMs"],
  [{}, undefined],
])("Times that let two lead, or none, are refused: %o", (times, problem) => {
  const found = electionTimes({ name: "one", ...times }).problem
  if (problem === undefined) expect(found).toBeUndefined()
  else expect(found).toContain(problem)
})
