/** Times as Kubernetes writes them. */

import type { Clock } from "../clock.ts"

/** The last second that was written: the same one is asked for thousands of times. */
let lastSecond = Number.NaN
let lastText = ""

/** RFC 3339 in whole seconds, UTC; `seconds` are added to the clock's time. */
export const timestamp = (clock: Clock, seconds = 0): string => {
  const second = Math.floor(clock.wallMicros() / 1_000_000) + seconds
  if (second !== lastSecond) {
    lastSecond = second
    lastText = `${new Date(second * 1000).toISOString().slice(0, 19)}Z`
  }
  return lastText
}
