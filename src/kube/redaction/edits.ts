/** Replacements and deletions in a span of bytes, collected in any order and made at once. */

interface Edit {
  readonly start: number
  readonly end: number
  /** `undefined`: deleted. */
  readonly replacement: Buffer | undefined
}

/** Reused for every object. */
export class Edits {
  #edits: Array<Edit> = []
  #scratch = Buffer.alloc(0)

  get isEmpty(): boolean {
    return this.#edits.length === 0
  }

  clear(): void {
    if (this.#edits.length > 0) this.#edits = []
  }

  /** Two edits are the same, apart, or one contains the other, which then has no effect. */
  add(start: number, end: number, replacement: Buffer | undefined): void {
    this.#edits.push({ start, end, replacement })
  }

  /** `bytes[start, end)` after all edits, in memory that the next call reuses. */
  apply(bytes: Buffer, start: number, end: number): Buffer {
    this.#edits.sort((left, right) => left.start - right.start || right.end - left.end)
    let longest = end - start
    for (const { replacement } of this.#edits) longest += replacement?.length ?? 0
    if (this.#scratch.length < longest) this.#scratch = Buffer.allocUnsafeSlow(longest * 2)
    const target = this.#scratch
    let from = start
    let to = 0
    for (const edit of this.#edits) {
      if (edit.start < from) continue
      to += bytes.copy(target, to, from, edit.start)
      if (edit.replacement !== undefined) to += edit.replacement.copy(target, to)
      from = edit.end
    }
    to += bytes.copy(target, to, from, end)
    return target.subarray(0, to)
  }
}
