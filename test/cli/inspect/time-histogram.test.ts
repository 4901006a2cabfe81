/** The histogram over time: no event is lost, whatever the times, and memory is bounded. */
import fc from "fast-check"
import { expect, test } from "vitest"
import { barText, TimeHistogram } from "../../../src/cli/inspect/time-histogram.ts"

const times = fc.array(fc.integer({ min: 0, max: 2 ** 52 }), { minLength: 1, maxLength: 200 })

const eventsOf = (bars: ReadonlyArray<{ readonly events: number }>): number =>
  bars.reduce((sum, { events }) => sum + events, 0)

test("every event is in the bar of its time, in any order, and bars follow one another without holes", () => {
  fc.assert(
    fc.property(times, fc.integer({ min: 2, max: 64 }), (given, most) => {
      const histogram = new TimeHistogram()
      for (const time of given) histogram.add(time)
      const bars = histogram.bars(most)
      expect(bars.length).toBeLessThanOrEqual(most)
      for (const [index, { start, end, events }] of bars.entries()) {
        expect(events).toBe(given.filter((time) => start <= time && time < end).length)
        if (index > 0) expect(start).toBe(bars[index - 1]?.end)
      }
      expect(eventsOf(bars)).toBe(given.length)
    }),
  )
})

test("events of which only the stretch is known are spread over it, and none is lost", () => {
  fc.assert(
    fc.property(times, fc.integer({ min: 0, max: 1_000_000 }), ([from = 0, to = from], events) => {
      const histogram = new TimeHistogram()
      histogram.add(0)
      histogram.spread(Math.min(from, to), Math.max(from, to), events)
      expect(eventsOf(histogram.bars(64))).toBe(events + 1)
    }),
  )
})

test("without an event there is no bar", () => {
  expect(new TimeHistogram().bars(10)).toEqual([])
})

test("bars are as high as their events, and only a bar without any is blank", () => {
  const bars = [0, 1, 500, 1000].map((events) => ({ start: 0, end: 1, events }))
  expect(barText(bars)).toBe(" ▁▄█")
})
