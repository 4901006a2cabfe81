/**
 * Names and owners of objects of all kinds, in columns: 36 bytes an object, and its name and UID. Rows are only added, and numbered from 0 in the order in which
 * they were added.
 */

/** A row as it is added; who adds many may use one such object for all. */
export interface AddedObject {
  kind: number
  /** Within its kind. */
  number: number
  firstSequence: number
  /** Numbers that the caller gave the namespace and the owners. */
  namespace: number
  owners: number
  /** Bytes in which its UID and its name are, and where. */
  bytes: Buffer
  uidStart: number
  uidEnd: number
  nameStart: number
  nameEnd: number
}

/** FNV-1a, by which objects are found by UID. */
const hashBasis = 0x811c9dc5
const hashPrime = 0x01000193

export class ObjectColumns {
  count = 0
  kinds = new Uint16Array(0)
  numbers = new Uint32Array(0)
  firstSequences = new Float64Array(0)
  namespaces = new Uint32Array(0)
  owners = new Uint32Array(0)
  /** UIDs and names, one after the other, and where they end. */
  #texts = Buffer.alloc(0)
  #uidEnds = new Uint32Array(0)
  #nameEnds = new Uint32Array(0)
  /** By hash of the UID, rows counted from 1; 0: a free place. At most half of the places are taken. */
  #places = new Uint32Array(0)

  get bytes(): number {
    const columns = [this.kinds, this.numbers, this.firstSequences, this.namespaces, this.owners]
    const all = [...columns, this.#texts, this.#uidEnds, this.#nameEnds, this.#places]
    return all.reduce((sum, { byteLength }) => sum + byteLength, 0)
  }

  add(added: AddedObject): void {
    const row = this.count
    const start = row === 0 ? 0 : (this.#nameEnds[row - 1] as number)
    const uidEnd = start + added.uidEnd - added.uidStart
    const nameEnd = uidEnd + added.nameEnd - added.nameStart
    this.#reserve(row + 1, nameEnd)
    this.count++
    this.kinds[row] = added.kind
    this.numbers[row] = added.number
    this.firstSequences[row] = added.firstSequence
    this.namespaces[row] = added.namespace
    this.owners[row] = added.owners
    // For some 40 bytes a call of `copy` takes longer.
    for (let at = start, from = added.uidStart; at < uidEnd; at++) this.#texts[at] = added.bytes[from++] as number
    for (let at = uidEnd, from = added.nameStart; at < nameEnd; at++) this.#texts[at] = added.bytes[from++] as number
    this.#uidEnds[row] = uidEnd
    this.#nameEnds[row] = nameEnd
    this.#enter(row)
  }

  uidOf(row: number): string {
    return this.#texts.toString("utf8", row === 0 ? 0 : this.#nameEnds[row - 1], this.#uidEnds[row])
  }

  nameOf(row: number): string {
    return this.#texts.toString("utf8", this.#uidEnds[row], this.#nameEnds[row])
  }

  /** In no order. */
  *rowsWithUid(uid: string): Generator<number, void, void> {
    if (this.count === 0) return
    const bytes = Buffer.from(uid)
    const mask = this.#places.length - 1
    for (let place = hashOf(bytes, 0, bytes.length) & mask; ; place = (place + 1) & mask) {
      const row = (this.#places[place] as number) - 1
      if (row < 0) return
      if (this.uidOf(row) === uid) yield row
    }
  }

  #enter(row: number): void {
    const mask = this.#places.length - 1
    const start = row === 0 ? 0 : (this.#nameEnds[row - 1] as number)
    let place = hashOf(this.#texts, start, this.#uidEnds[row] as number) & mask
    while (this.#places[place] !== 0) place = (place + 1) & mask
    this.#places[place] = row + 1
  }

  #reserve(rows: number, textBytes: number): void {
    if (textBytes > this.#texts.length) {
      const texts = Buffer.alloc(Math.max(textBytes, 65_536, Math.ceil(this.#texts.length * growth)))
      this.#texts.copy(texts)
      this.#texts = texts
    }
    if (rows <= this.numbers.length) return
    const size = Math.max(rows, 1024, Math.ceil(this.numbers.length * growth))
    const grown = <Column extends Uint16Array | Uint32Array | Float64Array>(column: Column, larger: Column): Column => {
      larger.set(column)
      return larger
    }
    this.kinds = grown(this.kinds, new Uint16Array(size))
    this.numbers = grown(this.numbers, new Uint32Array(size))
    this.firstSequences = grown(this.firstSequences, new Float64Array(size))
    this.namespaces = grown(this.namespaces, new Uint32Array(size))
    this.owners = grown(this.owners, new Uint32Array(size))
    this.#uidEnds = grown(this.#uidEnds, new Uint32Array(size))
    this.#nameEnds = grown(this.#nameEnds, new Uint32Array(size))
    if (2 * size <= this.#places.length) return
    this.#places = new Uint32Array(2 ** Math.ceil(Math.log2(2 * size)))
    for (let row = 0; row < this.count; row++) this.#enter(row)
  }
}

/** By which columns grow that are full. */
const growth = 1.5

const hashOf = (bytes: Uint8Array, from: number, to: number): number => {
  let hash = hashBasis
  for (let at = from; at < to; at++) hash = Math.imul(hash ^ (bytes[at] as number), hashPrime) | 0
  // The low bits of the product depend on the low bits of the bytes alone.
  return hash ^ (hash >>> 15)
}
