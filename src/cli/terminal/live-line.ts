/**
 * One line at the bottom of a terminal that is repainted in place.
 *
 * Guarantees: at most four repaints a second, however many updates arrive (intermediate ones are dropped, the last one is always
 * shown); the line never wraps, not even after the window was made narrower; other output goes above it. If the line is not
 * enabled, nothing is ever written.
 */
import { backgroundClock, type Clock, type Timer } from "../../clock.ts"
import { cutToWidth } from "./display-width.ts"
import { columnsOf, isLive, type Output, type Terminal } from "./terminal.ts"

export interface LiveLine extends Disposable {
  /** Shows a new text, now or when the next repaint is due. `render` is called with the width of the terminal at that time. */
  readonly show: (render: (columns: number) => string) => void
  /** Erases the line while `write` writes whole lines to the same terminal, then paints it again. */
  readonly around: (write: () => void) => void
  /** Erases the line for good, as disposing does. May be called again. */
  readonly close: () => void
}

interface LiveLineOptions {
  readonly stream: Pick<Output, "write" | "columns">
  readonly isEnabled: boolean
  readonly clock: Pick<Clock, "after" | "monotonicMs">
}

/** Four repaints a second look live and cost next to nothing, even over a slow SSH connection. */
const intervalMs = 250

/** To the left edge, and erase to the end of the line. */
const erase = "\r\u001b[K"

export const createLiveLine = ({ stream, isEnabled, clock }: LiveLineOptions): LiveLine => {
  if (!isEnabled) {
    const nothing = (): void => undefined
    return { show: nothing, around: (write) => write(), close: nothing, [Symbol.dispose]: nothing }
  }
  let render: ((columns: number) => string) | undefined
  let isPainted = false
  let paintedAt = Number.NEGATIVE_INFINITY
  let paintTimer: Timer | undefined
  let isClosed = false

  const paint = (): void => {
    paintTimer = undefined
    if (render === undefined) return
    // The last column stays empty: some terminals wrap as soon as it is written.
    const columns = Math.max(1, columnsOf(stream) - 1)
    stream.write(`${erase}${cutToWidth(render(columns), columns)}`)
    isPainted = true
    paintedAt = clock.monotonicMs()
  }
  const clear = (): void => {
    if (isPainted) stream.write(erase)
    isPainted = false
  }

  const close = (): void => {
    isClosed = true
    paintTimer?.cancel()
    paintTimer = undefined
    clear()
  }

  return {
    show(next) {
      if (isClosed) return
      render = next
      if (paintTimer !== undefined) return
      const wait = paintedAt + intervalMs - clock.monotonicMs()
      if (wait <= 0) paint()
      else paintTimer = clock.after(wait, paint)
    },
    around(write) {
      const wasPainted = isPainted
      clear()
      write()
      // Delayed, so that a flood of log lines does not become a flood of status lines.
      if (wasPainted && paintTimer === undefined)
        paintTimer = clock.after(Math.max(0, paintedAt + intervalMs - clock.monotonicMs()), paint)
    },
    close,
    [Symbol.dispose]: close,
  }
}

/** How far a command is: a line on standard error, if that is a terminal. */
export const progressLine = ({ standardError: stream, environment }: Terminal): LiveLine =>
  createLiveLine({ stream, isEnabled: isLive(stream, environment), clock: backgroundClock })
