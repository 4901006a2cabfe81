/** A few calls at a time, because each opens the recordings for itself; the others wait in order, and not without limit. */
import { Misasked } from "../past/asking.ts"

const atOnce = 4
const mostWaiting = 64

/** Gives turns to calls. */
export class CallTurns {
  #running = 0
  readonly #waiting: (() => void)[] = []

  /**
   * Runs when it is its turn. Rejects with Misasked if too many wait, with the signal's reason if it is aborted while it waits, and as `run` does.
   */
  async inTurn<T>(run: () => Promise<T>, signal: AbortSignal): Promise<T> {
    if (this.#waiting.length >= mostWaiting)
      throw new Misasked(`${mostWaiting} calls wait already: ask again when some are answered`)
    if (this.#running >= atOnce) await new Promise<void>((resolve) => this.#waiting.push(resolve))
    else this.#running++
    try {
      signal.throwIfAborted()
      return await run()
    } finally {
      const next = this.#waiting.shift()
      if (next === undefined) this.#running--
      else next()
    }
  }
}
