import fc from "fast-check"
import { expect, test } from "vitest"
import { DueChanges, type DueChangesOptions } from "../../../src/simulation/replay/due-changes.ts"
import { traceChanges } from "../../../src/simulation/replay/trace-changes.ts"
import { UpcomingChanges } from "../../../src/simulation/replay/upcoming-changes.ts"
import { WriteOrder } from "../../../src/simulation/replay/write-order.ts"
import type { TraceItem } from "../../../src/trace/index.ts"
import { ManualClock } from "../../runtime/manual-clock.ts"
import { event, header, start } from "../trace-items.ts"
import { plainPlanner } from "./plain-replay.ts"

// When changes are handed out, by a clock that the test moves.

const head = header(100_000)

/** A change so many seconds after the start, which is its name too. */
const change = (second: number): TraceItem => event(second * 1000, "v1.ConfigMap", String(second), {})

const opened = async (items: AsyncIterable<Iterable<TraceItem>>, more: Partial<DueChangesOptions> = {}) => {
  const window = { from: undefined, to: undefined, duration: undefined, now: start + 1e12, ...more.window }
  const upcoming = new UpcomingChanges(traceChanges(items, window))
  await upcoming.open()
  upcoming.start(plainPlanner())
  const clock = new ManualClock()
  const due = new DueChanges({
    upcoming,
    clock,
    start,
    isPipe: false,
    speed: 1,
    isPaused: false,
    maximumLagMs: 1e9,
    onLag: "slow",
    onTooLate: () => undefined,
    onWait: () => undefined,
    signal: new AbortController().signal,
    ...more,
    window,
  })
  /** Names and due times of what is handed out until nothing is due any more, and whether it is over. */
  const taken: Array<readonly [name: string, dueMs: number]> = []
  /** Of the same, when it was planned, and the pauses in that. */
  const planned: Array<readonly [plannedMs: number, pausedMs: number]> = []
  let isOver = false
  const run = async (): Promise<void> => {
    for (let next = await due.next(); next !== undefined; next = await due.next()) {
      taken.push([next.upcoming.change.name, next.dueMs])
      planned.push([next.plannedMs, next.pausedMs])
    }
    await due.end()
    isOver = true
  }
  const running = run()
  const settle = async (): Promise<void> => {
    for (let turn = 0; turn < 5; turn++) await new Promise(setImmediate)
  }
  await settle()
  const advance = async (ms: number): Promise<void> => {
    clock.advance(ms)
    await settle()
  }
  return { due, taken, planned, advance, settle, running, isOver: () => isOver }
}

async function* chunks(...items: ReadonlyArray<TraceItem>): AsyncGenerator<ReadonlyArray<TraceItem>, void> {
  yield [head, ...items]
}

test("each comes when it is due, and the trace ends when its end is due", async () => {
  const { taken, advance, isOver } = await opened(chunks(change(1), change(2)))
  await advance(999)
  expect(taken).toEqual([])
  await advance(1)
  expect(taken).toEqual([["1", 1000]])
  await advance(98_999)
  expect([taken.length, isOver()]).toEqual([2, false])
  await advance(1)
  expect(isOver()).toBe(true)
})

test("what is late stays as late although the speed is changed, or the replay is paused, before it comes", async () => {
  const source = Promise.withResolvers<void>()
  const slow = async function* () {
    yield [head, change(1)]
    await source.promise
    yield [change(2), change(3), change(11)]
  }
  const { due, taken, advance, settle } = await opened(slow())
  await advance(5000)
  due.setSpeed(10)
  await advance(500)
  due.pause()
  source.resolve()
  await settle()
  expect(taken).toEqual([
    ["1", 1000],
    ["2", 2000],
    ["3", 3000],
  ])
  due.resume()
  await advance(100)
  // A second of the trace after the pause, at ten times the speed.
  expect(taken.at(-1)).toEqual(["11", 5600])
})

test("each is told with its plan how long the replay was paused before it", async () => {
  const { due, planned, advance } = await opened(chunks(change(1), change(3), change(4)), { maximumLagMs: 500 })
  await advance(2000)
  due.pause()
  await advance(60_000)
  due.resume()
  // The second comes two seconds late, which delays the third, but is no pause.
  await advance(3000)
  await advance(1000)
  expect(planned).toEqual([
    [1000, 0],
    [63_000, 60_000],
    [64_000, 60_000],
  ])
})

test("a paused replay takes steps, the last one to its end", async () => {
  const { due, taken, settle, isOver } = await opened(chunks(change(1), change(1), change(2)), { isPaused: true })
  due.step(1)
  await settle()
  expect(taken.map(([name]) => name)).toEqual(["1", "1"])
  due.step(1)
  await settle()
  expect([taken.length, isOver()]).toEqual([3, false])
  due.step(1)
  await settle()
  expect(isOver()).toBe(true)
})

