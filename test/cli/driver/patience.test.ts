import { expect, test } from "vitest"
import { withPatience } from "../../../src/cli/driver/driver-trace.ts"
import { ManualClock } from "../../runtime/manual-clock.ts"

const forever = new AbortController().signal

/** Moves the clock on from timer to timer while the work has not settled. */
const settled = async <Value>(clock: ManualClock, work: Promise<Value>): Promise<PromiseSettledResult<Value>> => {
  let isOver = false
  const [result] = [Promise.allSettled([work]).finally(() => (isOver = true))]
  while (!isOver) {
    clock.advance(clock.untilNext ?? 0)
    await new Promise(setImmediate)
  }
  return (await result)[0]
}

const failing = (clock: ManualClock, log: string[], failures: number, isMomentary = true) => {
  let calls = 0
  const work = withPatience(
    { clock, random: () => 0, log: (line) => log.push(line) },
    forever,
    () => isMomentary,
    async () => {
      if (++calls <= failures) throw new Error("the store is away")
      return calls
    },
  )
  return settled(clock, work)
}

test("what fails for a moment is tried again, with pauses that grow", async () => {
  const [clock, log] = [new ManualClock(), [] as string[]]
  expect(await failing(clock, log, 3)).toEqual({ status: "fulfilled", value: 4 })
  expect(log).toEqual(Array(3).fill("the store is away; trying again"))
  expect(clock.monotonicMs()).toBe(500 + 1000 + 2000)
})

test("what goes on failing fails within half a minute", async () => {
  const clock = new ManualClock()
  expect(await failing(clock, [], Number.POSITIVE_INFINITY)).toMatchObject({ status: "rejected" })
  expect(clock.monotonicMs()).toBeLessThan(30_000)
})

test("what will fail again is not tried again", async () => {
  const [clock, log] = [new ManualClock(), [] as string[]]
  expect(await failing(clock, log, 1, false)).toMatchObject({ status: "rejected" })
  expect({ log, ms: clock.monotonicMs() }).toEqual({ log: [], ms: 0 })
})

test("an interruption ends the pause", async () => {
  const clock = new ManualClock()
  const ending = new AbortController()
  const work = withPatience(
    { clock, random: () => 0, log: () => ending.abort() },
    ending.signal,
    () => true,
    async () => {
      throw new Error("the store is away")
    },
  )
  await expect(work).rejects.toThrow("the store is away")
  expect({ ms: clock.monotonicMs(), timers: clock.pending }).toEqual({ ms: 0, timers: 0 })
})
