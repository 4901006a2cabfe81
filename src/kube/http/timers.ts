/**
 * Timers as a capability of this folder, so that tests drive connect, idle and deadline clocks themselves.
 *
 * The shape is the smallest that fits; any clock with an `after` method can be passed.
 */
export interface Timers {
  /** Calls `action` once after `delayMs`, unless cancelled before. Cancelling later does nothing. */
  after(delayMs: number, action: () => void): { cancel(): void }
}

/**
 * The machine's timers, not keeping the process alive: a timer here only ever limits something else (a socket, a child
 * process) that does so itself.
 */
export const systemTimers: Timers = {
  after(delayMs, action) {
    const timer = setTimeout(action, delayMs)
    timer.unref()
    return { cancel: () => clearTimeout(timer) }
  },
}

/** The machine's timers, keeping the process alive: for waits that are all that is going on, such as one before another attempt. */
export const holdingTimers: Timers = {
  after(delayMs, action) {
    const timer = setTimeout(action, delayMs)
    return { cancel: () => clearTimeout(timer) }
  },
}
