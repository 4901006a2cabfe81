/** The pools of Services' addresses and ports. As small as the real server's usual range, allocated in order. */

import type { Pool, ServicePools } from "./service-allocation.ts"

/** 10.0.0.0/24 without its first address, which is the API server's own, and its last. */
const firstAddress = 2
const lastAddress = 254
const firstPort = 30_000
const lastPort = 32_767

export const servicePools = (): ServicePools => ({
  clusterIps: new NumberPool(
    firstAddress,
    lastAddress,
    (value) => `10.0.0.${value}`,
    (text) => (text.startsWith("10.0.0.") ? Number(text.slice("10.0.0.".length)) : Number.NaN),
    "the provided network does not match the current range",
    "provided IP is already allocated",
  ),
  nodePorts: new NumberPool(
    firstPort,
    lastPort,
    (value) => value,
    (value) => value,
    `provided port is not in the valid range. The range of valid ports is ${firstPort}-${lastPort}`,
    "provided port is already allocated",
  ),
})

class NumberPool<Value> implements Pool<Value> {
  readonly #first: number
  readonly #last: number
  readonly #shown: (value: number) => Value
  readonly #read: (shown: Value) => number
  readonly #outside: string
  readonly #taken: string
  readonly #used = new Set<number>()
  #next: number

  constructor(
    first: number,
    last: number,
    shown: (value: number) => Value,
    read: (shown: Value) => number,
    outside: string,
    taken: string,
  ) {
    this.#first = first
    this.#last = last
    this.#shown = shown
    this.#read = read
    this.#outside = outside
    this.#taken = taken
    this.#next = first
  }

  next(): Value | undefined {
    for (let tried = this.#first; tried <= this.#last; tried++) {
      const value = this.#next
      this.#next = value === this.#last ? this.#first : value + 1
      if (this.#used.has(value)) continue
      this.#used.add(value)
      return this.#shown(value)
    }
    return undefined
  }

  take(shown: Value): string | undefined {
    const value = this.#read(shown)
    if (!(value >= this.#first && value <= this.#last)) return this.#outside
    if (this.#used.has(value)) return this.#taken
    this.#used.add(value)
    return undefined
  }

  release(shown: Value): void {
    this.#used.delete(this.#read(shown))
  }
}