test("a pipe that is silent ends with the window, but not before it may be late, and never at speed max", async () => {
  const silent = async function* () {
    yield [head, change(1)]
    await new Promise(() => undefined)
  }
  const window = { from: undefined, to: start + 10e6, duration: undefined, now: start + 1e12 }
  const piped = await opened(silent(), { isPipe: true, window })
  await piped.advance(1000)
  await piped.advance(9999)
  expect(piped.isOver()).toBe(false)
  await piped.advance(1)
  expect(piped.isOver()).toBe(true)
  for (const options of [{ isPipe: false }, { isPipe: true, speed: "max" }] as const) {
    const other = await opened(silent(), { ...options, window })
    await other.advance(1e6)
    expect([other.taken.length, other.isOver()]).toEqual([1, false])
  }
})

interface Controlled {
  readonly index: number
  readonly settle: () => void
}

const noDefect = (error: unknown): void => {
  throw error
}

/** Writes that end when the test says so. */
class Writes {
  readonly started: Controlled[] = []
  readonly ended: number[] = []

  run(index: number): () => Promise<void> {
    return () =>
      new Promise((resolve) => {
        const settle = (): void => {
          this.ended.push(index)
          resolve()
        }
        this.started.push({ index, settle })
      })
  }
}

const write = fc.record({ key: fc.nat(4), after: fc.array(fc.nat(4), { maxLength: 2 }) })

test("writes of one key and what they wait for end before a write starts, at most the limit runs, and all end", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(write, { maxLength: 25 }),
      fc.integer({ min: 1, max: 4 }),
      fc.infiniteStream(fc.nat()),
      async (given, limit, picks) => {
        const order = new WriteOrder(limit, noDefect)
        const writes = new Writes()
        for (const [index, { key, after }] of given.entries())
          order.submit(
            String(key),
            after.map((each) => String(each)),
            writes.run(index),
          )
        expect(order.pending).toBe(given.length)
        while (writes.ended.length < given.length) {
          const running = writes.started.filter(({ index }) => !writes.ended.includes(index))
          expect(running.length).toBeGreaterThan(0)
          expect(running.length).toBeLessThanOrEqual(limit)
          for (const { index } of running) {
            const { key, after } = given[index] as (typeof given)[number]
            const before = given.flatMap((each, earlier) =>
              earlier < index && (each.key === key || after.includes(each.key)) ? [earlier] : [],
            )
            expect(before.filter((earlier) => !writes.ended.includes(earlier))).toEqual([])
          }
          running[picks.next().value % running.length]?.settle()
          await Promise.resolve()
          await Promise.resolve()
        }
        await order.idle()
        expect(order.pending).toBe(0)
      },
    ),
  )
})

test("writes that do not depend on each other start in the order of submission", () => {
  const order = new WriteOrder(3, noDefect)
  const writes = new Writes()
  for (let index = 0; index < 5; index++) order.submit(`key ${index}`, [], writes.run(index))
  expect(writes.started.map(({ index }) => index)).toEqual([0, 1, 2])
})

test("there is room as soon as fewer are pending", async () => {
  const order = new WriteOrder(10, noDefect)
  const writes = new Writes()
  for (let index = 0; index < 4; index++) order.submit(`key ${index}`, [], writes.run(index))
  let hasRoom = false
  const room = order.room({ writes: 3, length: 1 }).then(() => {
    hasRoom = true
  })
  writes.started[0]?.settle()
  await Promise.resolve()
  await Promise.resolve()
  expect(hasRoom).toBe(false)
  writes.started[1]?.settle()
  await room
  expect(order.pending).toBe(2)
  await order.room({ writes: 3, length: 1 })
})

test("there is room only once what the pending writes hold is less, too", async () => {
  const order = new WriteOrder(10, noDefect)
  const writes = new Writes()
  order.submit("large", [], writes.run(0), 70)
  order.submit("small", [], writes.run(1), 5)
  expect(order.isBelow({ writes: 3, length: 75 })).toBe(false)
  expect(order.isBelow({ writes: 3, length: 76 })).toBe(true)
  const room = order.room({ writes: 3, length: 6 })
  writes.started[0]?.settle()
  await room
  expect(order.isBelow({ writes: 2, length: 6 })).toBe(true)
  writes.started[1]?.settle()
  await order.idle()
  expect(order.isBelow({ writes: 1, length: 1 })).toBe(true)
})

test("a write that rejects is reported, and the writes that wait for it still start", async () => {
  const defects: unknown[] = []
  const order = new WriteOrder(1, (error) => defects.push(error))
  order.submit("a", [], () => Promise.reject(new Error("a bug")))
  let hasRun = false
  order.submit("a", [], async () => {
    hasRun = true
  })
  await order.idle()
  expect([defects, hasRun]).toEqual([[new Error("a bug")], true])
})
