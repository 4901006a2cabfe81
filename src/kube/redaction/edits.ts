import { valueKinds } from "./redacted-values.ts"

/** Replacements and deletions in a span of bytes, collected in any order and made at once. Reused for every object; allocates nothing per object. */
export class Edits {
  /** The bytes after the last {@link apply}: `bytes[0, length)`. */
  bytes: Buffer = Buffer.alloc(0)
  length = 0
  /** How many values of each of `valueKinds` the last {@link apply} replaced. */
  readonly replaced = new Uint32Array(valueKinds.length)
  #count = 0
  readonly #starts: Array<number> = []
  readonly #ends: Array<number> = []
  readonly #replacements: Array<Buffer | undefined> = []
  readonly #kinds: Array<number> = []
  readonly #values: Array<number> = []

  get isEmpty(): boolean {
    return this.#count === 0
  }

  clear(): void {
    this.#count = 0
  }

  /**
   * Two edits are the same, apart, or one contains the other, which then has no effect; of two of the same span the first one counts.
   * `replacement`: {@link deleted}, or {@link kept} for a span that no other edit may change. `kind`: the index in `valueKinds` of the `values`
   * that it replaces.
   */
  add(start: number, end: number, replacement: Buffer, kind = 0, values = 0): void {
    // In their order, the longer one first: nearly all are added at the end.
    let at = this.#count++
    for (; at > 0 && isBefore(start, end, this.#starts[at - 1] as number, this.#ends[at - 1] as number); at--) {
      this.#starts[at] = this.#starts[at - 1] as number
      this.#ends[at] = this.#ends[at - 1] as number
      this.#replacements[at] = this.#replacements[at - 1]
      this.#kinds[at] = this.#kinds[at - 1] as number
      this.#values[at] = this.#values[at - 1] as number
    }
    this.#starts[at] = start
    this.#ends[at] = end
    this.#replacements[at] = replacement
    this.#kinds[at] = kind
    this.#values[at] = values
  }

  /** Writes `bytes[start, end)` after all edits to {@link bytes}, whose content the next call replaces. */
  apply(bytes: Buffer, start: number, end: number): void {
    let longest = end - start
    for (let index = 0; index < this.#count; index++) longest += this.#replacements[index]?.length ?? 0
    if (this.bytes.length < longest) this.bytes = Buffer.allocUnsafeSlow(longest * 2)
    const target = this.bytes
    this.replaced.fill(0)
    let from = start
    let to = 0
    for (let index = 0; index < this.#count; index++) {
      const editStart = this.#starts[index] as number
      if (editStart < from) continue
      const replacement = this.#replacements[index] as Buffer
      const until = replacement === kept ? (this.#ends[index] as number) : editStart
      to += bytes.copy(target, to, from, until)
      if (replacement.length > 0) to += replacement.copy(target, to)
      from = this.#ends[index] as number
      const kind = this.#kinds[index] as number
      this.replaced[kind] = (this.replaced[kind] as number) + (this.#values[index] as number)
    }
    this.length = to + bytes.copy(target, to, from, end)
  }
}

/** Nothing stands for the span. */
export const deleted: Buffer = Buffer.alloc(0)
/** The span stands for itself. */
export const kept: Buffer = Buffer.alloc(0)

const isBefore = (start: number, end: number, otherStart: number, otherEnd: number): boolean =>
  start < otherStart || (start === otherStart && end > otherEnd)
