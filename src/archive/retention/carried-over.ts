/**
 * Events that were carried over: how many there are, and when those of them that are superseded are removed, so that they stay in proportion to what is alive and
 * to the limit of bytes.
 *
 * Each step is one transaction, some ms.
 */
import type { Sequences } from "./sequences.ts"
import type { Sweeping } from "./sweeping.ts"

export class CarriedOver {
  readonly #sweeping: Sweeping
  readonly #collectAfter: number
  /** Carried over, or ended, since superseded events were last looked for; and what was alive then. */
  #uncollected: number
  #alive = 0
  #carried = 0
  /** How many had been carried over when superseded ones were last removed alone; `undefined`: never. */
  #supersededThrough: number | undefined

  /** `earlier`: events that earlier processes carried over. `collectAfter`: least number of events after which superseded ones are looked for. */
  constructor(sweeping: Sweeping, earlier: number, collectAfter: number) {
    this.#sweeping = sweeping
    this.#uncollected = earlier
    this.#collectAfter = collectAfter
  }

  /** Events that this process carried over. */
  get count(): number {
    return this.#carried
  }

  /** So many objects ended before the beginning of the recording. */
  noteEnded(objects: number): void {
    this.#uncollected += objects
  }

  /** Frees the blocks of what was removed. `live`: by kind what lives on of it, as far as it is known. */
  *sweep(live?: ReadonlyMap<number, Sequences>): Generator<void, void, void> {
    yield* this.#counted(this.#sweeping.removed(live))
  }

  /**
   * Removes superseded events once there are as many of them as objects that are alive, and at least `collectAfter`, or `most` if that is less. At high rates
   * frames wait for a commit whenever there is a turn: then the rows of what has ended wait for another time, but superseded events do not.
   */
  *collectIfMany(most: number): Generator<void, void, void> {
    const many = Math.max(Math.min(this.#collectAfter, most), this.#alive)
    if (this.#uncollected <= many) return
    yield* this.collect()
    if (this.#uncollected > many && this.#carried - (this.#supersededThrough ?? 0) > many)
      yield* this.removeSuperseded()
  }

  /** Removes superseded events, and the rows of what has ended. */
  *collect(): Generator<void, void, void> {
    const alive = yield* this.#counted(this.#sweeping.collect())
    if (alive === undefined) return
    this.#alive = alive
    this.#uncollected = 0
  }

  /** Removes superseded events alone. Of blocks whose objects change often nearly all is carried over, and on a full disk that cannot wait until there is a lot of it. */
  *removeSuperseded(): Generator<void, void, void> {
    const carried = this.#carried
    if (this.#supersededThrough === carried) return
    this.#alive = yield* this.#counted(this.#sweeping.superseded())
    this.#supersededThrough = carried
  }

  *#counted<Result>(steps: Generator<number, Result, void>): Generator<void, Result, void> {
    for (let step = steps.next(); ; step = steps.next()) {
      if (step.done === true) return step.value
      this.#carried += step.value
      this.#uncollected += step.value
      yield
    }
  }
}
