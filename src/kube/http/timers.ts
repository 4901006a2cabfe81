import type { Clock } from "../../clock.ts"

/** Timers as a capability of this folder, so that tests control connect, idle and deadline timers themselves; any clock works. */
export type Timers = Pick<Clock, "after">

/**
 * The machine's timers. They do not keep the process alive: a timer here only ever limits something else (a socket, a child process), which
 * keeps it alive itself.
 */
export const systemTimers: Timers = {
  after(delayMs, action) {
    const timer = setTimeout(action, delayMs)
    timer.unref()
    return { cancel: () => clearTimeout(timer) }
  },
}
