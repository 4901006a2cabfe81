/** A seeded workload of a sandbox: creations, changes, deletions and re-creations at a given rate. */
import type { Sandbox } from "../../../src/sandbox/index.ts"

/** Objects per kind; few, so that names are reused often. */
const names = 200
/** ms between bursts. */
const tickMs = 10

export class Workload {
  readonly #sandbox: Sandbox
  readonly #kinds: ReadonlyArray<string>
  readonly #text: (length: number) => string
  readonly #alive = new Set<string>()
  #state: number
  #timer: NodeJS.Timeout | undefined
  #startedMs = 0
  #wanted = 0
  events = 0

  /** `text`: of which each object has some, for a length of up to 500. */
  constructor(
    sandbox: Sandbox,
    kinds: ReadonlyArray<string>,
    seed: number,
    text: (length: number) => string = (length) => "x".repeat(length),
  ) {
    this.#text = text
    this.#sandbox = sandbox
    this.#kinds = kinds
    this.#state = seed | 0
  }

  /** Starts to change things `perSecond` times a second, until {@link stop}. */
  start(perSecond: number): void {
    this.#startedMs = performance.now()
    this.#timer = setInterval(() => {
      this.#wanted = ((performance.now() - this.#startedMs) / 1000) * perSecond
      while (this.events < this.#wanted) this.change()
    }, tickMs)
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  /** One change of a random object of a random kind. */
  change(): void {
    const gvk = this.#kinds[this.below(this.#kinds.length)] as string
    const name = `object-${this.below(names)}`
    const key = `${gvk} ${name}`
    this.events++
    if (this.#alive.has(key) && this.below(5) === 0) {
      this.#alive.delete(key)
      this.#sandbox.delete(gvk, "load", name)
      return
    }
    this.#alive.add(key)
    this.#sandbox.put(gvk, {
      metadata: { namespace: "load", name, labels: { round: String(this.events) } },
      spec: { value: this.events, text: this.#text(this.below(500)) },
    })
  }

  /** Waits a random time of at most `maximumMs` while events continue. */
  moment(maximumMs: number): Promise<void> {
    return new Promise((resolve) => setTimeout(resolve, this.below(maximumMs)))
  }

  shuffled<A>(items: ReadonlyArray<A>): ReadonlyArray<A> {
    return items
      .map((item) => [this.below(1_000_000), item] as const)
      .sort(([left], [right]) => left - right)
      .map(([, item]) => item)
  }

  /** A random integer in [0, limit); mulberry32. */
  below(limit: number): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296) * limit)
  }
}
