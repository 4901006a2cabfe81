import { describe, expect, test } from "vitest"
import type { LookUpOutcome } from "../../../src/actors/owner-resolver/look-up.ts"
import {
  defaultLookUpLimits,
  type LookUpLimits,
  LookUpQueue,
} from "../../../src/actors/owner-resolver/look-up-queue.ts"
import type { OwnerQuestion } from "../../../src/wire/index.ts"
import { ManualClock } from "../../runtime/manual-clock.ts"

const question = (number: number, gvk = "apps/v1.ReplicaSet"): OwnerQuestion => ({
  uid: `uid-${number}`,
  gvk,
  namespace: "shop",
  name: `rs-${number}`,
})

const found: LookUpOutcome = { tag: "found", namespace: "shop", ownerReferences: new Uint8Array(0) }
const failure = (given: Partial<Extract<LookUpOutcome, { tag: "failed" }>> = {}): LookUpOutcome => ({
  tag: "failed",
  reach: "question",
  detail: "no",
  code: 500,
  retryAfterMs: undefined,
  ...given,
})

/** A queue whose requests the test completes. */
class Bench {
  readonly clock = new ManualClock()
  readonly asked: Array<{
    readonly question: OwnerQuestion
    readonly answer: (outcome: LookUpOutcome) => Promise<void>
  }> = []
  readonly answered: Array<string> = []
  readonly failed: Array<string> = []
  readonly queue: LookUpQueue

  constructor(limits: Partial<LookUpLimits> = {}) {
    this.queue = new LookUpQueue(
      (asked) => {
        const { promise, resolve } = Promise.withResolvers<LookUpOutcome>()
        this.asked.push({
          question: asked,
          answer: async (outcome) => {
            resolve(outcome)
            await promise
            await Promise.resolve()
          },
        })
        return promise
      },
      this.clock,
      () => 1,
      { ...defaultLookUpLimits, ...limits },
      {
        answered: ({ uid }) => this.answered.push(uid),
        failed: ({ uid }) => this.failed.push(uid),
      },
    )
  }

  /** The requests without a result. */
  get askedUids(): ReadonlyArray<string> {
    return this.asked.map((asked) => asked.question.uid)
  }
}

