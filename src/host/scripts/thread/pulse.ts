/**
 * Shows the main thread that this one is busy, and that its event loop still turns: one entry of the mark for each beat. While nothing is done, there is
 * no beat and no timer.
 */
import type { Clock, Timer } from "../../../clock.ts"
import type { EntryMark } from "../../dispatcher/entry-mark.ts"

/** ms between two beats: some fraction of the time after which the thread counts as stuck. */
export const beatMs = 1000

export class Pulse {
  readonly #mark: Pick<EntryMark, "begin" | "end">
  readonly #clock: Pick<Clock, "after">
  #active = 0
  #timer: Timer | undefined

  constructor(mark: Pick<EntryMark, "begin" | "end">, clock: Pick<Clock, "after">) {
    this.#mark = mark
    this.#clock = clock
  }

  /** Something begins. Call what it returns when that has ended, once. */
  begin(): () => void {
    this.#active++
    if (this.#timer === undefined) this.#beat()
    return () => {
      this.#active--
    }
  }

  stop(): void {
    if (this.#timer === undefined) return
    this.#timer.cancel()
    this.#timer = undefined
    this.#mark.end()
  }

  #beat(): void {
    this.#mark.begin(0)
    this.#timer = this.#clock.after(beatMs, () => {
      this.#mark.end()
      this.#timer = undefined
      if (this.#active > 0) this.#beat()
    })
  }
}
