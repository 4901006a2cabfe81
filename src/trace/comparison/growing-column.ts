/** Numbers that are appended one at a time and read by their place, eight bytes each. */

/** A column of 64-bit floats: times, places, and hashes of 52 bits. */
export class GrowingColumn {
  #values = new Float64Array(1024)
  #length = 0

  get length(): number {
    return this.#length
  }

  push(value: number): void {
    if (this.#length === this.#values.length) {
      const larger = new Float64Array(2 * this.#length)
      larger.set(this.#values)
      this.#values = larger
    }
    this.#values[this.#length++] = value
  }

  /** @throws RangeError where nothing was appended */
  at(index: number): number {
    if (index < 0 || index >= this.#length) throw new RangeError(`there is no row ${index} of ${this.#length}`)
    return this.#values[index] as number
  }

  set(index: number, value: number): void {
    if (index < 0 || index >= this.#length) throw new RangeError(`there is no row ${index} of ${this.#length}`)
    this.#values[index] = value
  }

  /** The values in ascending order, a copy. */
  sorted(): Float64Array {
    return this.#values.slice(0, this.#length).sort()
  }
}
