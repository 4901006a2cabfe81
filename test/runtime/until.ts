/**
 * Turns the event loop until something has happened. It looks at no clock: a condition that never comes true is ended by
 * the time limit of the test.
 */
export const until = async (condition: () => boolean): Promise<void> => {
  while (!condition()) await turn()
}

/** One turn of the event loop: messages of ports and finished promises are handled. */
export const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
