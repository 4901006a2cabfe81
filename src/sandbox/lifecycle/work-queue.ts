/**
 * Work that controllers put off: keys, each waiting once, done one after the other a moment later on the server's clock. So
 * a controller never acts in the middle of the write that woke it, and a test with a clock of its own decides when it acts.
 */

import { guarded } from "../../apiserver/http/trouble.ts"
import type { Clock, Timer } from "../../runtime/clock.ts"
import type { WriteSurroundings } from "../writes/surroundings.ts"

export class WorkQueue {
  readonly #clock: Clock
  readonly #onTrouble: WriteSurroundings["onTrouble"]
  readonly #work: (key: string) => void
  /** ms. */
  readonly #delay: number
  readonly #waiting = new Set<string>()
  #timer: Timer | undefined
  #closed = false

  /** `work` runs `delay` ms (default 0: as soon as the event loop turns) after a key has come to an idle queue. */
  constructor(
    { clock, onTrouble }: Pick<WriteSurroundings, "clock" | "onTrouble">,
    work: (key: string) => void,
    delay = 0,
  ) {
    this.#clock = clock
    this.#onTrouble = onTrouble
    this.#work = work
    this.#delay = delay
  }

  add(key: string): void {
    if (this.#closed) return
    this.#waiting.add(key)
    this.#timer ??= this.#clock.after(this.#delay, () => this.#run())
  }

  close(): void {
    this.#closed = true
    this.#timer?.cancel()
    this.#waiting.clear()
  }

  /** What comes while this runs waits for the next round. A key that cannot be worked on costs the others nothing. */
  #run(): void {
    this.#timer = undefined
    const keys = [...this.#waiting]
    this.#waiting.clear()
    for (const key of keys) guarded(`work on ${JSON.stringify(key)}`, this.#onTrouble, () => this.#work(key))
  }
}
