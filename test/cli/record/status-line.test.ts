import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { type RecorderStatus, renderStatusLine } from "../../../src/cli/record/status-line.ts"
import { cutToWidth, displayWidth } from "../../../src/cli/terminal/display-width.ts"
import { createLiveLine } from "../../../src/cli/terminal/live-line.ts"
import { formatBytes, formatCount, formatDuration, formatInteger } from "../../../src/cli/terminal/quantities.ts"

const healthy: RecorderStatus = {
  eventsPerSecond: 1234.4,
  objects: 3002,
  lagMs: 12,
  kinds: [
    { gvk: "apps/v1.Deployment", state: "watching" },
    { gvk: "apps/v1.ReplicaSet", state: "watching" },
    { gvk: "v1.Pod", state: "watching" },
  ],
  uptimeMs: 62_000,
}
const troubled: RecorderStatus = {
  ...healthy,
  kinds: [
    ...healthy.kinds,
    { gvk: "v1.Event", state: "forbidden" },
    { gvk: "events.k8s.io/v1.Event", state: "listing" },
    { gvk: "example.com/v1.Thing", state: "waiting" },
    { gvk: "v1.Node", state: "failing" },
    { gvk: "batch/v1.Job", state: "stopped" },
  ],
}

describe("the status line", () => {
  test("gives up what matters least when the terminal is narrow", () => {
    const widths = [200, 120, 100, 80, 60, 40, 20]
    const shown = (status: RecorderStatus): string[] =>
      widths.map((columns) => `${String(columns).padStart(3)} ${renderStatusLine(status, columns)}`)
    expect(shown(healthy).join("\n")).toMatchSnapshot()
    expect(shown(troubled).join("\n")).toMatchSnapshot()
  })

  test("omits an unknown lag, and states without kinds", () => {
    expect(renderStatusLine({ ...healthy, lagMs: undefined, kinds: [], objects: 1 }, 80)).toBe(
      "1,234 events/s · 1 object · 1 m 02 s",
    )
  })

  test("fits into every width above a dozen, and contains no control characters", () => {
    const state = fc.constantFrom("listing", "watching", "waiting", "forbidden", "failing", "stopped")
    const status = fc.record({
      eventsPerSecond: fc.double({ min: 0, max: 999_999, noNaN: true }),
      objects: fc.nat(),
      lagMs: fc.option(fc.nat(), { nil: undefined }),
      kinds: fc.array(fc.record({ gvk: fc.string({ unit: "binary", maxLength: 30 }), state }), { maxLength: 20 }),
      uptimeMs: fc.nat(),
    }) as fc.Arbitrary<RecorderStatus>
    fc.assert(
      fc.property(status, fc.integer({ min: 16, max: 300 }), (status, columns) => {
        const line = renderStatusLine(status, columns)
        expect(displayWidth(line)).toBeLessThanOrEqual(columns)
        expect(line).not.toMatch(/[\p{Cc}\p{Cf}]/u)
      }),
    )
  })
})

describe("the width of a text", () => {
  test.each([
    ["", 0],
    ["plain", 5],
    ["é", 1],
    ["e\u0301", 1],
    ["漢字", 4],
    ["한국", 4],
    ["ｆｕｌｌ", 8],
    ["😀", 2],
    ["👩‍👩‍👧‍👦", 2],
    ["❤️", 2],
    ["a·b", 3],
    ["\u200b", 0],
  ])("%j is %i", (text, width) => {
    expect(displayWidth(text)).toBe(width)
  })

  test("a cut text fits, begins like the text, and contains no half characters", () => {
    const text = fc.oneof(fc.string({ unit: "grapheme" }), fc.string({ unit: "binary" }), fc.constant("漢字漢字😀é"))
    fc.assert(
      fc.property(text, fc.nat(30), (text, columns) => {
        const cut = cutToWidth(text, columns)
        expect(displayWidth(cut)).toBeLessThanOrEqual(columns)
        expect(cut.isWellFormed() || !text.isWellFormed()).toBe(true)
        if (cut !== text) expect(text.startsWith(cut.replace(/…$/, ""))).toBe(true)
      }),
    )
    expect(cutToWidth("漢字漢字", 6)).toBe("漢字…")
    expect(cutToWidth("ab", 0)).toBe("")
  })
})

