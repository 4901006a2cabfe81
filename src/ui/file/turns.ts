/** Long work in the page's one thread, in turns, so that it scrolls and draws meanwhile. */

/** ms of a turn: half of a frame. */
const TURN = 8

/** Rests when its turn is over. One for one piece of work. */
export class Turns {
  readonly #signal: AbortSignal
  #since = performance.now()

  constructor(signal: AbortSignal) {
    signal.throwIfAborted()
    this.#signal = signal
  }

  /** Rejects with the signal's reason. */
  async rest(): Promise<void> {
    if (performance.now() - this.#since < TURN) return
    await new Promise<void>((resolve) => setTimeout(resolve))
    this.#signal.throwIfAborted()
    this.#since = performance.now()
  }
}
