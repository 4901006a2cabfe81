/** Hashes, ranges and the grammar of `shardSelector` (KEP-5866). */
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import {
  HashRange,
  parseShardSelector,
  rangeOfShard,
  shardOfName,
  shardSelectorOf,
} from "../../../src/kube/selectors/shard-selector.ts"

/** As the definition says it. */
const fnv1a64 = (text: string): bigint => {
  let hash = 0xcbf29ce484222325n
  for (const byte of Buffer.from(text)) hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n)
  return hash
}

const has = (range: HashRange, text: string): boolean => {
  const bytes = Buffer.from(`"${text}"`)
  return range.has(bytes, 1, bytes.length - 1)
}

describe("ranges of hashes", () => {
  // From the reference implementation's test suite (draft-eastlake-fnv).
  test.each([
    ["", 0xcbf29ce484222325n],
    ["a", 0xaf63dc4c8601ec8cn],
    ["b", 0xaf63df4c8601f1a5n],
    ["foobar", 0x85944171f73967e8n],
    ["chongo was here!\n", 0x46810940eff5f915n],
  ])("the hash of %j is that of FNV-1a, 64 bits", (text, hash) => {
    expect(fnv1a64(text)).toBe(hash)
    expect(has(new HashRange(hash, hash + 1n), text)).toBe(true)
    expect(has(new HashRange(0n, hash), text)).toBe(false)
    expect(has(new HashRange(hash + 1n, 1n << 64n), text)).toBe(false)
  })

  test("every text is in exactly one of N ranges: that of its hash", () => {
    const texts = fc.oneof(fc.uuid(), fc.string({ unit: "binary" }))
    fc.assert(
      fc.property(texts, fc.integer({ min: 1, max: 40 }), (text, count) => {
        const holders = Array.from({ length: count }, (_, index) => index).filter((index) =>
          has(rangeOfShard({ index, count }), text),
        )
        const hash = fnv1a64(text)
        expect(holders).toHaveLength(1)
        const [index = -1] = holders
        expect(hash >= ((1n << 64n) * BigInt(index)) / BigInt(count)).toBe(true)
        expect(hash < ((1n << 64n) * BigInt(index + 1)) / BigInt(count)).toBe(true)
      }),
    )
  })
})

describe("shardSelector", () => {
  test("of four shards is the KEP's", () => {
    expect([0, 1, 2, 3].map((index) => shardSelectorOf({ index, count: 4, by: "uid" }))).toEqual([
      "shardRange(object.metadata.uid,'0x0000000000000000','0x4000000000000000')",
      "shardRange(object.metadata.uid,'0x4000000000000000','0x8000000000000000')",
      "shardRange(object.metadata.uid,'0x8000000000000000','0xc000000000000000')",
      "shardRange(object.metadata.uid,'0xc000000000000000','0x10000000000000000')",
    ])
  })

  test("is read as the same ranges", () => {
    const shards = fc
      .integer({ min: 1, max: 1000 })
      .chain((count) => fc.record({ index: fc.nat(count - 1), count: fc.constant(count) }))
    fc.assert(
      fc.property(shards, fc.constantFrom("uid" as const, "namespace" as const), fc.uuid(), (shard, by, text) => {
        const read = parseShardSelector(shardSelectorOf({ ...shard, by }))
        if ("problem" in read) throw new Error(read.problem)
        expect(read.by).toBe(by)
        expect(read.ranges.map((range) => has(range, text))).toEqual([has(rangeOfShard(shard), text)])
      }),
    )
  })

  // The cases of the API server's own parser test.
  test.each([
    "shardRange(object.metadata.uid, '0x0000000000000000', '0x10000000000000000')",
    "  shardRange( object.metadata.uid ,  '0x0000000000000000' ,  '0x8000000000000000' )  ",
    "shardRange(object.metadata.uid, '0x0000000000000000', '0x0000000000000005') || shardRange(object.metadata.uid, '0x0000000000000005', '0x000000000000000a')",
  ])("%s is accepted", (text) => {
    expect(parseShardSelector(text)).toHaveProperty("ranges")
  })

  test.each([
    "",
    "shardRange(object.metadata.uid, '0000000000000000', '0x8000000000000000')",
    "shardRange(object.metadata.uid, '0x', '0x8000000000000000')",
    "shardRange(object.metadata.name, '0x0000000000000000', '0x8000000000000000')",
    "shardRange(object.metadata.uid, '0x000000000000000000', '0x8000000000000000')",
    "shardRange(object.metadata.uid, '0x0000000000000000', '0xff')",
    "shardRange(object.metadata.uid, 0, 8)",
    "shardRange(object.metadata.uid, '0x8000000000000000', '0x8000000000000000')",
    "shardRange(object.metadata.uid, '0xffffffffffffffff', '0x0000000000000000')",
    "shardRange(object.metadata.uid, '0x0000000000000000', '0x8000000000000000') && shardRange(object.metadata.uid, '0x8000000000000000', '0x10000000000000000')",
    "shardRange(object.metadata.uid, '0x0000000000000000', '0x8000000000000000') || shardRange(object.metadata.namespace, '0x8000000000000000', '0x10000000000000000')",
  ])("%s is refused", (text) => {
    expect(parseShardSelector(text)).toHaveProperty("problem")
  })
})

describe("shards of names", () => {
  const names = Array.from({ length: 1000 }, (_, index) => `group-${index % 50}.example.com/Kind${index}`)

  test("are even, and one more shard takes only its part", () => {
    const before = names.map((name) => shardOfName(name, 4))
    for (const shard of [0, 1, 2, 3]) {
      const share = before.filter((each) => each === shard).length / names.length
      expect(share).toBeGreaterThan(0.2)
      expect(share).toBeLessThan(0.3)
    }
    const moved = names.filter((name, index) => shardOfName(name, 5) !== before[index])
    expect(moved.every((name) => shardOfName(name, 5) === 4)).toBe(true)
    expect(moved.length / names.length).toBeCloseTo(0.2, 1)
  })

  test("stay the same from release to release: recordings depend on them", () => {
    const kinds = ["/Pod", "/Event", "apps/Deployment", "apps/ReplicaSet", "batch/Job"]
    expect(kinds.map((kind) => shardOfName(kind, 4))).toEqual([1, 1, 2, 0, 1])
  })
})
