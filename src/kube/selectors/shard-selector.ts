/**
 * Ranges of hashes that divide the objects of a kind among several readers, and the `shardSelector` by which API servers filter by them
 * (KEP-5866, alpha since Kubernetes 1.36): FNV-1a, 64 bits, of `metadata.uid` or `metadata.namespace`. Servers without the feature ignore the
 * parameter, so a reader has to filter too, by the same hash.
 */

/** What is hashed. Objects of cluster-scoped kinds have an empty namespace, and all the same hash of it. */
export type ShardField = "uid" | "namespace"

/** One of `count` equal parts of a kind's objects, `index` from 0. Plain data. */
export interface Shard {
  readonly index: number
  readonly count: number
  readonly by: ShardField
}

/** For people, and as `--shard` writes it. */
export const shardText = ({ index, count, by }: Shard): string => `shard ${index}/${count} by ${by}`

const end = 1n << 64n
const low = 0xffff_ffffn

/** The hashes from `start` to, but without, `end`. */
export class HashRange {
  readonly #startHigh: number
  readonly #startLow: number
  readonly #endHigh: number
  readonly #endLow: number

  constructor(start: bigint, end: bigint) {
    // The end of the last range is 2^64, whose upper half is beyond that of every hash.
    this.#startHigh = Number(start >> 32n)
    this.#startLow = Number(start & low)
    this.#endHigh = Number(end >> 32n)
    this.#endLow = Number(end & low)
  }

  /** Whether the hash of `bytes[start, end)` is in the range. The hot path: a UID takes half a µs, and nothing is allocated. */
  has(bytes: Uint8Array, start: number, end: number): boolean {
    let high = 0xcbf29ce4 | 0
    let low = 0x84222325 | 0
    for (let at = start; at < end; at++) {
      low ^= bytes[at] ?? 0
      // Times the prime 2^40 + 0x1b3. Of the lower half 16 bits at a time, so that all numbers are small integers.
      const lowest = (low & 0xffff) * 0x1b3
      const next = (low >>> 16) * 0x1b3 + (lowest >>> 16)
      high = (Math.imul(high, 0x1b3) + (next >>> 16) + (low << 8)) | 0
      low = (next << 16) | (lowest & 0xffff)
    }
    high >>>= 0
    low >>>= 0
    const isFromStart = high > this.#startHigh || (high === this.#startHigh && low >= this.#startLow)
    return isFromStart && (high < this.#endHigh || (high === this.#endHigh && low < this.#endLow))
  }
}

/** The end of a shard is the start of the next, so that every hash is in exactly one. */
const bound = (index: number, count: number): bigint => (end * BigInt(index)) / BigInt(count)

export const rangeOfShard = ({ index, count }: Omit<Shard, "by">): HashRange =>
  new HashRange(bound(index, count), bound(index + 1, count))

/** As a query parameter of lists and watches. */
export const shardSelectorOf = ({ index, count, by }: Shard): string =>
  `shardRange(object.metadata.${by},'${hex(bound(index, count))}','${hex(bound(index + 1, count))}')`

const hex = (value: bigint): string => `0x${value.toString(16).padStart(16, "0")}`

/** What a server makes of the parameter. */
export interface ShardSelector {
  readonly by: ShardField
  readonly ranges: ReadonlyArray<HashRange>
}

const bounds = "'(0x[0-9a-f]{16}|0x10000000000000000)'"
const rangePattern = new RegExp(`^shardRange\\(object\\.metadata\\.(uid|namespace),${bounds},${bounds}\\)$`, "i")

/** Reads a selector as the API server does: ranges of one field, joined by `||`. */
export const parseShardSelector = (text: string): ShardSelector | { readonly problem: string } => {
  const ranges: HashRange[] = []
  let by: ShardField | undefined
  for (const term of text.replace(/\s/g, "").split("||")) {
    const [, field, from = "", to = ""] = rangePattern.exec(term) ?? []
    if (field === undefined || BigInt(from) >= BigInt(to))
      return { problem: `${JSON.stringify(term)} is no shardRange` }
    if (by !== undefined && by !== field) return { problem: "all ranges must be of one field" }
    by = field as ShardField
    ranges.push(new HashRange(BigInt(from), BigInt(to)))
  }
  return { by: by as ShardField, ranges }
}

/**
 * The one of `count` shards to which a name belongs, such as that of a kind. Rendezvous hashing with a final mix, so that the shards are even for
 * few names that are alike.
 */
export const shardOfName = (name: string, count: number): number => {
  let best = 0
  let most = -1n
  for (let index = 0; index < count; index++) {
    const weight = mixed(fnv1a64(`${name}#${index}`))
    if (weight > most) [best, most] = [index, weight]
  }
  return best
}

const fnv1a64 = (text: string): bigint =>
  Buffer.from(text).reduce(
    (hash, byte) => BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n),
    0xcbf29ce484222325n,
  )

/** The end of MurmurHash3: each bit of the result depends on each of the hash. */
const mixed = (hash: bigint): bigint => {
  const once = BigInt.asUintN(64, (hash ^ (hash >> 33n)) * 0xff51afd7ed558ccdn)
  const twice = BigInt.asUintN(64, (once ^ (once >> 33n)) * 0xc4ceb9fe1a85ec53n)
  return twice ^ (twice >> 33n)
}
