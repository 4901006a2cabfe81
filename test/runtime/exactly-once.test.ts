/** The promise of the mailboxes as a whole, with real worker threads that are killed in the middle of their work. */
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as Effect from "effect/Effect"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { ActorSystem, type RestartPolicy } from "../../src/library/runtime.ts"
import { seededRandom } from "./random.ts"
import { type CounterReport, counter, readLedger, type SinkReport, sink } from "./toys/numbers.ts"
import { inWorker } from "./toys/toy-worker.ts"

const last = 30_000
/** How often the counter is killed, how often the sink, and how often both at once. */
const killsOfEach = 5
/** Numbers between two kills, at most: all of them come before the last number. */
const betweenKills = 1500
const untiring: RestartPolicy = {
  backOff: { initialMs: 1, maximumMs: 1, factor: 1, jitter: 1, resetAfterMs: 0 },
  maximumCrashes: 1000,
  windowMs: 600_000,
}
const seed = Number(process.env.KUBEREEL_TEST_SEED ?? Math.floor(Math.random() * 0x1_0000_0000))

let directory = ""
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "kubereel-runtime-"))
})
afterEach(() => rm(directory, { recursive: true, force: true }))

describe("exactly once", () => {
  test(`${last} numbers arrive once and in order while both ends are killed (KUBEREEL_TEST_SEED=${seed})`, async () => {
    const random = seededRandom(seed)
    const file = join(directory, "ledger")
    const system = new ActorSystem({ random })
    const lives = { counter: 0, sink: 0 }
    const finished = Promise.withResolvers<void>()
    let lastWords: CounterReport = { unacknowledgedFrames: 0, redeliveredFrames: 0 }
    let redelivered = 0
    let committed = 0
    /** Frames that each life of the sink has dropped as duplicates. */
    const duplicates = new Map<number, number>()

    const source = system.spawn({
      definition: counter,
      name: "counter",
      start: inWorker("counter"),
      config: () => ({ last, numbersPerFrame: 4, windowBytes: 16 * 1024, bufferBytes: 16 * 1024 }),
      incarnation: () => ++lives.counter,
      restart: untiring,
      onReport: (report: CounterReport) => {
        redelivered += Math.max(0, report.redeliveredFrames - lastWords.redeliveredFrames)
        lastWords = report
      },
    })
    const receiver = system.spawn({
      definition: sink,
      name: "sink",
      start: inWorker("sink"),
      // The window holds 32 frames and 7 does not divide them: a sink that waits for more has some to acknowledge.
      config: () => ({ file, framesPerAcknowledgement: 7 }),
      incarnation: () => ++lives.sink,
      restart: untiring,
      onReport: (report: SinkReport) => {
        duplicates.set(receiver.incarnation, report.duplicateFrames)
        committed = report.committed
        void killWhenDue()
        if (committed === last) finished.resolve()
      },
    })
    system.link("numbers", source, receiver)
    system.link("resume", receiver, source, "upstream")

    const plan = [[source], [receiver], [source, receiver]]
      .flatMap((victims) => Array.from({ length: killsOfEach }, () => ({ victims, order: random() })))
      .sort((left, right) => left.order - right.order)
    let kills = 0
    let sourceKilledWithFramesInFlight = 0
    // Each kill comes a random count of numbers after the previous victims run again.
    let due = Math.floor(random() * betweenKills)
    const killWhenDue = async (): Promise<void> => {
      const next = plan[kills]
      if (next === undefined || committed < due) return
      due = Number.POSITIVE_INFINITY
      kills++
      if (next.victims.includes(source) && lastWords.unacknowledgedFrames > 0) sourceKilledWithFramesInFlight++
      await Promise.all(next.victims.map((victim) => victim.kill()))
      await Promise.all(next.victims.map((victim) => Effect.runPromise(victim.running())))
      due = committed + Math.floor(random() * betweenKills)
    }

    await finished.promise
    expect(await Effect.runPromise(receiver.call("committed", undefined))).toBe(last)
    expect(await system.stop()).toEqual([])

    const written = readLedger(file).flatMap(({ numbers }) => numbers)
    expect(written).toHaveLength(last)
    expect(written.findIndex((number, index) => number !== index + 1)).toBe(-1)

    // The test proves something only if it was hard: all kills happened, in the middle of frames, and some frames came twice.
    expect(kills).toBe(plan.length)
    expect(lives).toEqual({ counter: 2 * killsOfEach + 1, sink: 2 * killsOfEach + 1 })
    expect(sourceKilledWithFramesInFlight).toBeGreaterThan(0)
    expect(redelivered).toBeGreaterThan(0)
    expect([...duplicates.values()].reduce((sum, count) => sum + count, 0)).toBeGreaterThan(0)
  })
})
