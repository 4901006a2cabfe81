/** Times as Kubernetes writes them. */

import type { Clock } from "../clock.ts"

/** The last second that was formatted: the same one is needed thousands of times. */
let lastSecond = Number.NaN
let lastText = ""

/** RFC 3339 with whole seconds, UTC; `seconds` are added to the clock's time. */
export const timestamp = (clock: Clock, seconds = 0): string => {
  const second = Math.floor(clock.wallMicros() / 1_000_000) + seconds
  if (second !== lastSecond) {
    lastSecond = second
    lastText = `${new Date(second * 1000).toISOString().slice(0, 19)}Z`
  }
  return lastText
}
