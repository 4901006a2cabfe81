import { setTimeout } from "node:timers/promises"

/**
 * Turns the event loop until the condition is true. It uses no clock: a condition that never becomes true is ended by the time limit of the
 * test.
 */
export const until = async (condition: () => boolean): Promise<void> => {
  // Another thread may need a while, and this one must not keep a processor busy meanwhile.
  for (let turns = 0; !condition(); turns++) await (turns < 200 ? turn() : setTimeout(1))
}

/** One turn of the event loop: messages of ports and finished promises are handled. */
export const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
