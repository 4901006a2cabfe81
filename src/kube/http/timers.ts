import type { Clock } from "../../clock.ts"

/** Timers as a capability of this folder, so that tests drive connect, idle and deadline clocks themselves; any clock will do. */
export type Timers = Pick<Clock, "after">

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
