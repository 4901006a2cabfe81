/** The axis of a time line: round times within it, whatever it covers, with room for their labels on a phone. */
import fc from "fast-check"
import { expect, test } from "vitest"
import { axis, shareOf, ticksOf } from "../../../../src/trace/views/html/time-line.ts"

const day = 86_400_000_000

test("of any span the ticks are in order, within it, few, and far enough from each other", () => {
  fc.assert(
    fc.property(fc.nat(20_000 * day), fc.integer({ min: 1, max: 20_000 * day }), (start, length) => {
      const span = { start, end: start + length }
      const shares = ticksOf(span).map((time) => shareOf(span, time))
      expect(shares.length).toBeLessThanOrEqual(5)
      // Shorter than a few milliseconds a span may have no round time.
      expect(shares.length).toBeGreaterThan(length > 5000 ? 0 : -1)
      for (const [index, share] of shares.entries()) {
        expect(share).toBeGreaterThanOrEqual(0)
        expect(share).toBeLessThanOrEqual(100)
        if (index > 0) expect(share - (shares[index - 1] ?? 0)).toBeGreaterThan(24.9)
      }
      expect(String(axis(span))).toMatch(/^<svg .*<\/svg>$/s)
    }),
  )
})

test.each([
  ["2026-11-25T02:50:00Z", "2026-11-25T03:20:00Z", ["02:50", "03:00", "03:10", "03:20"]],
  ["2026-11-25T02:50:00Z", "2026-11-25T02:50:20Z", ["02:50:00", "02:50:05", "02:50:10", "02:50:15", "02:50:20"]],
  [
    "2026-11-25T02:50:00.1Z",
    "2026-11-25T02:50:00.25Z",
    ["02:50:00.100", "02:50:00.150", "02:50:00.200", "02:50:00.250"],
  ],
  ["2026-11-24T22:00:00Z", "2026-11-25T10:00:00Z", ["11-25 00:00", "11-25 03:00", "11-25 06:00", "11-25 09:00"]],
  ["2026-11-18T02:50:00Z", "2026-11-25T02:00:00Z", ["2026-11-19", "2026-11-21", "2026-11-23", "2026-11-25"]],
])("from %s to %s there is %j", (start, end, labels) => {
  const drawn = String(axis({ start: Date.parse(start) * 1000, end: Date.parse(end) * 1000 }))
  expect([...drawn.matchAll(/<text [^>]*>([^<]*)/g)].map(([, label]) => label)).toEqual(labels)
})
