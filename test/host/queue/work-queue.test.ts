/** The work queue, against client-go's rules and against a model of them. */

import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { WorkQueue, type WorkQueueOptions } from "../../../src/host/queue/work-queue.ts"
import { ManualClock } from "../../runtime/manual-clock.ts"
import { turn } from "../../runtime/until.ts"

/** A queue whose runs end when the test ends them. */
class Workshop {
  readonly clock = new ManualClock()
  readonly begun: string[] = []
  readonly queue: WorkQueue
  readonly errors: unknown[] = []
  readonly #running = new Map<string, { resolve(): void; reject(error: unknown): void }>()
  readonly #onBegin: (key: string) => void

  constructor(options: Partial<WorkQueueOptions> = {}, onBegin: (key: string) => void = () => undefined) {
    this.#onBegin = onBegin
    this.queue = new WorkQueue({
      clock: this.clock,
      random: () => 0,
      process: (key) => this.#process(key),
      onError: (_key, error) => this.errors.push(error),
      ...options,
    })
  }

  get running(): ReadonlyArray<string> {
    return [...this.#running.keys()]
  }

  async finish(key: string, error?: unknown): Promise<void> {
    const run = this.#running.get(key)
    this.#running.delete(key)
    if (error === undefined) run?.resolve()
    else run?.reject(error)
    await turn()
  }

  #process(key: string): Promise<void> {
    if (this.#running.has(key)) throw new Error(`${key} is in work twice`)
    this.begun.push(key)
    this.#onBegin(key)
    return new Promise((resolve, reject) => this.#running.set(key, { resolve, reject }))
  }
}

describe("A key", () => {
  test("is queued once, however often it is added, and keys are processed in the order of addition", async () => {
    const { queue, begun } = new Workshop()
    for (const key of ["a", "b", "a", "c", "b", "a"]) queue.add(key)
    await turn()
    expect(begun).toEqual(["a", "b", "c"])
  })

  test("added again while it is processed is processed once more afterwards, and never twice at the same time", async () => {
    const shop = new Workshop()
    shop.queue.add("a")
    await turn()
    for (let times = 0; times < 5; times++) shop.queue.add("a")
    await turn()
    expect(shop.begun).toEqual(["a"])
    await shop.finish("a")
    expect(shop.begun).toEqual(["a", "a"])
    await shop.finish("a")
    expect([shop.begun.length, shop.queue.depth]).toEqual([2, 0])
  })

  test("added by its own run is processed once more", async () => {
    let rounds = 0
    const queue = new WorkQueue({
      clock: new ManualClock(),
      process: async (key) => {
        if (++rounds < 3) queue.add(key)
      },
    })
    queue.add("a")
    await turn()
    expect(rounds).toBe(3)
  })

  test("waits while the maximum number of keys is being processed", async () => {
    const shop = new Workshop({ concurrency: 2 })
    for (const key of ["a", "b", "c"]) shop.queue.add(key)
    await turn()
    expect(shop.running).toEqual(["a", "b"])
    await shop.finish("a")
    expect(shop.running).toEqual(["b", "c"])
  })

  test("with several delays is added at the earliest, and an earlier run does not cancel it", async () => {
    const shop = new Workshop()
    shop.queue.addAfter("a", 100)
    shop.queue.addAfter("a", 50)
    shop.queue.addAfter("a", 80)
    expect(shop.clock.pending).toBe(1)
    shop.queue.add("a")
    await turn()
    await shop.finish("a")
    shop.clock.advance(50)
    await turn()
    expect(shop.begun).toEqual(["a", "a"])
    await shop.finish("a")
    shop.clock.advance(1000)
    await turn()
    expect(shop.begun).toHaveLength(2)
  })

  test("is not processed in the middle of the code that adds it", async () => {
    const shop = new Workshop()
    shop.queue.add("a")
    expect(shop.begun).toEqual([])
    await turn()
    expect(shop.begun).toEqual(["a"])
  })

  test("is processed in a timer if so configured, together with all that were added by then", () => {
    const clock = new ManualClock()
    const done: string[] = []
    const queue = new WorkQueue({
      clock,
      start: "timer",
      concurrency: 1,
      process: (key) => {
        done.push(key)
        if (key === "a") queue.add("c")
      },
    })
    queue.add("a")
    queue.add("b")
    expect(done).toEqual([])
    clock.advance(0)
    // Keys added while the others were processed had their own turn.
    expect(done).toEqual(["a", "b", "c"])
    expect(clock.pending).toBe(0)
  })
})

describe("A key that fails", () => {
  const failing = async (shop: Workshop, times: number): Promise<ReadonlyArray<number>> => {
    const pauses: number[] = []
    for (let failed = 0; failed < times; failed++) {
      await shop.finish("a", new Error("no"))
      const pause = shop.clock.untilNext ?? Number.NaN
      pauses.push(pause)
      shop.clock.advance(pause)
      await turn()
    }
    return pauses
  }

  test("is retried after 5, 10, 20 ms; a success forgets the failures", async () => {
    const shop = new Workshop()
    shop.queue.add("a")
    await turn()
    expect(await failing(shop, 3)).toEqual([5, 10, 20])
    await shop.finish("a")
    shop.queue.add("a")
    await turn()
    expect(await failing(shop, 1)).toEqual([5])
    expect(shop.errors).toHaveLength(4)
  })

  test("and was added meanwhile is processed at once, and the retry comes nevertheless", async () => {
    const shop = new Workshop()
    shop.queue.add("a")
    await turn()
    shop.queue.add("a")
    await shop.finish("a", new Error("no"))
    expect(shop.running).toEqual(["a"])
    await shop.finish("a")
    shop.clock.advance(5)
    await turn()
    expect(shop.begun).toHaveLength(3)
  })

  test("is dropped after the maximum number of retries, until it is added again", async () => {
    const shop = new Workshop({ maximumRetries: 2 })
    shop.queue.add("a")
    await turn()
    await failing(shop, 2)
    await shop.finish("a", new Error("no"))
    expect([shop.clock.pending, shop.queue.depth]).toEqual([0, 0])
    shop.queue.add("a")
    await turn()
    expect(await failing(shop, 1)).toEqual([5])
  })

  test("does not affect others, even if the processor throws instead of rejecting", async () => {
    const done: string[] = []
    const errors: string[] = []
    const queue = new WorkQueue({
      clock: new ManualClock(),
      concurrency: 1,
      process: (key) => {
        if (key === "bad") throw new Error("thrown")
        done.push(key)
      },
      onError: (key) => errors.push(key),
    })
    for (const key of ["a", "bad", "b"]) queue.add(key)
    await turn()
    expect([done, errors]).toEqual([["a", "b"], ["bad"]])
  })

  test("shares the rate of all: after a burst of 100, failures are retried at ten a second", async () => {
    const clock = new ManualClock()
    const runs: number[] = []
    const queue = new WorkQueue({
      clock,
      random: () => 0,
      process: () => {
        runs.push(clock.monotonicMs())
        throw new Error("the server is down")
      },
    })
    for (let index = 0; index < 100; index++) queue.add(`key-${index}`)
    await turn()
    for (let ms = 0; ms < 3000; ms += 5) {
      clock.advance(5)
      await turn()
    }
    // 100 first runs, the burst of 100, and ten a second.
    expect(runs.length).toBeGreaterThanOrEqual(225)
    expect(runs.length).toBeLessThanOrEqual(231)
  })
})

describe("The end", () => {
  test("close drops waiting and delayed keys, and resolves when running ones are done", async () => {
    const shop = new Workshop({ concurrency: 1 })
    for (const key of ["a", "b"]) shop.queue.add(key)
    await turn()
    shop.queue.add("a")
    shop.queue.addAfter("c", 100)
    let isClosed = false
    const closing = shop.queue.close().then(() => {
      isClosed = true
    })
    await turn()
    expect([isClosed, shop.clock.pending]).toEqual([false, 0])
    shop.queue.add("d")
    await shop.finish("a")
    await closing
    expect([shop.begun, shop.queue.depth]).toEqual([["a"], 0])
  })

  test("drain processes what is queued and what was added during its own run, and retries nothing", async () => {
    const shop = new Workshop({ concurrency: 1 })
    for (const key of ["a", "b"]) shop.queue.add(key)
    await turn()
    shop.queue.add("a")
    shop.queue.addAfter("c", 100)
    let isDrained = false
    const draining = shop.queue.drain().then(() => {
      isDrained = true
    })
    shop.queue.add("d")
    await shop.finish("a", new Error("no"))
    expect(shop.running).toEqual(["b"])
    await shop.finish("b")
    expect([shop.running, isDrained]).toEqual([["a"], false])
    await shop.finish("a")
    await draining
    expect([shop.begun, shop.clock.pending]).toEqual([["a", "b", "a"], 0])
  })

  test("of an idle queue is immediate", async () => {
    const shop = new Workshop({ start: "timer" })
    shop.queue.add("a")
    await shop.queue.close()
    expect(shop.clock.pending).toBe(0)
    await new Workshop().queue.drain()
  })
})

test("Statistics show depth, waiting, work and retries", async () => {
  const shop = new Workshop({ concurrency: 1 })
  shop.queue.add("a")
  shop.queue.add("b")
  shop.queue.add("b")
  await turn()
  shop.clock.advance(30)
  expect(shop.queue.statistics).toMatchObject({ depth: 2, adds: 3, runs: 0, longestRunningMs: 30, delayed: 0 })
  await shop.finish("a", new Error("no"))
  shop.clock.advance(4)
  await shop.finish("b")
  expect(shop.queue.statistics).toEqual({
    depth: 0,
    delayed: 1,
    adds: 3,
    runs: 2,
    failures: 1,
    retries: 1,
    waitedMs: 30,
    longestWaitMs: 30,
    workedMs: 34,
    longestRunMs: 30,
    longestRunningMs: 0,
  })
})

/** The operations on a queue. */
type Step =
  | { readonly do: "add" | "finish" | "fail"; readonly key: string }
  | { readonly do: "after"; readonly key: string; readonly ms: number }
  | { readonly do: "pass"; readonly ms: number }

const key = fc.constantFrom("a", "b", "c", "d")
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ do: fc.constantFrom("add", "finish", "fail"), key }) as fc.Arbitrary<Step>,
  fc.record({ do: fc.constant("after" as const), key, ms: fc.nat(30) }),
  fc.record({ do: fc.constant("pass" as const), ms: fc.nat(20) }),
)

