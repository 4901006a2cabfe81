import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { type Slab, SlabPool, slabBytes } from "../../../src/runtime/mailbox/slab-pool.ts"

interface Standing {
  readonly slab: Slab
  readonly offset: number
  readonly length: number
  readonly filling: number
}

/** A pool, the frames in it, and the slabs that it has not released. */
const observed = () => {
  const slabs = new Map<number, Slab>()
  const pool = new SlabPool((slab) => {
    expect(slabs.delete(slab.id)).toBe(true)
  })
  const standing: Array<Standing> = []
  let filling = 0
  return {
    pool,
    standing,
    put(length: number): Standing {
      const slab = pool.withRoom(length)
      slabs.set(slab.id, slab)
      filling = (filling + 1) % 251
      const frame = { slab, offset: slab.used, length, filling }
      expect(slab.used + length).toBeLessThanOrEqual(slab.memory.byteLength)
      slab.bytes.fill(filling, slab.used, slab.used + length)
      pool.occupy(slab, length)
      standing.push(frame)
      return frame
    },
    acknowledge(index: number): void {
      const [frame] = standing.splice(index, 1)
      if (frame === undefined) return
      // The bytes that a frame was written with must still be there when it is released.
      const bytes = slabs.get(frame.slab.id)?.bytes.subarray(frame.offset, frame.offset + frame.length)
      expect(bytes?.equals(Buffer.alloc(frame.length, frame.filling))).toBe(true)
      pool.vacate(frame.slab)
    },
    get memory(): number {
      return [...slabs.values()].reduce((sum, { memory }) => sum + memory.byteLength, 0)
    },
    get unacknowledged(): number {
      return standing.reduce((sum, { length }) => sum + length, 0)
    },
    get slabCount(): number {
      return slabs.size
    },
  }
}

const lengths = fc.oneof(
  { weight: 5, arbitrary: fc.integer({ min: 16, max: 2000 }) },
  { weight: 3, arbitrary: fc.integer({ min: 2000, max: 100_000 }) },
  { weight: 1, arbitrary: fc.integer({ min: slabBytes - 20, max: slabBytes + 20 }) },
  { weight: 1, arbitrary: fc.integer({ min: slabBytes, max: 2 * slabBytes }) },
)

describe("the slabs of a sender", () => {
  test("sixteen frames of 16 KiB, and one of 256 KiB, fill a slab with their envelopes", () => {
    const { put } = observed()
    const first = put(16 * 1024 + 16)
    for (let count = 1; count < 16; count++) expect(put(16 * 1024 + 16).slab).toBe(first.slab)
    expect(put(256 * 1024 + 16).slab.memory.byteLength).toBe(slabBytes)
    expect(put(16).slab).not.toBe(first.slab)
  })

  test("frames start at multiples of 8, so that columns of 4 bytes can be read in place", () => {
    fc.assert(
      fc.property(fc.array(lengths, { maxLength: 12 }), (sizes) => {
        const { put } = observed()
        for (const size of sizes) expect(put(size).offset % 8).toBe(0)
      }),
      { numRuns: 30 },
    )
  })

  test("a slab is reused after its last frame is acknowledged, not before", () => {
    const pool = observed()
    const half = slabBytes / 2
    const first = pool.put(half)
    pool.put(half)
    expect(pool.put(half).slab).not.toBe(first.slab)
    pool.acknowledge(0)
    expect(pool.put(half).slab).not.toBe(first.slab)
    pool.acknowledge(0)
    expect(pool.put(half).slab).toBe(first.slab)
    expect(pool.slabCount).toBe(2)
  })

  test("a frame larger than a slab gets one of its own size, which is released with it even if nothing follows", () => {
    const pool = observed()
    const large = pool.put(3 * slabBytes)
    expect(large.slab.memory.byteLength).toBe(3 * slabBytes)
    pool.acknowledge(0)
    expect(pool.memory).toBe(0)
    expect(pool.put(100).slab.memory.byteLength).toBe(slabBytes)
  })

  test("after a burst, as many free slabs are kept as a mailbox may need; the others are released", () => {
    const pool = observed()
    for (let count = 0; count < 130; count++) pool.put(slabBytes)
    expect(pool.memory).toBe(130 * slabBytes)
    for (let count = 0; count < 130; count++) pool.acknowledge(0)
    expect(pool.memory).toBeLessThanOrEqual(97 * slabBytes)
    const kept = pool.slabCount
    for (let count = 0; count < 96; count++) pool.put(slabBytes)
    expect(pool.slabCount).toBe(kept)
  })

  test("memory being written stays in place when everything before it is acknowledged", () => {
    const { pool, put, acknowledge } = observed()
    put(1000)
    const slab = pool.withRoom(500)
    const mark = slab.used
    pool.hold(slab)
    acknowledge(0)
    expect(slab.used).toBe(mark)
    pool.vacate(slab)
    expect(slab.used).toBe(0)
  })

  test("unacknowledged frames never overlap, in whatever order acknowledgements arrive", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(lengths, fc.array(fc.nat(1000), { maxLength: 2 })), { maxLength: 40 }), (steps) => {
        const pool = observed()
        for (const [length, acknowledged] of steps) {
          pool.put(length)
          for (const choice of acknowledged) pool.acknowledge(choice % Math.max(1, pool.standing.length))
        }
        while (pool.standing.length > 0) pool.acknowledge(0)
      }),
      { numRuns: 60 },
    )
  })

  test("memory is at most twice the largest unacknowledged amount, plus six slabs, and free slabs are kept for reuse", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(lengths, fc.nat(3)), { minLength: 20, maxLength: 60 }), (steps) => {
        const pool = observed()
        let most = 0
        for (const [length, acknowledged] of steps) {
          pool.put(length)
          most = Math.max(most, pool.unacknowledged)
          for (let count = 0; count < acknowledged; count++) pool.acknowledge(0)
          expect(pool.memory).toBeLessThanOrEqual(2 * most + 6 * slabBytes)
        }
        const before = pool.memory
        while (pool.standing.length > 0) pool.acknowledge(0)
        expect(pool.memory).toBeLessThanOrEqual(before)
      }),
      { numRuns: 25 },
    )
  })
})
