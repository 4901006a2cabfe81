import { expect, test } from "vitest"
import { systemClock } from "../../../src/clock.ts"
import { LifeScout } from "../../../src/simulation/pods/life-source.ts"
import type { TraceItem } from "../../../src/trace/trace-item.ts"
import { ManualClock } from "../../runtime/manual-clock.ts"
import { simkubeTrace } from "./followed-replay.ts"
import { start } from "./recorded-pod.ts"

const trace = simkubeTrace(60, [], [["batch/v1.Job", "nightly", 5, 90]])
const key = "batch/v1.Job shop/nightly"

const scoutOf = (items: AsyncIterable<Iterable<TraceItem>>) => {
  const problems: string[] = []
  const scout = new LifeScout(async () => items)
  return {
    scout,
    problems,
    begin: (micros = start, clock: typeof systemClock = systemClock) =>
      scout.begin(micros, { clock, onProblem: (problem) => problems.push(problem) }),
  }
}

async function* chunks(items: ReadonlyArray<TraceItem>): AsyncGenerator<ReadonlyArray<TraceItem>, void> {
  for (const item of items) yield [item]
}

const runs = (scout: LifeScout) => [0, 1].map((index) => scout.lives.life(key, 7n, index)?.runMs)

test("knows the lives at the end of the file once it has read it, and of those under way what is left", async () => {
  const { scout, begin } = scoutOf(chunks(trace))
  begin()
  await scout.waitFor(60_000)
  expect([scout.isFinished, runs(scout)]).toEqual([true, [5000, 90_000]])
  const later = scoutOf(chunks(trace))
  later.begin(start + 30_000_000)
  await later.scout.waitFor(60_000)
  expect(runs(later.scout)).toEqual([5000, 60_000])
})

test("reports why the trace could not be read to its end, and keeps what it knows", async () => {
  async function* broken(): AsyncGenerator<ReadonlyArray<TraceItem>, void> {
    yield trace
    throw new Error("the disk is gone")
  }
  const { scout, begin, problems } = scoutOf(broken())
  begin()
  await scout.waitFor(60_000)
  expect(runs(scout)).toEqual([5000, 90_000])
  expect(problems).toEqual(["not all lives of pods could be read: the disk is gone"])
})

test("rests as long as it has read, so that it takes at most half of the time", async () => {
  const clock = new ManualClock()
  let read = 0
  async function* slow(): AsyncGenerator<ReadonlyArray<TraceItem>, void> {
    for (; read < 100; read++)
      yield {
        *[Symbol.iterator]() {
          clock.advance(300)
          yield* trace
        },
      } as unknown as ReadonlyArray<TraceItem>
  }
  const { scout, begin } = scoutOf(slow())
  begin(start, clock)
  // The first second needs no rest; then each chunk is followed by 300 ms of it.
  await expect.poll(() => [clock.untilNext, clock.pending]).toEqual([300, 1])
  expect(read).toBe(3)
  clock.advance(299)
  await new Promise(setImmediate)
  expect(read).toBe(3)
  clock.advance(1)
  await expect.poll(() => clock.untilNext).toBe(300)
  expect(read).toBe(4)
  scout.close()
})

test("waits no longer than it may for a trace that is silent, and ends without it", async () => {
  async function* silent(): AsyncGenerator<ReadonlyArray<TraceItem>, void> {
    yield []
    await new Promise(() => undefined)
  }
  const { scout, begin, problems } = scoutOf(silent())
  begin()
  await scout.waitFor(20)
  expect(scout.isFinished).toBe(false)
  scout.close()
  expect(problems).toEqual([])
})

test("ends its reading when it is closed, also while the trace is silent", async () => {
  const steps: string[] = []
  const problems: string[] = []
  const scout = new LifeScout(async (signal) =>
    (async function* () {
      yield trace
      steps.push("silent")
      await new Promise((resolve) => signal.addEventListener("abort", resolve))
      steps.push("ended")
      throw new Error("interrupted")
    })(),
  )
  scout.begin(start, { clock: systemClock, onProblem: (problem) => problems.push(problem) })
  await expect.poll(() => steps).toEqual(["silent"])
  scout.close()
  await expect.poll(() => scout.isFinished).toBe(true)
  expect([steps, problems]).toEqual([["silent", "ended"], []])
})
