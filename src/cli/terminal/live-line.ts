/**
 * One line at the bottom of a terminal that is repainted in place.
 *
 * Guarantees: at most four repaints a second, however many updates arrive (intermediate ones are dropped, the last one is always
 * shown); the line never wraps, not even after the window was made narrower; other output goes above it. If the line is not
 * enabled, nothing is ever written.
 */
import { cutToWidth } from "./display-width.ts"
import { columnsOf, type Output } from "./terminal.ts"

/** The clock and timer for repainting. */
export interface LiveClock {
  /** Monotonic ms. */
  readonly now: () => number
  /** Calls `action` once after `delayMs` ms; the returned function cancels it. */
  readonly after: (delayMs: number, action: () => void) => () => void
}

export const systemLiveClock: LiveClock = {
  now: () => performance.now(),
  after(delayMs, action) {
    // A pending repaint must not keep the process alive.
    const timer = setTimeout(action, delayMs).unref()
    return () => clearTimeout(timer)
  },
}

export interface LiveLine {
  /** Shows a new text, now or when the next repaint is due. `render` is called with the width of the terminal at that time. */
  readonly show: (render: (columns: number) => string) => void
  /** Erases the line while `write` writes whole lines to the same terminal, then paints it again. */
  readonly around: (write: () => void) => void
  /** Erases the line for good. May be called again. */
  readonly close: () => void
}

export interface LiveLineOptions {
  readonly stream: Pick<Output, "write" | "columns">
  readonly isEnabled: boolean
  readonly clock: LiveClock
}

/** Four repaints a second look live and cost next to nothing, even over a slow SSH connection. */
const intervalMs = 250

/** To the left edge, and erase to the end of the line. */
const erase = "\r\u001b[K"

export const createLiveLine = ({ stream, isEnabled, clock }: LiveLineOptions): LiveLine => {
  if (!isEnabled) return { show: () => undefined, around: (write) => write(), close: () => undefined }
  let render: ((columns: number) => string) | undefined
  let isPainted = false
  let paintedAt = Number.NEGATIVE_INFINITY
  let cancelPaint: (() => void) | undefined
  let isClosed = false

  const paint = (): void => {
    cancelPaint = undefined
    if (render === undefined) return
    // The last column stays empty: some terminals wrap as soon as it is written.
    const columns = Math.max(1, columnsOf(stream) - 1)
    stream.write(`${erase}${cutToWidth(render(columns), columns)}`)
    isPainted = true
    paintedAt = clock.now()
  }
  const clear = (): void => {
    if (isPainted) stream.write(erase)
    isPainted = false
  }

  return {
    show(next) {
      if (isClosed) return
      render = next
      if (cancelPaint !== undefined) return
      const wait = paintedAt + intervalMs - clock.now()
      if (wait <= 0) paint()
      else cancelPaint = clock.after(wait, paint)
    },
    around(write) {
      const wasPainted = isPainted
      clear()
      write()
      // Delayed, so that a flood of log lines does not become a flood of status lines.
      if (wasPainted && cancelPaint === undefined)
        cancelPaint = clock.after(Math.max(0, paintedAt + intervalMs - clock.now()), paint)
    },
    close() {
      isClosed = true
      cancelPaint?.()
      cancelPaint = undefined
      clear()
    },
  }
}
