/**
 * What `reel export` shows on a terminal while it runs: bytes, events, and how long it will take.
 *
 * How many events will come is what SimKube's format says at its beginning; for NDJSON the recorder is asked, beside the export and
 * only if somebody watches. What it answers is counted before filters by label and owner, and then called so: "at most". A trace for
 * kwok is bytes here and nothing else.
 */

import type { LiveClock, LiveLine } from "../terminal/live-line.ts"
import { formatBytes, formatCount, formatDuration, formatInteger } from "../terminal/quantities.ts"
import type { Forecast } from "./export-forecast.ts"
import type { TraceCount } from "./trace-check.ts"

/** How many events a trace will have, as far as anybody knows. */
export interface ExpectedEvents {
  readonly events: number
  readonly accuracy: "exact" | "about" | "at most"
}

/** What a forecast lets expect of a trace in NDJSON. */
export const expectedEvents = ({ kinds, countedBefore }: Forecast): ExpectedEvents => ({
  events: kinds.reduce((sum, { objects, events, gaps }) => sum + objects + events + gaps.length, 0),
  // It is asked for later than the export, which has an end of its own.
  accuracy: countedBefore.length > 0 ? "at most" : "about",
})

/** What has come of an export. */
export interface ExportState {
  /** ms since the first byte; `undefined`: none has come. */
  readonly sinceFirstByteMs: number | undefined
  /** ms since the export was asked for. */
  readonly elapsedMs: number
  readonly bytes: number
  /** `undefined`: the trace does not show them. */
  readonly count: TraceCount | undefined
  readonly expected: ExpectedEvents | undefined
}

/** ms of a transfer before its speed says anything about what is left. */
const judgedAfterMs = 1000

/** `what`: what is being waited for before the first byte. */
export const renderProgress = (what: string, state: ExportState): string => {
  const { sinceFirstByteMs, elapsedMs, bytes, count } = state
  if (sinceFirstByteMs === undefined) return `${what}: ${formatDuration(elapsedMs)}`
  const parts = [`exporting: ${formatBytes(bytes)}`]
  if (count === undefined) return [...parts, ...(elapsedMs < 1000 ? [] : [formatDuration(elapsedMs)])].join(", ")
  const expected = totalOf(state, count)
  if (expected === undefined) return [...parts, formatCount(count.events, "event")].join(", ")
  const { events, accuracy } = expected
  const word = accuracy === "exact" ? "" : `${accuracy} `
  parts.push(`${formatInteger(count.events)} of ${word}${formatCount(events, "event")}`)
  if (count.events > 0 && count.events < events && sinceFirstByteMs >= judgedAfterMs) {
    const left = (sinceFirstByteMs * (events - count.events)) / count.events
    parts.push(`${accuracy === "at most" ? "at most " : ""}${formatDuration(Math.ceil(left / 1000) * 1000)} left`)
  }
  return parts.join(", ")
}

/** An expectation that is exceeded was none. */
const totalOf = ({ expected }: ExportState, { events, of }: TraceCount): ExpectedEvents | undefined => {
  if (of !== undefined) return { events: of, accuracy: "exact" }
  return expected !== undefined && events <= expected.events ? expected : undefined
}

export interface ExportProgress {
  /** A piece has come; `bytes`: all so far. `count` is called when the line is painted. */
  readonly received: (bytes: number, count: (() => TraceCount) | undefined) => void
  readonly expect: (expected: ExpectedEvents) => void
  /** Takes the line away. May be called again. */
  readonly close: () => void
}

/** ms between two looks at the clock while nothing comes. */
const tickMs = 1000

/** Shows a line with the first bytes or after a second, and keeps it true while nothing comes. */
export const showProgress = (line: LiveLine, clock: LiveClock, what: string): ExportProgress => {
  const begin = clock.now()
  let firstByteAt: number | undefined
  let bytes = 0
  let count: (() => TraceCount) | undefined
  let expected: ExpectedEvents | undefined
  const show = (): void =>
    line.show(() => {
      const now = clock.now()
      const sinceFirstByteMs = firstByteAt === undefined ? undefined : now - firstByteAt
      return renderProgress(what, { sinceFirstByteMs, elapsedMs: now - begin, bytes, count: count?.(), expected })
    })
  let cancelTick = clock.after(tickMs, tick)
  function tick(): void {
    show()
    cancelTick = clock.after(tickMs, tick)
  }
  return {
    received(total, counted) {
      firstByteAt ??= clock.now()
      bytes = total
      count = counted
      show()
    },
    expect(given) {
      expected = given
    },
    close() {
      cancelTick()
      line.close()
    },
  }
}
