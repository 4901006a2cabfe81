import { describe, expect, test } from "vitest"
import { unpackMargin } from "../../../src/archive/blocks/block.ts"
import type { BlockData } from "../../../src/archive/blocks/block-rows.ts"
import { WholeObjects } from "../../../src/archive/blocks/object-bytes.ts"
import { BlockCache, TableCache } from "../../../src/archive/blocks/stored-blocks.ts"

const blockBytes = 256 * 1024

interface TestBlock extends BlockData {
  readonly memory: ArrayBuffer
}

/** Events 10 · number to 10 · number + 9, with memory of its own, as unpacking returns it. */
const block = (number: number): TestBlock => {
  const memory = new ArrayBuffer(blockBytes + unpackMargin)
  return {
    ...{
      firstSequence: number * 10,
      lastSequence: number * 10 + 9,
      checksum: number,
      frames: [],
      pieces: undefined,
      fingerprintBytes: 0,
    },
    ...{ objects: new WholeObjects(Buffer.from(memory, 0, blockBytes)), memory },
  }
}

describe("a cache of blocks", () => {
  test("finds a block by any of its events", () => {
    const cache = new BlockCache(2 * blockBytes)
    const [first, second] = [block(1), block(2)]
    cache.keep(first)
    cache.keep(second)
    expect([10, 19, 20, 29].map((sequence) => cache.at(sequence))).toEqual([first, first, second, second])
    expect([9, 30].map((sequence) => cache.at(sequence))).toEqual([undefined, undefined])
  })

  test("evicts the block that was not used for longest, and frees its memory at once", () => {
    const cache = new BlockCache(2 * blockBytes)
    const [first, second, third] = [block(1), block(2), block(3)]
    cache.keep(first)
    cache.keep(second)
    cache.at(10)
    cache.keep(third)
    expect(cache.at(20)).toBeUndefined()
    expect([first, second, third].map(({ memory }) => memory.byteLength > 0)).toEqual([true, false, true])
  })

  test("drops what is beyond the limit once 64 events in a row were read from one block", () => {
    const cache = new BlockCache(0)
    const [first, second] = [block(1), block(2)]
    cache.keep(first)
    cache.keep(second)
    for (let read = 0; read < 63; read++) cache.at(20)
    expect(first.memory.byteLength).toBeGreaterThan(0)
    cache.at(20)
    expect([first, second].map(({ memory }) => memory.byteLength > 0)).toEqual([false, true])
  })

  test("keeps the block that was used last beside a new one, however little room there is", () => {
    const cache = new BlockCache(0)
    const [first, second, third] = [block(1), block(2), block(3)]
    cache.keep(first)
    cache.keep(second)
    expect(cache.at(10)).toBe(first)
    cache.keep(third)
    expect(cache.at(20)).toBeUndefined()
    expect(cache.at(10)).toBe(first)
  })

  test("replaces a part by the sealed block with the same last event", () => {
    const cache = new BlockCache(2 * blockBytes)
    const part = { ...block(1), firstSequence: 15 }
    const sealed = block(1)
    cache.keep(part)
    cache.keep(sealed)
    expect(cache.at(12)).toBe(sealed)
    expect(cache.at(17)).toBe(sealed)
    expect(part.memory.byteLength).toBe(0)
  })
})

test("a cache of tables keeps the last sixteen", () => {
  const cache = new TableCache()
  for (let number = 0; number < 17; number++) cache.keep(block(number))
  expect(cache.get(9)).toBeUndefined()
  expect(cache.get(19)?.checksum).toBe(1)
  expect(cache.get(169)?.checksum).toBe(16)
})