describe("the queue of look-ups", () => {
  test("looks a UID up once, however often it is named meanwhile", async () => {
    const bench = new Bench()
    for (let times = 0; times < 5; times++) expect(bench.queue.add(question(1))).toBe(true)
    expect(bench.askedUids).toEqual(["uid-1"])
    await bench.asked[0]?.answer(found)
    expect(bench.answered).toEqual(["uid-1"])
    expect(bench.queue.pending).toBe(0)
  })

  test("runs at most the allowed number at once, and continues with each result", async () => {
    const bench = new Bench({ concurrency: 3 })
    for (let number = 0; number < 10; number++) bench.queue.add(question(number))
    expect(bench.askedUids).toHaveLength(3)
    await bench.asked[1]?.answer(found)
    expect(bench.askedUids).toEqual(["uid-0", "uid-1", "uid-2", "uid-3"])
    expect(bench.queue).toMatchObject({ pending: 9, running: 3 })
  })

  test("keeps to its rate once the burst is used up", async () => {
    const bench = new Bench({ concurrency: 1000, perSecond: 10, burst: 5 })
    for (let number = 0; number < 50; number++) bench.queue.add(question(number))
    expect(bench.askedUids).toHaveLength(5)
    bench.clock.advance(1000)
    expect(bench.askedUids).toHaveLength(15)
    bench.clock.advance(500)
    expect(bench.askedUids).toHaveLength(20)
  })

  test("repeats a failed look-up, later each time, and never takes the failure for an answer", async () => {
    const bench = new Bench({ firstBackOffMs: 1000, longestBackOffMs: 3000 })
    bench.queue.add(question(1))
    for (const [tries, waitMs] of [1000, 2000, 3000, 3000].entries()) {
      await bench.asked[tries]?.answer(failure())
      expect(bench.queue.pending).toBe(1)
      bench.clock.advance(waitMs - 250)
      expect(bench.asked).toHaveLength(tries + 1)
      bench.clock.advance(500)
      expect(bench.asked).toHaveLength(tries + 2)
    }
    await bench.asked[4]?.answer(found)
    expect(bench.answered).toEqual(["uid-1"])
    expect(bench.failed).toHaveLength(4)
  })

  test("delays everything for as long as a server asks for with Retry-After", async () => {
    const bench = new Bench({ concurrency: 1 })
    bench.queue.add(question(1))
    bench.queue.add(question(2))
    await bench.asked[0]?.answer(failure({ reach: "server", code: 429, retryAfterMs: 30_000 }))
    bench.queue.retryNow()
    bench.clock.advance(29_000)
    expect(bench.asked).toHaveLength(1)
    bench.clock.advance(1500)
    expect(bench.askedUids).toEqual(["uid-1", "uid-2"])
  })

  test("does not repeat a look-up of a forbidden kind a thousand times, and continues with the others", async () => {
    const bench = new Bench({ concurrency: 1, firstBackOffMs: 10_000 })
    for (let number = 0; number < 1000; number++) bench.queue.add(question(number))
    bench.queue.add(question(5000, "batch/v1.Job"))
    await bench.asked[0]?.answer(failure({ reach: "kind", code: 403 }))
    expect(bench.askedUids).toEqual(["uid-0", "uid-5000"])
  })

  test("retries failed look-ups at once if someone needs them or credentials are new", async () => {
    const bench = new Bench()
    bench.queue.add(question(1))
    await bench.asked[0]?.answer(failure({ reach: "kind", code: 403 }))
    bench.queue.retryNow()
    expect(bench.askedUids).toEqual(["uid-1", "uid-1"])
  })

  test("looks up a forbidden kind less and less often, for any number of its objects", async () => {
    const bench = new Bench({ concurrency: 4, firstBackOffMs: 1000, longestBackOffMs: 60_000 })
    for (let number = 0; number < 1000; number++) bench.queue.add(question(number))
    let answered = 0
    const failAll = async (): Promise<void> => {
      for (; answered < bench.asked.length; answered++) {
        await bench.asked[answered]?.answer(failure({ reach: "kind", code: 403 }))
      }
    }
    for (let seconds = 0; seconds < 600; seconds++) {
      await failAll()
      bench.clock.advance(1000)
    }
    // 1 + 2 + 4 + 8 + 16 + 32 s, then once a minute.
    expect(bench.asked.length).toBeLessThanOrEqual(4 * 17)
    expect(bench.asked.length).toBeGreaterThanOrEqual(4 * 10)
    expect(bench.queue.pending).toBe(1000)
  })

  test("starts again with short waits once a kind has succeeded", async () => {
    const bench = new Bench({ concurrency: 1, firstBackOffMs: 1000 })
    bench.queue.add(question(1))
    for (const waitMs of [1000, 2000, 4000]) {
      await bench.asked.at(-1)?.answer(failure({ reach: "kind", code: 500 }))
      bench.clock.advance(waitMs + 250)
    }
    expect(bench.asked).toHaveLength(4)
    await bench.asked[3]?.answer(found)
    bench.queue.add(question(2))
    await bench.asked[4]?.answer(failure({ reach: "kind", code: 500 }))
    bench.clock.advance(1250)
    expect(bench.askedUids.slice(4)).toEqual(["uid-2", "uid-2"])
  })

  test("continues with other objects of a kind if one of them always fails", async () => {
    const bench = new Bench({ concurrency: 1, firstBackOffMs: 1000, longestBackOffMs: 60_000 })
    bench.queue.add(question(0))
    for (let number = 1; number <= 20; number++) bench.queue.add(question(number))
    let answered = 0
    for (let seconds = 0; seconds < 60; seconds++) {
      for (; answered < bench.asked.length; answered++) {
        const asked = bench.asked[answered]
        await asked?.answer(asked.question.uid === "uid-0" ? failure({ reach: "kind" }) : found)
      }
      bench.clock.advance(1000)
    }
    expect(bench.answered).toHaveLength(20)
    expect(bench.askedUids.filter((uid) => uid === "uid-0").length).toBeLessThanOrEqual(8)
  })

  test("new credentials are used at once, however long the old ones were rejected", async () => {
    const bench = new Bench()
    bench.queue.add(question(1))
    for (const waitMs of [1000, 2000, 4000, 8000]) {
      await bench.asked.at(-1)?.answer(failure({ reach: "server", code: 401 }))
      bench.clock.advance(waitMs + 250)
    }
    await bench.asked.at(-1)?.answer(failure({ reach: "server", code: 401 }))
    expect(bench.asked).toHaveLength(5)
    bench.queue.retryNow()
    expect(bench.asked).toHaveLength(6)
    bench.queue.add(question(2))
    expect(bench.askedUids.at(-1)).toBe("uid-2")
  })

  test("an owner that is refreshed does not count as unknown", async () => {
    const bench = new Bench({ concurrency: 1 })
    bench.queue.add(question(1), true)
    bench.queue.add(question(2))
    expect([bench.queue.pending, bench.queue.unknown]).toEqual([2, 1])
    expect([...bench.queue.unknownOwners()].map(({ uid }) => uid)).toEqual(["uid-2"])
    await bench.asked[0]?.answer(found)
    expect([bench.queue.pending, bench.queue.unknown]).toEqual([1, 1])
    await bench.asked[1]?.answer(found)
    expect([bench.queue.pending, bench.queue.unknown]).toEqual([0, 0])
  })

  test("rejects a look-up if it is full, and reports that", () => {
    const bench = new Bench({ maximumPending: 3 })
    expect([1, 2, 3, 4, 3].map((number) => bench.queue.add(question(number)))).toEqual([true, true, true, false, true])
  })

  test("has no timer while nothing waits, nor after it is closed", async () => {
    const bench = new Bench()
    bench.queue.add(question(1))
    await bench.asked[0]?.answer(found)
    bench.clock.advance(1000)
    expect(bench.clock.pending).toBe(0)
    bench.queue.add(question(2))
    await bench.asked[1]?.answer(failure())
    bench.queue.close()
    expect(bench.clock.pending).toBe(0)
  })
})