/** A terminal line and a clock that moves only when told. */
const screen = (columns = 40) => {
  let time = 0
  const timers: { at: number; action: () => void }[] = []
  const written: string[] = []
  const stream = {
    columns,
    write: (text: string) => {
      written.push(text)
      return true
    },
  }
  const clock = {
    monotonicMs: () => time,
    after(delayMs: number, action: () => void) {
      const timer = { at: time + delayMs, action }
      timers.push(timer)
      const cancel = () => {
        const index = timers.indexOf(timer)
        if (index >= 0) timers.splice(index, 1)
      }
      return { cancel }
    },
  }
  const advance = (milliseconds: number): void => {
    const until = time + milliseconds
    for (;;) {
      const next = timers.toSorted((left, right) => left.at - right.at).find(({ at }) => at <= until)
      if (next === undefined) break
      timers.splice(timers.indexOf(next), 1)
      time = next.at
      next.action()
    }
    time = until
  }
  const line = createLiveLine({ stream: stream as never, isEnabled: true, clock })
  return { line, stream, written, advance, timers }
}

const erase = "\r\u001b[K"

describe("the live line", () => {
  test("is repainted at most four times a second, and the last text is always shown", () => {
    const { line, written, advance } = screen()
    for (let step = 0; step < 999; step++) {
      line.show(() => `step ${step}`)
      advance(1)
    }
    expect(written).toHaveLength(4)
    expect(written[0]).toBe(`${erase}step 0`)
    advance(1000)
    expect(written).toHaveLength(5)
    expect(written.at(-1)).toBe(`${erase}step 998`)
    advance(10_000)
    expect(written).toHaveLength(5)
  })

  test("is rendered for the current width less one column, and never wraps", () => {
    const { line, stream, written, advance } = screen(20)
    line.show((columns) => `${columns}`)
    stream.columns = 10
    line.show((columns) => `${columns}`.padEnd(50, "x"))
    advance(250)
    expect(written).toEqual([`${erase}19`, `${erase}9xxxxxxx…`])
  })

  test("treats a terminal that reports 0 columns, as serial lines do, as one of 80", () => {
    const { line, written } = screen(0)
    line.show((columns) => `${columns}`)
    expect(written).toEqual([`${erase}79`])
  })

  test("gives way to other lines and is repainted below them", () => {
    const { line, written, advance } = screen()
    line.show(() => "status")
    line.around(() => written.push("a log line\n"))
    line.around(() => written.push("another\n"))
    expect(written).toEqual([`${erase}status`, erase, "a log line\n", "another\n"])
    advance(250)
    expect(written.at(-1)).toBe(`${erase}status`)
  })

  test("is erased when closed, and nothing is written afterwards", () => {
    const { line, written, advance, timers } = screen()
    line.show(() => "one")
    line.show(() => "two")
    line.close()
    line.close()
    line.show(() => "three")
    line.around(() => written.push("last words\n"))
    advance(1000)
    expect(written).toEqual([`${erase}one`, erase, "last words\n"])
    expect(timers).toEqual([])
  })

  test("writes nothing if it is not enabled", () => {
    const { stream, written } = screen()
    const line = createLiveLine({
      stream: stream as never,
      isEnabled: false,
      clock: { monotonicMs: () => 0, after: () => ({ cancel: () => undefined }) },
    })
    line.show(() => "status")
    line.around(() => written.push("a log line\n"))
    line.close()
    expect(written).toEqual(["a log line\n"])
  })
})

describe("quantities", () => {
  test.each([
    [formatInteger(1_234_567.4), "1,234,567"],
    [formatInteger(999), "999"],
    [formatCount(1, "event"), "1 event"],
    [formatCount(0, "event"), "0 events"],
    [formatBytes(999), "999 B"],
    [formatBytes(1000), "1.0 kB"],
    [formatBytes(9949), "9.9 kB"],
    [formatBytes(9951), "10 kB"],
    [formatBytes(999_499), "999 kB"],
    [formatBytes(999_500), "1.0 MB"],
    [formatBytes(110_000_000), "110 MB"],
    [formatBytes(5e15), "5000 TB"],
    [formatDuration(-5), "0 ms"],
    [formatDuration(999.6), "1000 ms"],
    [formatDuration(59_999), "59 s"],
    [formatDuration(185_000), "3 m 05 s"],
    [formatDuration(7_620_000), "2 h 07 m"],
    [formatDuration(273_600_000), "3 d 04 h"],
  ])("%s is %s", (text, expected) => {
    expect(text).toBe(expected)
  })
})
