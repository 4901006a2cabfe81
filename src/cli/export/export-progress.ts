/**
 * The progress line of `reel export` on a terminal: bytes, events or lines, and time left.
 *
 * SimKube's format has the number of events at its beginning. For NDJSON the recorder is asked for a forecast, in parallel with
 * the export and only if the output is a terminal; its counts do not apply filters by label and owner and are then shown as "at
 * most". For a kwok trace only bytes are shown.
 */

import type { Clock } from "../../clock.ts"
import type { LiveLine } from "../terminal/live-line.ts"
import { formatBytes, formatCount, formatDuration, formatInteger } from "../terminal/quantities.ts"
import type { Forecast } from "./export-forecast.ts"
import type { TraceCount } from "./trace-check.ts"

/** The expected number of what is counted in a trace. */
interface ExpectedNumber {
  readonly number: number
  readonly accuracy: "exact" | "about" | "at most"
}

/** The expected number of lines in an NDJSON trace, from a forecast. */
export const expectedLines = ({ kinds, countedBefore }: Forecast): ExpectedNumber => ({
  number: kinds.reduce((sum, { objects, events, gaps }) => sum + objects + events + gaps.length, 0),
  // Not exact: the forecast is made later than the export.
  accuracy: countedBefore.length > 0 ? "at most" : "about",
})

/** How much of an export has arrived. */
export interface ExportState {
  /** ms since the first byte; `undefined` before it. */
  readonly sinceFirstByteMs: number | undefined
  /** ms since the export was requested. */
  readonly elapsedMs: number
  readonly bytes: number
  /** `undefined` if nothing can be counted in this format. */
  readonly count: TraceCount | undefined
  readonly expected: ExpectedNumber | undefined
}

/** ms of transfer before its speed is a basis for estimating the time left. */
const judgedAfterMs = 1000

/** Renders the progress line. `what` is shown until the first byte arrives. */
export const renderProgress = (what: string, state: ExportState): string => {
  const { sinceFirstByteMs, elapsedMs, bytes, count } = state
  if (sinceFirstByteMs === undefined) return `${what}: ${formatDuration(elapsedMs)}`
  const parts = [`exporting: ${formatBytes(bytes)}`]
  if (count === undefined) return [...parts, ...(elapsedMs < 1000 ? [] : [formatDuration(elapsedMs)])].join(", ")
  const expected = totalOf(state, count)
  if (expected === undefined) return [...parts, formatCount(count.number, count.unit)].join(", ")
  const { number, accuracy } = expected
  const word = accuracy === "exact" ? "" : `${accuracy} `
  parts.push(`${formatInteger(count.number)} of ${word}${formatCount(number, count.unit)}`)
  if (count.number > 0 && count.number < number && sinceFirstByteMs >= judgedAfterMs) {
    const left = (sinceFirstByteMs * (number - count.number)) / count.number
    parts.push(`${accuracy === "at most" ? "at most " : ""}${formatDuration(Math.ceil(left / 1000) * 1000)} left`)
  }
  return parts.join(", ")
}

/** An expectation is dropped once the trace exceeds it. */
const totalOf = ({ expected }: ExportState, { number, of }: TraceCount): ExpectedNumber | undefined => {
  if (of !== undefined) return { number: of, accuracy: "exact" }
  return expected !== undefined && number <= expected.number ? expected : undefined
}

export interface ExportProgress {
  /** Called for each piece with the total bytes so far. `count` is called when the line is painted. */
  readonly received: (bytes: number, count: (() => TraceCount) | undefined) => void
  readonly expect: (expected: ExpectedNumber) => void
  /** Erases the line. May be called again. */
  readonly close: () => void
}

/** ms between repaints while nothing arrives. */
const tickMs = 1000

/** Shows a line with the first bytes or after a second, and updates it while nothing arrives. */
export const showProgress = (
  line: LiveLine,
  clock: Pick<Clock, "after" | "monotonicMs">,
  what: string,
): ExportProgress => {
  const begin = clock.monotonicMs()
  let firstByteAt: number | undefined
  let bytes = 0
  let count: (() => TraceCount) | undefined
  let expected: ExpectedNumber | undefined
  const show = (): void =>
    line.show(() => {
      const now = clock.monotonicMs()
      const sinceFirstByteMs = firstByteAt === undefined ? undefined : now - firstByteAt
      return renderProgress(what, { sinceFirstByteMs, elapsedMs: now - begin, bytes, count: count?.(), expected })
    })
  let timer = clock.after(tickMs, tick)
  function tick(): void {
    show()
    timer = clock.after(tickMs, tick)
  }
  return {
    received(total, counted) {
      firstByteAt ??= clock.monotonicMs()
      bytes = total
      count = counted
      show()
    },
    expect(given) {
      expected = given
    },
    close() {
      timer.cancel()
      line.close()
    },
  }
}
