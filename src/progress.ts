/** Progress of a thread on a long piece of work, such as reads from a store during which it sleeps: whoever waits for an answer of it goes on waiting. */

let tell: (() => void) | undefined

/** From now on progress of this thread is told by this function. */
export const tellProgress = (given: () => void): void => {
  tell = given
}

/** Something was done that an answer needs. Costs nothing where nobody is told. */
export const progressed = (): void => tell?.()
