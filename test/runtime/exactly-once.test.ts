/** The promise of the mailboxes as a whole, with real worker threads that are killed in the middle of their work. */
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as Effect from "effect/Effect"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { ActorSystem, type RestartPolicy } from "../../src/runtime/index.ts"
import { seededRandom } from "./random.ts"
import { type CounterReport, counter, readLedger, type SinkReport, sink } from "./toys/numbers.ts"
import { inWorker } from "./toys/toy-worker.ts"

const last = 100_000
const killsEach = 12
const untiring: RestartPolicy = {
  backOff: { initialMs: 1, maximumMs: 1, factor: 1, jitter: 1, resetAfterMs: 0 },
  maximumCrashes: 1000,
  windowMs: 600_000,
}
const seed = Number(process.env["KUBEREEL_TEST_SEED"] ?? Math.floor(Math.random() * 0x1_0000_0000))

let directory = ""
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "kubereel-runtime-"))
})
afterEach(() => rm(directory, { recursive: true, force: true }))

describe("exactly once", () => {
  test(`every number arrives once and in order while both ends are killed (KUBEREEL_TEST_SEED=${seed})`, async () => {
    const random = seededRandom(seed)
    const file = join(directory, "ledger")
    const system = new ActorSystem({ random })
    const lives = { counter: 0, sink: 0 }
    const duplicates = new Map<number, number>()
    const fenced = new Map<number, number>()
    let redelivered = 0
    let lastWords: CounterReport = { unacknowledgedFrames: 0, redeliveredFrames: 0 }
    let killedWithFramesInFlight = 0
    const finished = Promise.withResolvers<void>()

    // A kill comes some random count of numbers after the victim of the one before runs again.
    const victims = [...Array<"counter" | "sink">(killsEach).fill("counter"), ...Array<"sink">(killsEach).fill("sink")]
      .map((victim) => ({ victim, order: random() }))
      .sort((left, right) => left.order - right.order)
      .map(({ victim }) => victim)
    let killAt = Math.floor(random() * 2000)
    let killing = false
    let kills = 0
    const killWhenDue = async (committed: number): Promise<void> => {
      const victim = victims[kills]
      if (victim === undefined || killing || committed < killAt) return
      killing = true
      kills++
      const actor = { counter: source, sink: receiver }[victim]
      if (victim === "counter" && lastWords.unacknowledgedFrames > 0) killedWithFramesInFlight++
      await actor.kill()
      await Effect.runPromise(actor.running())
      killAt = newest + Math.floor(random() * 2000)
      killing = false
    }
    let newest = 0

    const source = system.spawn({
      definition: counter,
      name: "counter",
      start: inWorker("counter"),
      config: () => ({ last, numbersPerFrame: 4, windowBytes: 16 * 1024, bufferBytes: 16 * 1024 }),
      incarnation: () => ++lives.counter,
      restart: untiring,
      onReport: (report: CounterReport) => {
        if (report.redeliveredFrames > lastWords.redeliveredFrames) redelivered++
        lastWords = report
      },
    })
    const receiver = system.spawn({
      definition: sink,
      name: "sink",
      start: inWorker("sink"),
      config: () => ({ file, framesPerAcknowledgement: 8 }),
      incarnation: () => ++lives.sink,
      restart: untiring,
      onReport: ({ committed, duplicateFrames, fencedFrames }: SinkReport) => {
        duplicates.set(receiver.incarnation, duplicateFrames)
        fenced.set(receiver.incarnation, fencedFrames)
        newest = committed
        void killWhenDue(committed)
        if (committed === last) finished.resolve()
      },
    })
    system.link("numbers", source, receiver)
    system.link("resume", receiver, source, "upstream")

    await finished.promise
    expect(await Effect.runPromise(receiver.call("committed", undefined))).toBe(last)
    expect(await system.stop()).toEqual([])

    const written = readLedger(file).flatMap(({ numbers }) => numbers)
    expect(written).toHaveLength(last)
    expect(written.findIndex((number, index) => number !== index + 1)).toBe(-1)
    const total = (counts: Map<number, number>): number => [...counts.values()].reduce((sum, count) => sum + count, 0)
    console.log({ kills, lives, redelivered, killedWithFramesInFlight, dup: total(duplicates), fenced: total(fenced) })
    expect(kills).toBe(2 * killsEach)
    expect(lives).toEqual({ counter: killsEach + 1, sink: killsEach + 1 })
    expect(killedWithFramesInFlight).toBeGreaterThan(0)
    expect(redelivered).toBeGreaterThan(0)
    expect(total(duplicates)).toBeGreaterThan(0)
  })
})
