/** The axis of a time line: round times by the clock, few enough to be read on a phone. */
import { type Html, html } from "../../../page/html.ts"
import { dateText, hasSeveralDays, isoText, type Span } from "./moments.ts"

/** Steps between ticks, at most: with the narrowest phones they leave each label 90 pixels. */
const MOST_STEPS = 4

const MS = 1000
const SECOND = 1_000_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** µs between ticks. Each is at most three times the one before it, so that every span has one. */
const steps = [
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500].map((count) => count * MS),
  ...[1, 2, 5, 10, 15, 30].map((count) => count * SECOND),
  ...[1, 2, 5, 10, 15, 30].map((count) => count * MINUTE),
  ...[1, 2, 3, 6, 12].map((count) => count * HOUR),
  ...[1, 2, 5, 10, 30, 90, 180, 365, 730, 1825, 3650, 9125].map((count) => count * DAY),
]

/** In percent of the span. */
export const shareOf = ({ start, end }: Span, time: number): number =>
  (Math.min(1, Math.max(0, (time - start) / (end - start))) || 0) * 100

/** The times of the ticks, in µs since the Unix epoch. */
export const ticksOf = ({ start, end }: Span): ReadonlyArray<number> => {
  const step = steps.find((each) => (end - start) / each <= MOST_STEPS) ?? (end - start) / MOST_STEPS
  const first = Math.ceil(start / step) * step
  return Array.from({ length: MOST_STEPS + 1 }, (_, index) => first + index * step).filter((time) => time <= end)
}

/** The lane of the axis; its lines are the picture `grid`, which every lane uses. */
export const axis = (span: Span): Html => {
  const ticks = ticksOf(span)
  const [first = 0, second = first + SECOND] = ticks
  const lines = ticks.map((time) => {
    const at = `${shareOf(span, time).toFixed(2)}%`
    return html`<line x1="${at}" x2="${at}" y1="0" y2="100%" stroke="#888" stroke-opacity=".3"/>`
  })
  const labels = ticks.map((time) => {
    const at = shareOf(span, time)
    // None is outside of the lane.
    const anchor = at > 90 ? "end" : at < 10 ? "start" : "middle"
    return html`<text x="${at.toFixed(2)}%" y="13" text-anchor="${anchor}" fill="currentColor" font-size="10">${tickText(time, second - first, span)}</text>`
  })
  return html`<svg class="lane" width="100%" height="18" aria-hidden="true"><g id="grid">${lines}</g>${labels}</svg>`
}

const tickText = (time: number, step: number, span: Span): string => {
  if (step >= DAY) return dateText(time)
  const clock = isoText(time).slice(11, step >= MINUTE ? 16 : step >= SECOND ? 19 : 23)
  return hasSeveralDays(span) ? `${dateText(time).slice(5)} ${clock}` : clock
}
