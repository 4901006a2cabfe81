/** The objects whose largest state is largest, and the bytes of all states by kind. Memory: a few names, whatever the trace. */

/** An object and the size of its largest state in bytes of JSON. */
export interface LargeObject {
  readonly gvk: string
  readonly namespace: string
  readonly name: string
  readonly bytes: number
}

/** Add the size of every state, then take {@link list}. */
export class LargestObjects {
  readonly #most: number
  #largest: LargeObject[] = []

  constructor(most: number) {
    this.#most = most
  }

  add(gvk: string, namespace: string, name: string, bytes: number): void {
    if (this.#largest.length === this.#most && bytes <= (this.#largest.at(-1)?.bytes ?? 0)) return
    const others = this.#largest.filter((each) => {
      const isSame = each.gvk === gvk && each.namespace === namespace && each.name === name
      return !isSame || each.bytes > bytes
    })
    const isListed = others.some((each) => each.gvk === gvk && each.namespace === namespace && each.name === name)
    if (isListed) return
    others.push({ gvk, namespace, name, bytes })
    this.#largest = others.sort((one, other) => other.bytes - one.bytes).slice(0, this.#most)
  }

  /** The largest first. */
  list(): ReadonlyArray<LargeObject> {
    return this.#largest
  }
}
