import fc from "fast-check"
import { describe, expect, test } from "vitest"
import type { StoreAddress } from "../../../src/blob/addresses/target-address.ts"
import { PartWriter, targetDeadlines } from "../../../src/blob/objects/part-writer.ts"
import type { Part, PartSink } from "../../../src/blob/providers/provider.ts"
import { ManualClock } from "../../runtime/manual-clock.ts"

const address: StoreAddress = { provider: "s3", host: undefined, region: undefined, bucket: "traces", key: "a" }

/** A store in memory whose responses the test controls. */
class MemorySink implements PartSink {
  readonly partBytes: number
  readonly parallel: number
  maximumParts = 10_000
  readonly stored = new Map<number, Buffer>()
  readonly held: Array<{ readonly part: Part; readonly resolve: () => void; readonly reject: (cause: Error) => void }> =
    []
  mostHeld = 0
  object: Buffer | undefined
  lasts: number[] = []
  discards = 0
  closed = 0
  /** The test gives responses, instead of at once. */
  hold = false
  failCommit: Error | undefined

  constructor(partBytes: number, parallel: number) {
    this.partBytes = partBytes
    this.parallel = parallel
  }

  async put(part: Part): Promise<void> {
    if (part.last) this.lasts.push(part.number)
    await new Promise<void>((resolve, reject) => {
      this.held.push({ part, resolve, reject })
      this.mostHeld = Math.max(this.mostHeld, this.held.length)
      if (!this.hold) queueMicrotask(() => this.answer())
    })
    // Read as late as allowed: a buffer that is reused too early is detected here.
    this.stored.set(part.number, Buffer.from(part.bytes))
  }

  /** Completes one of the parts under way. */
  answer(which = 0): void {
    this.held.splice(which, 1)[0]?.resolve()
  }

  async commit(): Promise<void> {
    if (this.failCommit !== undefined) throw this.failCommit
    const parts = [...this.stored].sort(([left], [right]) => left - right)
    this.object = Buffer.concat(parts.map(([, bytes]) => bytes))
  }

  async discard(): Promise<void> {
    this.discards++
    this.stored.clear()
  }

  close(): void {
    this.closed++
  }
}

const writing = (sink: PartSink, clock = new ManualClock()): PartWriter => new PartWriter(address, sink, clock)

const settled = async (): Promise<void> => {
  await new Promise<void>((resolve) => setImmediate(resolve))
}

