import { expect, test } from "vitest"
import { compactedThrough, requireConditions } from "../../../src/fleet/index.ts"

/** Objects in memory; `requests` counts the lists of which at least one key was taken, in pages of a thousand. */
const storeOf = (keys: ReadonlyArray<string>) => {
  const sorted = [...keys].sort()
  const counted = { requests: 0 }
  return {
    ...{ counted, location: "memory:" },
    read: async (key: string) => {
      const bytes = Buffer.from(JSON.stringify({ compactedThrough: Number(key.replace(/\D/g, "")) }))
      return sorted.includes(key) ? { bytes, size: bytes.length, version: key } : undefined
    },
    async *list(prefix: string, { after = "" }: { readonly after?: string } = {}) {
      counted.requests++
      let taken = 0
      for (const key of sorted) {
        if (!key.startsWith(prefix) || key <= after) continue
        if (++taken % 1000 === 0) counted.requests++
        yield { key, bytes: 1, modifiedMs: 0 }
      }
    },
  }
}

const manifest = (number: number): string => `manifest/${String(number).padStart(12, "0")}.json`

const numbers = (from: number, to: number): ReadonlyArray<string> =>
  Array.from({ length: to - from + 1 }, (_, index) => manifest(from + index))

test.each([
  [0, []],
  [1, numbers(1, 1)],
  [999, numbers(1, 999)],
  [1000, numbers(1, 1000)],
  [1001, numbers(1, 1001)],
  [7777, numbers(1, 7777)],
  [7777, numbers(7000, 7777)],
  [123_456, numbers(123_000, 123_456)],
])("the last number is %d, however many there are and whatever was removed before it", async (last, keys) => {
  expect(await compactedThrough(storeOf(keys))).toBe(last)
})

test("of a hundred thousand objects not all are listed", async () => {
  const store = storeOf(numbers(1, 100_000))
  expect(await compactedThrough(store)).toBe(100_000)
  expect(store.counted.requests).toBeLessThan(25)
})

test("a store that creates what exists is refused", async () => {
  const store = { ...storeOf(["stream.json"]), create: async () => "created" as const }
  await expect(requireConditions(store)).rejects.toThrow("although If-None-Match forbade it")
  await requireConditions({ ...store, create: async () => "exists" as const })
})

test.each([5, 1500])(
  "of %d numbers the last is found, although somebody put another object behind them",
  async (last) => {
    expect(
      await compactedThrough(storeOf([...numbers(1, last), "manifest/x.tmp", "manifest/x-000000000001.json"])),
    ).toBe(last)
  },
)
