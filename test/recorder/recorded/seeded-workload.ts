/** What seeded workloads of a sandbox have in common: a number of changes a second, and decisions that the seed determines. */
import { seededRandom } from "../../runtime/random.ts"

/** ms between bursts. */
const tickMs = 10

export abstract class SeededWorkload implements Disposable {
  readonly #random: () => number
  #timer: NodeJS.Timeout | undefined
  /** How many changes were made. */
  events = 0

  constructor(seed: number) {
    this.#random = seededRandom(seed)
  }

  /** One change. */
  abstract step(): void

  /** Starts to change things `perSecond` times a second, until {@link stop}. */
  start(perSecond: number): void {
    const [startedMs, before] = [performance.now(), this.events]
    this.#timer = setInterval(() => {
      const wanted = before + ((performance.now() - startedMs) / 1000) * perSecond
      while (this.events < wanted) this.step()
    }, tickMs)
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  [Symbol.dispose](): void {
    this.stop()
  }

  /** Waits a random time of at most `maximumMs` while changes continue. */
  moment(maximumMs: number): Promise<void> {
    return new Promise((resolve) => setTimeout(resolve, this.below(maximumMs)))
  }

  shuffled<A>(items: ReadonlyArray<A>): ReadonlyArray<A> {
    return items
      .map((item) => [this.#random(), item] as const)
      .sort(([left], [right]) => left - right)
      .map(([, item]) => item)
  }

  /** A random integer in [0, limit). */
  below(limit: number): number {
    return Math.floor(this.#random() * limit)
  }
}
