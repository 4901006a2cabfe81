/**
 * One turn of the event loop, in three parts: the kernel is asked for what all sockets have, then the writes that came are
 * made one after the other, then answers and events leave. Mixed as they come, each part finds the processor's caches full of
 * another's code, and each answer wakes up a client that has just gone to sleep (16 clients of one process, 2 cores: 56 µs of
 * CPU a write that way, 47 µs this way).
 *
 * Both parts keep their order. What a step adds still belongs to the turn. A step that throws ends the turn there, as an
 * uncaught error; the rest has a turn of its own.
 */

/** In the order in which the parts run. */
const writes: Array<() => void> = []
const sends: Array<() => void> = []
let isPlanned = false

/** Runs when everything that the kernel had for this turn has been read. */
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

/** Also what is added meanwhile. */
const run = (steps: Array<() => void>): void => {
  let next = 0
  try {
    while (next < steps.length) steps[next++]?.()
  } finally {
    steps.splice(0, next)
  }
}
