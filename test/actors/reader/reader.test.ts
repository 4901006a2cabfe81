/** The reader's results and errors, and how queries wait for one another. */
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { describe, expect, test } from "vitest"
import { readerName } from "../../../src/actors/names.ts"
import { makeQuestionQueue, readerBody } from "../../../src/actors/reader/reader-body.ts"
import { maximumWaiting, ReadingFailed, readerDefinition } from "../../../src/actors/reader/reader-interface.ts"
import { systemClock } from "../../../src/clock.ts"
import { ActorSystem, localThread } from "../../../src/runtime/index.ts"
import { type OwnedObject, recordingOf } from "../exporter/owned-recording.ts"

const minute = 60_000_000
const object = (gvk: string, name: string): OwnedObject => ({ gvk, name, owners: [], rest: {} })
const filters = { excluded_namespaces: [], excluded_labels: [] }

const recorded = (): string => recordingOf([object("v1.Pod", "a"), object("v1.Pod", "b"), object("v1.Node", "n")])

const start = async (of: string) => {
  const system = new ActorSystem()
  const reader = system.spawn({
    definition: readerDefinition,
    name: readerName,
    start: localThread(readerDefinition, readerBody, systemClock),
    config: () => ({ directory: of }),
    incarnation: () => 1,
  })
  await Effect.runPromise(reader.running())
  return { reader, [Symbol.asyncDispose]: async () => void (await system.stop()) }
}

describe("the reader", () => {
  test("returns the recorded part of each kind in a window", async () => {
    await using running = await start(recorded())
    const ask = (fromTime: number, untilTime: number) =>
      Effect.runPromise(running.reader.call("coverage", { fromTime, untilTime }))
    const { cut, kinds } = await ask(0, 2 * minute)
    expect([cut, kinds.map(({ gvk, events }) => [gvk, events])]).toEqual([
      3,
      [
        ["v1.Pod", 2],
        ["v1.Node", 1],
      ],
    ])
    // The second event is one µs later.
    expect((await ask(minute + 1, 2 * minute)).kinds.map(({ events }) => events)).toEqual([1, 1])
  })

  test("counts objects and changes of a window, without those that the request excludes by name", async () => {
    await using running = await start(recorded())
    const count = (more: object, fromTime = 0) =>
      Effect.runPromise(
        running.reader.call("count", {
          ...{ fromTime, untilTime: 2 * minute, cut: 3, kinds: ["v1.Pod"] },
          filters: { ...filters, ...more },
        }),
      )
    expect(await count({})).toEqual({ "v1.Pod": { objects: 0, events: 2 } })
    expect(await count({ excluded_names: ["a"] })).toEqual({ "v1.Pod": { objects: 0, events: 1 } })
    expect(await count({}, minute + 1)).toEqual({ "v1.Pod": { objects: 1, events: 1 } })
  })

  test("reports that a recording cannot be read, and why, and continues", async () => {
    await using running = await start("/nowhere/at/all")
    const failures = await Effect.runPromise(
      Effect.all([
        Effect.flip(running.reader.call("coverage", { fromTime: 0, untilTime: 1 })),
        Effect.flip(running.reader.call("recordedSince", undefined)),
        Effect.flip(running.reader.call("count", { fromTime: 0, untilTime: 1, cut: 1, kinds: ["v1.Pod"], filters })),
      ]),
    )
    for (const error of failures) {
      expect(error).toBeInstanceOf(ReadingFailed)
      expect(error).toMatchObject({ fault: "recording", message: expect.stringContaining("/nowhere/at/all") })
    }
    expect([running.reader.state, running.reader.restarts]).toEqual(["running", 0])
  })
})

describe("long queries", () => {
  test("run one at a time, in order of arrival", async () => {
    const queue = await Effect.runPromise(makeQuestionQueue)
    const steps: string[] = []
    const question = (name: string) =>
      queue(
        Effect.gen(function* () {
          steps.push(`${name} begins`)
          yield* Effect.yieldNow
          steps.push(`${name} ends`)
        }),
      )
    await Effect.runPromise(Effect.all([question("a"), question("b"), question("c")], { concurrency: "unbounded" }))
    expect(steps).toEqual(["a begins", "a ends", "b begins", "b ends", "c begins", "c ends"])
  })

  test("wait up to a number; the next is told to retry, and an aborted one leaves its place", async () => {
    const queue = await Effect.runPromise(makeQuestionQueue)
    const waiting = Array.from({ length: 1 + maximumWaiting }, () => Effect.runFork(queue(Effect.never)))
    const refused = await Effect.runPromise(Effect.flip(queue(Effect.void)))
    expect(refused).toMatchObject({
      fault: "busy",
      message: `${maximumWaiting} queries are already waiting, which is the limit; try again`,
    })
    await Effect.runPromise(Fiber.interruptAll(waiting))
    await Effect.runPromise(queue(Effect.void))
  })
})
