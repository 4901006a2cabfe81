import fc from "fast-check"
import { expect, test } from "vitest"
import { WriteOrder } from "../../../src/simulation/replay/write-order.ts"

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