/** A model of the rules without queues: the runs that each key must still get. */
class Model {
  /** Keys added since their last run began. */
  readonly owed = new Set<string>()
  /** Key → ms at which it will be added. */
  readonly due = new Map<string, number>()

  add(key: string): void {
    this.owed.add(key)
  }

  after(key: string, at: number): void {
    this.due.set(key, Math.min(at, this.due.get(key) ?? Number.POSITIVE_INFINITY))
  }

  passed(now: number): void {
    for (const [key, at] of this.due)
      if (at <= now) {
        this.due.delete(key)
        this.add(key)
      }
  }
}

describe("Whatever happens", () => {
  test("every add is followed by a run that started after it, no key is processed twice at once, and no run is unrequested", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { maxLength: 60, size: "max" }),
        fc.integer({ min: 1, max: 3 }),
        async (steps, concurrency) => {
          const model = new Model()
          const unasked: string[] = []
          const failures = new Map<string, number>()
          const shop = new Workshop({ concurrency, random: () => 0 }, (key) => {
            if (!model.owed.delete(key)) unasked.push(key)
          })
          const pass = async (ms: number): Promise<void> => {
            for (let passed = 0; passed < ms; passed++) {
              shop.clock.advance(1)
              model.passed(shop.clock.monotonicMs())
              await turn()
            }
          }
          const end = async (key: string, isFailure: boolean): Promise<void> => {
            if (!shop.running.includes(key)) return
            const before = failures.get(key) ?? 0
            failures.set(key, isFailure ? before + 1 : 0)
            if (isFailure) model.after(key, shop.clock.monotonicMs() + 5 * 2 ** before)
            await shop.finish(key, isFailure ? new Error("no") : undefined)
          }
          for (const step of steps) {
            if (step.do === "pass") await pass(step.ms)
            else if (step.do === "add") {
              model.add(step.key)
              shop.queue.add(step.key)
            } else if (step.do === "after") {
              if (step.ms === 0) model.add(step.key)
              else model.after(step.key, shop.clock.monotonicMs() + step.ms)
              shop.queue.addAfter(step.key, step.ms)
            } else await end(step.key, step.do === "fail")
            await turn()
            expect(shop.running.length).toBeLessThanOrEqual(concurrency)
          }
          while (shop.running.length > 0 || shop.clock.pending > 0) {
            for (const key of shop.running) await end(key, false)
            await pass(1)
          }
          expect([[...model.owed], [...model.due.keys()], unasked]).toEqual([[], [], []])
          expect([shop.queue.depth, shop.queue.statistics.delayed]).toEqual([0, 0])
        },
      ),
      { numRuns: 150 },
    )
  })
})
