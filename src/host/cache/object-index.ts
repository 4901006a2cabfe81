/** An index over the keys of a cache: the objects that have a value. Values without objects cost nothing. */
export class ObjectIndex<T> {
  readonly #valuesOf: (object: T) => Iterable<string>
  readonly #keys = new Map<string, Set<string>>()

  /** `valuesOf` returns none, one or several values for an object, always the same for the same object. */
  constructor(valuesOf: (object: T) => Iterable<string>) {
    this.#valuesOf = valuesOf
  }

  keysOf(value: string): Iterable<string> {
    return this.#keys.get(value) ?? []
  }

  enter(key: string, object: T): void {
    for (const value of this.#valuesOf(object)) {
      const keys = this.#keys.get(value)
      if (keys === undefined) this.#keys.set(value, new Set([key]))
      else keys.add(key)
    }
  }

  leave(key: string, object: T): void {
    for (const value of this.#valuesOf(object)) {
      const keys = this.#keys.get(value)
      keys?.delete(key)
      if (keys?.size === 0) this.#keys.delete(value)
    }
  }
}