describe("an object written in parts", () => {
  test("has the bytes that were written, in parts of one size, whatever the pieces and the order of responses", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 30 }),
        fc.integer({ min: 1, max: 16 }),
        fc.integer({ min: 1, max: 3 }),
        fc.infiniteStream(fc.nat({ max: 2 })),
        async (pieces, partBytes, parallel, order) => {
          const sink = new MemorySink(partBytes, parallel)
          sink.hold = true
          const target = writing(sink)
          let over = false
          const answering = (async () => {
            while (!over) {
              await settled()
              sink.answer((order.next().value ?? 0) % Math.max(1, sink.held.length))
            }
          })()
          for (const piece of pieces) {
            const mine = Uint8Array.from(piece)
            await target.write(mine)
            // The memory belongs to the caller again.
            mine.fill(0)
          }
          const written = await target.finish()
          over = true
          await answering
          const whole = Buffer.concat(pieces)
          expect(sink.object).toEqual(whole)
          expect(written).toEqual({ location: "s3://traces/a", bytes: whole.length })
          const sizes = [...sink.stored].sort(([left], [right]) => left - right).map(([, bytes]) => bytes.length)
          expect(sizes.slice(0, -1).every((size) => size === partBytes)).toBe(true)
          expect(sink.lasts).toEqual([sizes.length])
          expect(sink.mostHeld).toBeLessThanOrEqual(parallel)
          expect([sink.discards, sink.closed]).toEqual([0, 1])
        },
      ),
      { numRuns: 60 },
    )
  })

  test("accepts no more than fits while the store accepts nothing", async () => {
    const sink = new MemorySink(10, 2)
    sink.hold = true
    const target = writing(sink)
    await target.write(Buffer.alloc(30))
    let taken = false
    const more = target.write(Buffer.alloc(1)).then(() => {
      taken = true
    })
    await settled()
    expect([sink.held.length, taken]).toEqual([2, false])
    sink.answer()
    await more
    expect(taken).toBe(true)
    sink.hold = false
    for (const _ of [1, 2]) sink.answer()
    await target.finish()
    expect(sink.object?.length).toBe(31)
  })

  test("ends with the first failure, for waiting and for later writes", async () => {
    const sink = new MemorySink(4, 1)
    sink.hold = true
    const target = writing(sink)
    const writes = target.write(Buffer.alloc(12))
    await settled()
    const cause = Object.assign(new Error("Access Denied"), {
      name: "AccessDenied",
      $metadata: { httpStatusCode: 403 },
    })
    sink.held[0]?.reject(cause)
    const expected = {
      _tag: "TargetError",
      provider: "s3",
      bucket: "traces",
      key: "a",
      code: "denied",
      reason: "AccessDenied: Access Denied",
    }
    await expect(writes).rejects.toMatchObject(expected)
    await expect(target.write(Buffer.alloc(1))).rejects.toMatchObject(expected)
    await expect(target.finish()).rejects.toMatchObject(expected)
    expect(sink.object).toBeUndefined()
    await target.abort("the export failed")
    expect([sink.discards, sink.closed]).toEqual([1, 1])
  })

  test("that the store does not respond for fails at its deadline", async () => {
    const sink = new MemorySink(4, 1)
    sink.hold = true
    const clock = new ManualClock()
    const target = writing(sink, clock)
    const writes = target.write(Buffer.alloc(12))
    await settled()
    clock.advance(targetDeadlines.partMs)
    await expect(writes).rejects.toMatchObject({ code: "deadline", reason: "part 1 took longer than 120 s" })
  })

  test("that is aborted is discarded once its parts under way have ended or had time to arrive", async () => {
    for (const isAnswered of [true, false]) {
      const sink = new MemorySink(4, 2)
      sink.hold = true
      const clock = new ManualClock()
      const target = writing(sink, clock)
      const writes = target.write(Buffer.alloc(13))
      writes.catch(() => undefined)
      await settled()
      const aborting = target.abort("the client went away")
      await settled()
      expect([sink.held.length, sink.discards]).toEqual([2, 0])
      if (isAnswered) for (const _ of [1, 2]) sink.answer()
      else clock.advance(2000)
      await aborting
      expect([sink.discards, sink.stored.size]).toEqual([1, 0])
      expect(clock.pending).toBe(0)
    }
  })

  test("that is aborted while parts are under way is discarded after them, once", async () => {
    const sink = new MemorySink(4, 2)
    sink.hold = true
    const clock = new ManualClock()
    const target = writing(sink, clock)
    const writes = target.write(Buffer.alloc(13))
    await settled()
    const aborting = Promise.all([target.abort("the client went away"), target.abort("again")])
    clock.advance(2000)
    await aborting
    await expect(writes).rejects.toMatchObject({ code: "aborted", reason: "the client went away" })
    await expect(target.finish()).rejects.toMatchObject({ code: "aborted" })
    expect([sink.discards, sink.closed, sink.object]).toEqual([1, 1, undefined])
  })

  test("that is complete stays, even if it is aborted afterwards", async () => {
    const sink = new MemorySink(4, 2)
    const target = writing(sink)
    await target.write(Buffer.from("abc"))
    await target.finish()
    await target.abort("too late")
    expect([sink.discards, sink.object?.toString()]).toEqual([0, "abc"])
    await expect(target.write(Buffer.from("d"))).rejects.toMatchObject({ code: "failed" })
  })

  test("whose parts cannot be removed reports that", async () => {
    const sink = new MemorySink(4, 2)
    sink.discard = async () => {
      throw Object.assign(new Error("connect ECONNREFUSED 127.0.0.1:9"), { code: "ECONNREFUSED" })
    }
    const target = writing(sink)
    await target.write(Buffer.alloc(9))
    await expect(target.abort("enough")).rejects.toMatchObject({
      code: "unreachable",
      reason: expect.stringContaining("parts of it may remain in the store: connect ECONNREFUSED"),
    })
    expect(sink.closed).toBe(1)
  })

  test("that is larger than the store's parts allow fails and can be discarded", async () => {
    const sink = new MemorySink(4, 2)
    sink.maximumParts = 3
    const target = writing(sink)
    await expect(target.write(Buffer.alloc(17))).rejects.toMatchObject({ code: "too-large" })
    await target.abort("too large")
    expect(sink.discards).toBe(1)
  })

  test("that cannot be completed is an error, and can still be discarded", async () => {
    const sink = new MemorySink(4, 2)
    sink.failCommit = new Error("slow down")
    const target = writing(sink)
    await target.write(Buffer.alloc(5))
    await expect(target.finish()).rejects.toMatchObject({ code: "failed", reason: "slow down" })
    await target.abort("it failed")
    expect(sink.discards).toBe(1)
  })
})
