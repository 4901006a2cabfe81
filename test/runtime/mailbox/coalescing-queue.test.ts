import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { CoalescingQueue } from "../../../src/runtime/mailbox/coalescing-queue.ts"

const shared = { bytes: 10, isShared: true }
const own = { bytes: 10, isShared: false }
const everything = Number.POSITIVE_INFINITY

describe("A coalescing queue", () => {
  test("keeps the latest item of a key, in the order of the last puts, and counts what it folded", () => {
    const queue = new CoalescingQueue<string>({ maximumBytes: 1000 })
    for (const item of ["a1", "b1", "a2", "c1", "b2"]) queue.put(item[0] as string, item, shared)
    expect([queue.size, queue.folded]).toEqual([3, 2])
    expect(queue.take(everything)).toEqual(["a2", "c1", "b2"])
    expect(queue.take(everything)).toEqual([])
  })

  test("delivers what its owner makes of two items", () => {
    const queue = new CoalescingQueue<number>({ maximumBytes: 1000, fold: (waiting, next) => waiting + next })
    for (let item = 1; item <= 4; item++) queue.put("sum", item, shared)
    expect(queue.take(everything)).toEqual([10])
  })

  test("takes an item that is replaced all the time once a round, however long the round is", () => {
    const queue = new CoalescingQueue<string>({ maximumBytes: 10_000 })
    for (const key of ["hot", "a", "b", "c", "d"]) queue.put(key, `${key}0`, shared)
    const taken: string[] = []
    for (let version = 1; version <= 12; version++) {
      queue.put("hot", `hot${version}`, shared)
      taken.push(...queue.take(1))
      queue.put(`e${version}`, "other", shared)
    }
    expect(taken.filter((item) => item.startsWith("hot"))).toEqual(["hot1", "hot6"])
  })

  test("folds nothing of what is sealed", () => {
    const queue = new CoalescingQueue<string>({ maximumBytes: 1000 })
    queue.put("a", "a1", shared)
    queue.mark("m", "mark")
    queue.seal()
    queue.put("a", "a2", shared)
    queue.mark("m", "mark again")
    queue.mark("m", "last mark")
    expect(queue.take(everything)).toEqual(["a1", "mark", "a2", "last mark"])
    expect(queue.folded).toBe(0)
  })

  test("counts the bytes that only it keeps alive, and reports when they are too many", () => {
    const queue = new CoalescingQueue<string>({ maximumBytes: 250 })
    queue.put("a", "a1", shared)
    expect(queue.bytes).toBe(0)
    queue.seal()
    // The item of the round is no longer the latest.
    queue.put("a", "a2", shared)
    expect(queue.bytes).toBe(90)
    queue.put("b", "b1", own)
    queue.put("b", "b2", own)
    expect(queue.bytes).toBe(180)
    expect(queue.isWithinBounds).toBe(true)
    queue.put("c", "c1", own)
    expect(queue.isWithinBounds).toBe(false)
    queue.take(everything)
    expect(queue.bytes).toBe(0)
    queue.put("c", "c2", own)
    queue.clear()
    expect([queue.bytes, queue.size, queue.take(everything)]).toEqual([0, 0, []])
  })

  test("loses no last item, keeps the order of each key and of versions, and accounts for every byte and item", () => {
    const step = fc.oneof(
      { weight: 4, arbitrary: fc.record({ key: fc.constantFrom("a", "b", "c", "d"), isShared: fc.boolean() }) },
      { weight: 1, arbitrary: fc.record({ take: fc.integer({ min: 1, max: 500 }) }) },
      { weight: 1, arbitrary: fc.record({ mark: fc.constantFrom("m", "n") }) },
      { weight: 1, arbitrary: fc.constant("seal" as const) },
    )
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const queue = new CoalescingQueue<{ key: string; version: number }>({ maximumBytes: everything })
        const last = new Map<string, number>()
        const taken: Array<{ key: string; version: number }> = []
        let version = 0
        let puts = 0
        for (const each of steps) {
          if (each === "seal") queue.seal()
          else if ("take" in each) taken.push(...queue.take(each.take))
          else if ("mark" in each) queue.mark(each.mark, { key: each.mark, version: ++version })
          else {
            queue.put(each.key, { key: each.key, version: ++version }, { bytes: 20, isShared: each.isShared })
            puts++
            last.set(each.key, version)
          }
          expect(queue.size).toBeLessThanOrEqual(2 * 6)
        }
        taken.push(...queue.take(everything))
        expect([queue.size, queue.bytes]).toEqual([0, 0])
        expect(taken.map((item) => item.version)).toEqual(taken.map((item) => item.version).sort((x, y) => x - y))
        for (const [key, newest] of last) expect(taken.findLast((item) => item.key === key)?.version).toBe(newest)
        const marks = taken.filter(({ key }) => key === "m" || key === "n").length
        expect(taken.length - marks + queue.folded).toBe(puts)
      }),
    )
  })
})
