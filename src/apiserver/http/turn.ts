/**
 * One turn of the event loop, in three parts: all sockets are read, then the received writes are executed one after the
 * other, then responses and events are sent. When they are mixed, each part finds the processor's caches full of another's
 * code, and each response wakes up a client that has just gone to sleep (16 clients of one process, 2 cores: 56 µs of CPU a
 * write that way, 47 µs this way).
 *
 * Both parts keep their order. Steps that a step adds still belong to the turn. A step that throws ends the turn there,
 * as an uncaught error; the remaining steps run in a turn of their own.
 */

/** In the order in which the parts run. */
const writes: Array<() => void> = []
const sends: Array<() => void> = []
let isPlanned = false

/** Runs after everything that the kernel had for this turn has been read. */
export const laterInTurn = (write: () => void): void => {
  writes.push(write)
  plan()
}

/** Runs after everything that was to run {@link laterInTurn}. */
export const atTurnEnd = (send: () => void): void => {
  sends.push(send)
  plan()
}

const plan = (): void => {
  if (isPlanned) return
  isPlanned = true
  setImmediate(runTurn)
}

const runTurn = (): void => {
  try {
    run(writes)
    run(sends)
  } finally {
    isPlanned = false
    if (writes.length > 0 || sends.length > 0) plan()
  }
}

/** Includes steps that are added meanwhile. */
const run = (steps: Array<() => void>): void => {
  let next = 0
  try {
    while (next < steps.length) steps[next++]?.()
  } finally {
    steps.splice(0, next)
  }
}
