import { describe, expect, test } from "vitest"
import { StateCache } from "../../../src/serve/state/state-cache.ts"

describe("A cache of states", () => {
  const counting = (limit: number) => {
    const cache = new StateCache<{ readonly bytes: number; readonly key: string }>(limit)
    const loads: string[] = []
    const take = async (key: string, bytes: number): Promise<string> => {
      const state = await cache.get(key, async () => {
        loads.push(key)
        return { key, bytes }
      })
      return state.key
    }
    return { cache, loads, take }
  }

  test("loads a state once, also for requests that come while it is loading", async () => {
    const { loads, take } = counting(10)
    expect(await Promise.all([take("a", 4), take("a", 4)])).toEqual(["a", "a"])
    await take("a", 4)
    expect(loads).toEqual(["a"])
  })

  test("forgets what was not used for the longest time when there are more bytes than its limit", async () => {
    const { cache, loads, take } = counting(10)
    for (const key of ["a", "b", "a", "c"]) await take(key, 4)
    expect(cache.bytes).toBe(8)
    await take("a", 4)
    expect(loads).toEqual(["a", "b", "c"])
    await take("b", 4)
    expect(loads).toEqual(["a", "b", "c", "b"])
  })

  test("keeps a state that is larger than the limit until another one is loaded", async () => {
    const { cache, loads, take } = counting(10)
    for (const key of ["large", "large"]) await take(key, 50)
    expect([cache.bytes, loads]).toEqual([50, ["large"]])
    await take("a", 4)
    expect(cache.bytes).toBe(4)
  })

  test("tries again after a failure", async () => {
    const { cache, take } = counting(10)
    await expect(cache.get("a", () => Promise.reject(new Error("the disk is gone")))).rejects.toThrow(
      "the disk is gone",
    )
    expect(await take("a", 4)).toBe("a")
  })

  test("loads two states at a time, and the next one when one of them is loaded or has failed", async () => {
    const { cache } = counting(100)
    const begun: string[] = []
    const loads = new Map<string, PromiseWithResolvers<{ bytes: number; key: string }>>()
    const loaded = ["a", "b", "c", "d"].map((key) =>
      cache.get(key, () => {
        begun.push(key)
        const load = Promise.withResolvers<{ bytes: number; key: string }>()
        loads.set(key, load)
        return load.promise
      }),
    )
    await Promise.resolve()
    expect(begun).toEqual(["a", "b"])
    loads.get("b")?.reject(new Error("the disk is gone"))
    await expect(loaded[1]).rejects.toThrow("the disk is gone")
    await new Promise(setImmediate)
    expect(begun).toEqual(["a", "b", "c"])
    loads.get("a")?.resolve({ bytes: 1, key: "a" })
    await loaded[0]
    await new Promise(setImmediate)
    expect(begun).toEqual(["a", "b", "c", "d"])
  })
})
