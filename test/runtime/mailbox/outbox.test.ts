import { MessageChannel, type MessagePort, receiveMessageOnPort } from "node:worker_threads"
import fc from "fast-check"
import { afterEach, describe, expect, test } from "vitest"
import { encodeAcknowledgement, type Frame, readEnvelope } from "../../../src/runtime/mailbox/envelope.ts"
import { type DataMessage, minimumCharge, Outbox, type OutboxOptions } from "../../../src/runtime/mailbox/outbox.ts"
import { slabBytes } from "../../../src/runtime/mailbox/slab-pool.ts"
import { ManualClock } from "../manual-clock.ts"
import { until } from "../until.ts"

const ports: Array<MessagePort> = []
afterEach(() => {
  for (const port of ports.splice(0)) port.close()
})

/** The other end of an outbox: receives posted frames, and acknowledges them, when the test says so. */
class Receiver {
  readonly #port: MessagePort
  readonly #slabs = new Map<number, Buffer>()
  readonly #incarnation: number

  constructor(outbox: Outbox, incarnation = outbox.incarnation) {
    const { port1, port2 } = new MessageChannel()
    ports.push(port1, port2)
    this.#port = port2
    this.#incarnation = incarnation
    outbox.attach(port1)
  }

  /** The frames posted since the last call. */
  take(): ReadonlyArray<Frame> {
    const frames: Array<Frame> = []
    for (let next = receiveMessageOnPort(this.#port); next !== undefined; next = receiveMessageOnPort(this.#port)) {
      const message = next.message as DataMessage
      if ("memory" in message) {
        expect(this.#slabs.has(message.slab)).toBe(false)
        this.#slabs.set(message.slab, Buffer.from(message.memory))
      } else if ("gone" in message) expect(this.#slabs.delete(message.slab)).toBe(true)
      else if ("end" in message) throw new Error("only streams end")
      else {
        const { slab, offset, length } = message
        frames.push(readEnvelope(this.#slabs.get(slab)?.subarray(offset, offset + length) as Buffer))
      }
    }
    return frames
  }

  takeNumbers(): ReadonlyArray<number> {
    return this.take().map(({ number }) => number)
  }

  close(): void {
    this.#port.close()
  }

  get slabs(): number {
    return this.#slabs.size
  }

  acknowledge(number: number, incarnation = this.#incarnation): void {
    this.#port.postMessage(encodeAcknowledgement({ incarnation, number }))
  }
}

const now = new ManualClock()
const outboxOf = (options: Partial<OutboxOptions> = {}): Outbox =>
  new Outbox("numbers", 7, { now: () => now.monotonicMs(), ...options })

/** A payload whose frame counts exactly `charge` bytes. */
const charging = (charge: number): Uint8Array => new Uint8Array(charge - 16)

const kib = 1024

describe("an outbox", () => {
  test("numbers its frames from 1 and sends payloads that were written in place", () => {
    const outbox = outboxOf()
    const receiver = new Receiver(outbox)
    outbox.reserve(4).write("abcd")
    expect(outbox.commit(4)).toBe(1)
    expect(outbox.send(Buffer.from("efg"))).toBe(2)
    const frames = receiver.take()
    expect(frames.map(({ incarnation, number }) => [incarnation, number])).toEqual([
      [7, 1],
      [7, 2],
    ])
    expect(frames.map(({ payload }) => Buffer.from(payload).toString())).toEqual(["abcd", "efg"])
  })

  test("keeps frames until a receiver is linked, and then sends them in order", () => {
    const outbox = outboxOf()
    for (let count = 0; count < 3; count++) outbox.send(charging(kib))
    expect(outbox.metrics()).toMatchObject({ waitingFrames: 3, waitingBytes: 3 * kib, unacknowledgedFrames: 0 })
    expect(new Receiver(outbox).takeNumbers()).toEqual([1, 2, 3])
  })

  test("sends nothing more once its window is full, and continues as acknowledgements arrive", async () => {
    const outbox = outboxOf({ windowBytes: 3 * kib })
    const receiver = new Receiver(outbox)
    for (let count = 0; count < 7; count++) outbox.send(charging(kib))
    expect(receiver.takeNumbers()).toEqual([1, 2, 3])
    expect(outbox.metrics()).toMatchObject({ unacknowledgedBytes: 3 * kib, waitingFrames: 4, waitingBytes: 4 * kib })
    receiver.acknowledge(2)
    await until(() => outbox.metrics().unacknowledgedFrames + outbox.metrics().waitingFrames === 5)
    expect(receiver.takeNumbers()).toEqual([4, 5])
  })

  test("lets one frame pass that is larger than the rest of the window", () => {
    const outbox = outboxOf({ windowBytes: 4 * kib })
    const receiver = new Receiver(outbox)
    outbox.send(charging(3 * kib))
    outbox.send(charging(slabBytes + kib))
    outbox.send(charging(kib))
    expect(receiver.takeNumbers()).toEqual([1, 2])
    expect(outbox.metrics().waitingFrames).toBe(1)
  })

  test("counts the smallest frame at its real cost, so that a window cannot hold millions of them", () => {
    const outbox = outboxOf({ windowBytes: 10 * minimumCharge })
    const receiver = new Receiver(outbox)
    for (let count = 0; count < 100; count++) outbox.send(new Uint8Array(0))
    expect(receiver.takeNumbers()).toHaveLength(10)
    expect(outbox.metrics()).toMatchObject({ unacknowledgedBytes: 10 * minimumCharge, sentBytes: 10 * 16 })
  })

  test("is writable until window and buffer are full, and calls its listener exactly once per blockage", async () => {
    const outbox = outboxOf({ windowBytes: 2 * kib, bufferBytes: 3 * kib })
    const receiver = new Receiver(outbox)
    let calls = 0
    outbox.onWritable(() => calls++)
    for (let count = 0; count < 5; count++) {
      expect(outbox.isWritable).toBe(true)
      outbox.send(charging(kib))
    }
    expect(outbox.isWritable).toBe(false)
    expect(outbox.isWritable).toBe(false)
    for (let number = 1; number <= 5; number++) receiver.acknowledge(number)
    await outbox.flushed()
    expect(calls).toBe(1)
    expect(outbox.isWritable).toBe(true)

    for (let count = 0; count < 5; count++) outbox.send(charging(kib))
    expect(outbox.isWritable).toBe(false)
    receiver.acknowledge(10)
    await outbox.flushed()
    expect(calls).toBe(2)
  })

  test("does not call its listener if isWritable was never false", async () => {
    const outbox = outboxOf({ windowBytes: kib, bufferBytes: kib })
    const receiver = new Receiver(outbox)
    let calls = 0
    outbox.onWritable(() => calls++)
    for (let count = 0; count < 4; count++) outbox.send(charging(kib))
    for (let number = 1; number <= 4; number++) receiver.acknowledge(number)
    await outbox.flushed()
    expect(calls).toBe(0)
  })

  test("a listener that fills the outbox again is called again after the next blockage", async () => {
    const outbox = outboxOf({ windowBytes: kib, bufferBytes: kib })
    const receiver = new Receiver(outbox)
    let calls = 0
    const fill = (): void => {
      while (outbox.isWritable) outbox.send(charging(kib))
    }
    outbox.onWritable(() => {
      calls++
      if (calls < 5) fill()
    })
    fill()
    for (let number = 1; calls < 5; number++) {
      receiver.acknowledge(number)
      await until(() => calls === number)
    }
    expect(outbox.metrics()).toMatchObject({ unacknowledgedFrames: 1, waitingFrames: 0 })
  })

  test("sends unacknowledged frames to a new receiver again, oldest first and within the window", async () => {
    const outbox = outboxOf({ windowBytes: 3 * kib })
    const first = new Receiver(outbox)
    for (let count = 0; count < 6; count++) outbox.send(charging(kib))
    first.acknowledge(1)
    await until(() => outbox.metrics().waitingFrames === 2)
    expect(first.takeNumbers()).toEqual([1, 2, 3, 4])

    const second = new Receiver(outbox)
    expect(second.takeNumbers()).toEqual([2, 3, 4])
    expect(outbox.metrics()).toMatchObject({ redeliveredFrames: 3, unacknowledgedFrames: 3, waitingFrames: 2 })
    second.acknowledge(6)
    await outbox.flushed()
    expect(outbox.metrics()).toMatchObject({ unacknowledgedBytes: 0, waitingBytes: 0, unacknowledgedFrames: 0 })
  })

  test("accepts acknowledgements of frames that it has not sent to the new receiver yet", async () => {
    const outbox = outboxOf({ windowBytes: kib })
    for (let count = 0; count < 4; count++) outbox.send(charging(kib))
    const receiver = new Receiver(outbox)
    expect(receiver.takeNumbers()).toEqual([1])
    receiver.acknowledge(3)
    await until(() => outbox.metrics().waitingFrames === 0)
    expect(receiver.takeNumbers()).toEqual([4])
    expect(outbox.metrics()).toMatchObject({ unacknowledgedFrames: 1, unacknowledgedBytes: kib, waitingBytes: 0 })
  })

  test("ignores acknowledgements for another incarnation and from a replaced receiver", async () => {
    const outbox = outboxOf()
    const replaced = new Receiver(outbox)
    const receiver = new Receiver(outbox)
    for (let count = 0; count < 3; count++) outbox.send(charging(kib))
    replaced.acknowledge(3)
    receiver.acknowledge(3, outbox.incarnation - 1)
    receiver.acknowledge(1)
    await until(() => outbox.metrics().unacknowledgedFrames < 3)
    expect(outbox.metrics().unacknowledgedFrames).toBe(2)
  })

  test("without a receiver, frames wait, and the next receiver gets them", () => {
    const outbox = outboxOf()
    new Receiver(outbox)
    outbox.send(charging(kib))
    outbox.detach()
    outbox.send(charging(kib))
    expect(new Receiver(outbox).takeNumbers()).toEqual([1, 2])
  })

  test("when its receiver is gone, frames wait and are not counted as sent", async () => {
    const outbox = outboxOf()
    const receiver = new Receiver(outbox)
    outbox.send(charging(kib))
    receiver.close()
    await until(() => {
      outbox.send(charging(kib))
      return outbox.metrics().waitingFrames > 0
    })
    const { sentFrames, unacknowledgedFrames } = outbox.metrics()
    expect(sentFrames).toBe(unacknowledgedFrames)
    now.advance(20)
    expect(outbox.metrics().stalledMs).toBe(20)
    new Receiver(outbox)
    expect(outbox.metrics()).toMatchObject({ redeliveredFrames: sentFrames, waitingFrames: 0 })
  })

  test("flushed waits for frames committed earlier, not for later ones", async () => {
    const outbox = outboxOf()
    const receiver = new Receiver(outbox)
    await outbox.flushed()
    outbox.send(charging(kib))
    outbox.send(charging(kib))
    const flushed = outbox.flushed()
    outbox.send(charging(kib))
    receiver.acknowledge(2)
    await flushed
    expect(outbox.metrics().unacknowledgedFrames).toBe(1)
  })

  test("a frame being written when everything before it is acknowledged arrives intact", async () => {
    const outbox = outboxOf()
    const receiver = new Receiver(outbox)
    outbox.send(Buffer.from("before"))
    const memory = outbox.reserve(100)
    memory.write("written slowly")
    receiver.acknowledge(1)
    await outbox.flushed()
    outbox.commit("written slowly".length)
    expect(receiver.take().map(({ payload }) => Buffer.from(payload).toString())).toContain("written slowly")
  })

  test("memory that was reserved and never committed is released by the next reservation", async () => {
    const outbox = outboxOf()
    const receiver = new Receiver(outbox)
    for (let count = 1; count <= 1000; count++) {
      outbox.reserve(slabBytes / 2)
      outbox.reserve(slabBytes + count)
      outbox.send(charging(slabBytes / 2))
      receiver.acknowledge(count)
      await outbox.flushed()
    }
    receiver.take()
    expect(receiver.slabs).toBeLessThanOrEqual(5)
  })

  test("rejects a commit without memory, or of more than was reserved", () => {
    const outbox = outboxOf()
    expect(() => outbox.commit(1)).toThrow("mailbox numbers: commit without reserve")
    outbox.reserve(10)
    expect(() => outbox.commit(slabBytes)).toThrow(RangeError)
    expect(outbox.commit(10)).toBe(1)
  })

  test("stalled time grows only while frames wait for credit", async () => {
    const outbox = outboxOf({ windowBytes: 2 * kib })
    const receiver = new Receiver(outbox)
    outbox.send(charging(kib))
    outbox.send(charging(kib))
    now.advance(1000)
    expect(outbox.metrics().stalledMs).toBe(0)
    outbox.send(charging(kib))
    now.advance(30)
    expect(outbox.metrics().stalledMs).toBe(30)
    now.advance(12)
    expect(outbox.metrics().stalledMs).toBe(42)
    receiver.acknowledge(1)
    await until(() => outbox.metrics().waitingFrames === 0)
    now.advance(1000)
    expect(outbox.metrics().stalledMs).toBe(42)
    outbox.send(charging(kib))
    now.advance(8)
    expect(outbox.metrics().stalledMs).toBe(50)
  })

  test("every receiver gets every frame it has not acknowledged, intact and in order, whatever happens", async () => {
    const step = fc.oneof(
      fc.record({ type: fc.constant("send" as const), length: fc.nat(3000) }),
      fc.record({ type: fc.constant("large" as const), length: fc.integer({ min: 60_000, max: slabBytes + 1000 }) }),
      fc.record({ type: fc.constant("acknowledge" as const), share: fc.double({ min: 0, max: 1, noNaN: true }) }),
      fc.record({ type: fc.constant("replace" as const) }),
    )
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        const outbox = outboxOf({ windowBytes: 20_000 })
        let receiver = new Receiver(outbox)
        let sent = 0
        let acknowledged = 0
        // The memory of frames that are with the receiver is read repeatedly until they are acknowledged.
        let present: Array<Frame> = []
        const look = (): void => {
          present.push(...receiver.take())
          for (const [index, { number, payload }] of present.entries()) {
            expect(number).toBe(acknowledged + 1 + index)
            expect(payload.every((byte) => byte === number % 256)).toBe(true)
          }
        }
        for (const next of steps) {
          if (next.type === "replace") {
            present = []
            receiver = new Receiver(outbox)
          } else if (next.type === "acknowledge") {
            const count = Math.round(next.share * present.length)
            if (count === 0) continue
            acknowledged += count
            present = present.slice(count)
            receiver.acknowledge(acknowledged)
            await until(
              () => outbox.metrics().unacknowledgedFrames + outbox.metrics().waitingFrames === sent - acknowledged,
            )
          } else {
            sent++
            const written = outbox.reserve(next.length)
            written.fill(sent % 256, 0, next.length)
            outbox.commit(next.length)
          }
          look()
        }
        while (acknowledged < sent) {
          acknowledged += present.length
          present = []
          receiver.acknowledge(acknowledged)
          await until(
            () => outbox.metrics().unacknowledgedFrames + outbox.metrics().waitingFrames === sent - acknowledged,
          )
          look()
        }
        for (const port of ports.splice(0)) port.close()
      }),
      { numRuns: 60 },
    )
  })
})
