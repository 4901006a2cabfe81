/**
 * Values by UID, found by the UID's bytes in the server's response.
 *
 * A Map would need a string, and making, hashing and comparing one took a tenth of the watcher's time per event (profile of the ingest
 * scenario). API servers assign UUIDs of 36 bytes, which are kept in a table of words. Any other text, which the API does not exclude, is
 * kept in a Map.
 */

/** Words of four bytes in a UUID's text. */
const uidWords = 9
const uidBytes = uidWords * 4
/** Maximum share of occupied places, so that probe sequences stay short. */
const fullShare = 0.5
const smallest = 64

export class UidTable<Value> {
  readonly #others = new Map<string, Value>()
  /** Per place the number of an entry, -1 if free. A power of two; linear probing. */
  #places = new Int32Array(smallest).fill(-1)
  /** Per entry its UID and its value. */
  #words = new Int32Array((smallest / 2) * uidWords)
  #values: Array<Value | undefined> = []
  readonly #unused: Array<number> = []
  #size = 0
  #view: DataView = new DataView(new ArrayBuffer(0))
  #viewed: Uint8Array | undefined

  /** Values in the table. */
  get size(): number {
    return this.#size + this.#others.size
  }

  /** The value of the UID at `bytes[start, end)`. */
  get(bytes: Uint8Array, start: number, end: number): Value | undefined {
    if (end - start !== uidBytes) return this.#others.get(textOf(bytes, start, end))
    const view = this.#viewOf(bytes)
    const entry = this.#places[this.#placeOf(view, start)] ?? -1
    return entry < 0 ? undefined : this.#values[entry]
  }

  /** Also replaces. */
  set(uid: string, value: Value): void {
    const bytes = Buffer.from(uid)
    if (bytes.length !== uidBytes) {
      this.#others.set(uid, value)
      return
    }
    if (this.#size >= this.#places.length * fullShare) this.#grow()
    const view = this.#viewOf(bytes)
    const place = this.#placeOf(view, 0)
    let entry = this.#places[place] ?? -1
    if (entry < 0) {
      entry = this.#unused.pop() ?? this.#values.length
      for (let index = 0; index < uidWords; index++)
        this.#words[entry * uidWords + index] = view.getInt32(index * 4, true)
      this.#places[place] = entry
      this.#size++
    }
    this.#values[entry] = value
  }

  delete(uid: string): boolean {
    const bytes = Buffer.from(uid)
    if (bytes.length !== uidBytes) return this.#others.delete(uid)
    const place = this.#placeOf(this.#viewOf(bytes), 0)
    const entry = this.#places[place] ?? -1
    if (entry < 0) return false
    this.#values[entry] = undefined
    this.#unused.push(entry)
    this.#size--
    this.#close(place)
    return true
  }

  /** In no particular order. */
  *values(): Generator<Value> {
    for (const value of this.#values) if (value !== undefined) yield value
    yield* this.#others.values()
  }

  /** The place of the UID at `position` of the view, or the free place for it. */
  #placeOf(view: DataView, position: number): number {
    const places = this.#places
    const words = this.#words
    const mask = places.length - 1
    let hash = 0
    for (let at = position; at < position + uidBytes; at += 4) hash = mixed(hash, view.getInt32(at, true))
    let place = spread(hash) & mask
    for (;;) {
      const entry = places[place] ?? -1
      if (entry < 0) return place
      let word = 0
      const from = entry * uidWords
      while (word < uidWords && words[from + word] === view.getInt32(position + word * 4, true)) word++
      if (word === uidWords) return place
      place = (place + 1) & mask
    }
  }

  /** Frees a place and moves up entries that were displaced by it, so that no search ends too early. */
  #close(free: number): void {
    const places = this.#places
    const mask = places.length - 1
    let hole = free
    for (let place = (hole + 1) & mask; (places[place] ?? -1) >= 0; place = (place + 1) & mask) {
      const home = this.#homeOf(places[place] ?? -1)
      if (((place - home) & mask) < ((place - hole) & mask)) continue
      places[hole] = places[place] ?? -1
      hole = place
    }
    places[hole] = -1
  }

  #homeOf(entry: number): number {
    let hash = 0
    for (let word = entry * uidWords; word < (entry + 1) * uidWords; word++) hash = mixed(hash, this.#words[word] ?? 0)
    return spread(hash) & (this.#places.length - 1)
  }

  #grow(): void {
    const before = this.#places
    this.#places = new Int32Array(before.length * 2).fill(-1)
    const words = new Int32Array(before.length * uidWords)
    words.set(this.#words)
    this.#words = words
    const mask = this.#places.length - 1
    for (const entry of before) {
      if (entry < 0) continue
      let place = this.#homeOf(entry)
      while ((this.#places[place] ?? -1) >= 0) place = (place + 1) & mask
      this.#places[place] = entry
    }
  }

  /** Made once per buffer: the watcher reads into the same buffers again and again. */
  #viewOf(bytes: Uint8Array): DataView {
    if (bytes !== this.#viewed) {
      this.#viewed = bytes
      this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    }
    return this.#view
  }
}

// Multiplying by an odd number is a permutation; the constants are those of MurmurHash3 (public domain).
const mixed = (hash: number, word: number): number => {
  const next = Math.imul(hash ^ word, 0xcc9e2d51 | 0)
  return (next << 15) | (next >>> 17)
}

const spread = (hash: number): number => {
  const next = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b | 0)
  return next ^ (next >>> 13)
}

const textOf = (bytes: Uint8Array, start: number, end: number): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString()
