/**
 * Which rows of a table that changes a copy lacks, without keeping anything for each row. Rows are in groups by a hash of their key. Of a group there is one
 * digest of the checksums of its rows, as they were when they were sent: if that is another one now, all rows of the group are sent.
 *
 * Guarantee: a row that changed is sent. Some are sent that did not change, which changes nothing in a copy: there are 65,536 groups, so it is one more where a
 * table has a hundred thousand rows. Digests have 32 bits, as the checksums have.
 *
 * Memory: 256 KiB for a table, and 512 KiB more while rows are being sent.
 */
import { crc32 } from "node:zlib"

const groups = 65_536

/** Of one table. `Value`: what its keys consist of. */
export class SentRows<Value> {
  readonly #sent = new Uint32Array(groups)
  #left: { readonly groups: Uint8Array; after: ReadonlyArray<Value> } | undefined

  /** The last row that was sent of those that a delta before had no room for; empty: none was. `undefined`: nothing is left of a comparison. */
  get after(): ReadonlyArray<Value> | undefined {
    return this.#left?.after
  }

  /** Looks at all rows: the checksum of each, and its key. Returns whether any are to be sent; these then count as sent, as they are now. */
  compare(rows: Iterable<ReadonlyArray<Value>>): boolean {
    const now = new Uint32Array(groups)
    for (const [checksum, ...key] of rows) {
      const group = groupOf(key)
      now[group] = (now[group] ?? 0) + scrambled(Number(checksum))
    }
    if (now.every((digest, group) => digest === this.#sent[group])) return false
    this.#left = { after: [], groups: Uint8Array.from(now, (digest, group) => (digest === this.#sent[group] ? 0 : 1)) }
    this.#sent.set(now)
    return true
  }

  /** Whether a row is to be sent since the last comparison. Rows come in the order of their keys. */
  isLeft(key: ReadonlyArray<Value>): boolean {
    return this.#left?.groups[groupOf(key)] === 1
  }

  /** All up to this row were sent. */
  sentThrough(key: ReadonlyArray<Value>): void {
    if (this.#left !== undefined) this.#left.after = key
  }

  /** All were sent that were to be. */
  end(): void {
    this.#left = undefined
  }
}

const groupOf = (key: ReadonlyArray<unknown>): number => crc32(key.join("\u001f")) % groups

/** CRCs of rows that change in the same way change by the same bits, so that their plain sum would sometimes stay. */
const scrambled = (checksum: number): number => {
  let bits = Math.imul(checksum ^ (checksum >>> 16), 0x85ebca6b)
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35)
  return bits ^ (bits >>> 16)
}
