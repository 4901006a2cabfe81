const parallelLoads = 2

interface Sized {
  readonly bytes: number
}

/**
 * States of kinds at fixed moments, the most recently used ones, within a bound of bytes. A state that is larger than the bound is kept while it is the
 * only one. Requests for a state that is being loaded wait for it; one that failed to load is not kept. At most {@link parallelLoads} are loaded
 * at a time, because their size is unknown until then and clients choose the moments.
 */
export class StateCache<State extends Sized> {
  readonly #limit: number
  /** Least recently used first, as a Map iterates. */
  readonly #entries = new Map<string, Promise<State>>()
  readonly #sizes = new Map<string, number>()
  #bytes = 0
  #loads = 0
  readonly #waiting: Array<() => void> = []

  /** `limit`: bytes. */
  constructor(limit: number) {
    this.#limit = limit
  }

  /** Bytes of all states that are loaded. */
  get bytes(): number {
    return this.#bytes
  }

  get(key: string, load: () => Promise<State>): Promise<State> {
    const known = this.#entries.get(key)
    if (known !== undefined) {
      this.#entries.delete(key)
      this.#entries.set(key, known)
      return known
    }
    const loading = this.#inTurn(load)
    this.#entries.set(key, loading)
    loading.then(
      (state) => this.#loaded(key, state),
      // The requests that wait for it receive the error.
      () => this.#entries.delete(key),
    )
    return loading
  }

  async #inTurn(load: () => Promise<State>): Promise<State> {
    if (this.#loads < parallelLoads) this.#loads++
    else await new Promise<void>((resolve) => this.#waiting.push(resolve))
    try {
      return await load()
    } finally {
      const next = this.#waiting.shift()
      if (next === undefined) this.#loads--
      else next()
    }
  }

  #loaded(key: string, { bytes }: Sized): void {
    this.#sizes.set(key, bytes)
    this.#bytes += bytes
    for (const oldest of this.#entries.keys()) {
      if (this.#bytes <= this.#limit) break
      if (oldest === key) continue
      const size = this.#sizes.get(oldest)
      // Still being loaded.
      if (size === undefined) continue
      this.#entries.delete(oldest)
      this.#sizes.delete(oldest)
      this.#bytes -= size
    }
  }
}
