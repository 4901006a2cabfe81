import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { UidTable } from "../../../src/actors/watcher/objects/uid-table.ts"

/** UIDs that collide often: few different ones of one length, some of other lengths and scripts. */
const uid = fc.oneof(
  fc.integer({ min: 0, max: 300 }).map((number) => `00000000-0000-4000-8000-${String(number).padStart(12, "0")}`),
  fc.uuid(),
  fc.constantFrom("", "a", "x".repeat(35), "x".repeat(36), "x".repeat(37), "é".repeat(18), "é".repeat(36)),
)

const step = fc.oneof(
  { weight: 3, arbitrary: fc.record({ action: fc.constant("set" as const), uid, value: fc.nat() }) },
  { weight: 2, arbitrary: fc.record({ action: fc.constant("delete" as const), uid }) },
  { weight: 2, arbitrary: fc.record({ action: fc.constant("get" as const), uid }) },
)

/** A UID as it stands in a line, anywhere in a buffer. */
const find = (table: UidTable<number>, text: string): number | undefined => {
  const before = Buffer.from('{"uid":"')
  const bytes = Buffer.concat([before, Buffer.from(text), Buffer.from('"}')])
  return table.get(bytes, before.length, bytes.length - 2)
}

describe("the table of UIDs", () => {
  test("behaves like a Map for any insertions and deletions in any order", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 600 }), (steps) => {
        const table = new UidTable<number>()
        const map = new Map<string, number>()
        for (const next of steps) {
          if (next.action === "set") {
            table.set(next.uid, next.value)
            map.set(next.uid, next.value)
          } else if (next.action === "delete") expect(table.delete(next.uid)).toBe(map.delete(next.uid))
          else expect(find(table, next.uid)).toBe(map.get(next.uid))
          expect(table.size).toBe(map.size)
        }
        for (const [key, value] of map) expect(find(table, key)).toBe(value)
        expect([...table.values()].sort()).toEqual([...map.values()].sort())
      }),
    )
  })

  test("finds each of 20,000 among the others, and none that was deleted", () => {
    const table = new UidTable<number>()
    const uids = Array.from(
      { length: 20_000 },
      (_, index) => `${index.toString(16).padStart(8, "0")}-0000-4000-8000-000000000000`,
    )
    for (const [index, text] of uids.entries()) table.set(text, index)
    for (const [index, text] of uids.entries()) if (index % 3 === 0) table.delete(text)
    for (const [index, text] of uids.entries()) expect(find(table, text)).toBe(index % 3 === 0 ? undefined : index)
    expect(table.size).toBe(13_333)
  })
})
