import { crc32 } from "node:zlib"
import fc from "fast-check"
import { expect, test } from "vitest"
import { SentRows } from "../../../src/archive/shipping/sent-rows.ts"

/** A table whose rows change, and a copy that gets what is to be sent, so many rows at a time. */
class Copied {
  readonly rows = new Map<number, string>()
  readonly copy = new Map<number, string>()
  readonly sent = new SentRows<number>()

  get checksums(): ReadonlyArray<ReadonlyArray<number>> {
    return [...this.rows].map(([key, value]) => [crc32(`${key} ${value}`), key])
  }

  /** Returns whether there was room for all, and how many were sent. */
  send(room: number): { readonly isWhole: boolean; readonly rows: number } {
    let rows = 0
    const sendLeft = (): boolean => {
      const after = this.sent.after?.[0] ?? -1
      for (const key of [...this.rows.keys()].sort((one, other) => one - other)) {
        if (key <= after || !this.sent.isLeft([key])) continue
        this.copy.set(key, this.rows.get(key) ?? "")
        this.sent.sentThrough([key])
        if (++rows === room) return false
      }
      this.sent.end()
      return true
    }
    const isWhole = (this.sent.after === undefined || sendLeft()) && (!this.sent.compare(this.checksums) || sendLeft())
    return { isWhole, rows }
  }
}

const key = fc.nat({ max: 200 })
const step = fc.oneof(
  { weight: 10, arbitrary: fc.record({ put: key, value: fc.nat({ max: 5 }).map(String) }) },
  { weight: 1, arbitrary: fc.record({ remove: key }) },
  { weight: 3, arbitrary: fc.record({ room: fc.integer({ min: 1, max: 20 }) }) },
)

test("whatever changes between deltas, and however little room they have, after a whole one a copy has every row as it is", () => {
  fc.assert(
    fc.property(fc.array(step, { minLength: 20, maxLength: 200 }), (steps) => {
      const table = new Copied()
      for (const each of steps) {
        if ("put" in each) table.rows.set(each.put, each.value)
        if ("remove" in each) table.rows.delete(each.remove)
        if (!("room" in each) || !table.send(each.room).isWhole) continue
        for (const [row, value] of table.rows) expect(table.copy.get(row)).toBe(value)
      }
    }),
  )
})

test("what did not change is not sent again, but for a few rows of the same groups", () => {
  const table = new Copied()
  for (let row = 0; row < 100_000; row++) table.rows.set(row, "first")
  expect(table.send(Number.POSITIVE_INFINITY)).toEqual({ isWhole: true, rows: 100_000 })
  expect(table.send(Number.POSITIVE_INFINITY)).toEqual({ isWhole: true, rows: 0 })
  for (let row = 0; row < 1000; row++) table.rows.set(row, "second")
  const { rows } = table.send(Number.POSITIVE_INFINITY)
  expect(rows).toBeGreaterThanOrEqual(1000)
  expect(rows).toBeLessThan(4000)
})

test("rows of one group that change in the same way are sent", () => {
  const rows = Array.from({ length: 400_000 }, (_, index) => 1_000_000 + index)
  const pairs = [...Map.groupBy(rows, (row) => crc32(String(row)) % 65_536).values()].flatMap((group) =>
    group.slice(0, 2),
  )
  const table = new Copied()
  // The checksums of all rows change by the same five bits: a plain sum of two of them stays in one case of 32.
  for (const row of pairs) table.rows.set(row, "aaa")
  table.send(Number.POSITIVE_INFINITY)
  for (const row of pairs) table.rows.set(row, "b1V")
  expect(table.send(Number.POSITIVE_INFINITY).rows).toBe(pairs.length)
})
