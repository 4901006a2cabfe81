/** Both ends of a stream over one channel: order, back-pressure, the end, and every kind of interruption. */
import { MessageChannel } from "node:worker_threads"
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { OpenStreams } from "../../src/runtime/actor-host.ts"
import { IncomingStream, type StreamReceiver } from "../../src/runtime/stream.ts"
import { turn, until } from "./until.ts"

const windowBytes = 4096

/** A receiver that records what it got; `use` resolves when a frame is used. */
const connect = (use: (payload: Uint8Array) => Promise<void> = async () => undefined) => {
  const { port1, port2 } = new MessageChannel()
  const frames: Buffer[] = []
  const ends: Array<string | undefined> = []
  const notes: string[] = []
  const receiver: StreamReceiver = {
    frame: async (payload) => {
      await use(payload)
      frames.push(Buffer.from(payload))
    },
    end: (error, note) => {
      ends.push(error)
      notes.push(note)
    },
  }
  let closed = 0
  const incoming = new IncomingStream("answer", port1, receiver, () => closed++)
  const streams = new OpenStreams(() => 0)
  const outgoing = streams.open("answer", port2, { windowBytes })
  return { incoming, outgoing, streams, frames, ends, notes, port: port2, closedCount: () => closed }
}

describe("a stream", () => {
  test("delivers every frame once, in order, then its end", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.uint8Array({ minLength: 1, maxLength: 3000 }), { maxLength: 12 }), async (sent) => {
        const { outgoing, frames, ends, closedCount } = connect(() => turn())
        for (const payload of sent) outgoing.send(payload)
        outgoing.end()
        await until(() => ends.length > 0)
        expect(frames.map((frame) => [...frame])).toEqual(sent.map((frame) => [...frame]))
        expect([ends, closedCount()]).toEqual([[undefined], 1])
      }),
      { numRuns: 30 },
    )
  })

  test("passes a note about the whole of it with its end", async () => {
    const { outgoing, notes, ends } = connect()
    outgoing.send(Buffer.from("a"))
    outgoing.end("", "one frame")
    await until(() => ends.length > 0)
    expect([ends, notes]).toEqual([[undefined], ["one frame"]])
  })

  test("is writable only while its window has room, which is freed when a frame was used, not when it arrived", async () => {
    const uses: Array<() => void> = []
    const { outgoing, incoming } = connect(() => new Promise((resolve) => uses.push(resolve)))
    expect(await outgoing.writable()).toBe(true)
    for (let sent = 0; sent < 4; sent++) outgoing.send(Buffer.alloc(1024))
    let writable: boolean | undefined
    const room = outgoing.writable().then((is) => {
      writable = is
    })
    await until(() => uses.length === 1)
    for (let turns = 0; turns < 20; turns++) await turn()
    expect([uses.length, writable]).toEqual([1, undefined])
    uses[0]?.()
    await room
    expect(writable).toBe(true)
    incoming.close()
    await expect.poll(() => outgoing.writable()).toBe(false)
  })

  test("does not reuse a frame's memory before the frame was used", async () => {
    const uses: Array<() => void> = []
    const seen: number[] = []
    const { outgoing } = connect(async (payload) => {
      await new Promise<void>((resolve) => uses.push(resolve))
      seen.push(payload[0] as number)
    })
    for (let value = 1; value <= 6; value++) outgoing.send(new Uint8Array(2000).fill(value))
    for (let used = 0; used < 6; used++) {
      await until(() => uses.length > used)
      outgoing.send(new Uint8Array(2000).fill(99))
      uses[used]?.()
    }
    await until(() => seen.length === 6)
    expect(seen).toEqual([1, 2, 3, 4, 5, 6])
  })

  test("that is closed by its receiver tells the sender that waits for room, drops what it sends, and delivers nothing more", async () => {
    const { incoming, outgoing, streams, frames, ends, closedCount } = connect(async ([first]) =>
      first === 0 ? new Promise(() => undefined) : undefined,
    )
    outgoing.send(Buffer.from("one"))
    await until(() => frames.length === 1)
    for (let sent = 0; sent < 4; sent++) outgoing.send(Buffer.alloc(1024))
    const room = outgoing.writable()
    incoming.close()
    incoming.close()
    expect(await room).toBe(false)
    const { sentFrames } = streams.metrics().answer ?? {}
    outgoing.send(Buffer.from("two"))
    outgoing.end()
    // Also a sender that is busy and does not ask.
    await outgoing.closed
    expect(await outgoing.writable()).toBe(false)
    expect([closedCount(), frames.length, ends]).toEqual([1, 1, []])
    expect(streams.metrics().answer).toMatchObject({ sentFrames })
  })

  test("whose sender ends without an end mark ends with a reason, not as complete", async () => {
    const { outgoing, ends } = connect(() => new Promise(() => undefined))
    outgoing.send(Buffer.from("half"))
    outgoing.close()
    await until(() => ends.length === 1)
    expect(ends).toEqual(["its thread ended"])
  })

  test("whose sender ends after its end mark is complete, however late its frames are used", async () => {
    const uses: Array<() => void> = []
    const { incoming, outgoing, frames, ends } = connect(() => new Promise((resolve) => uses.push(resolve)))
    outgoing.send(Buffer.from("all"))
    outgoing.end()
    await until(() => uses.length === 1)
    await turn()
    outgoing.close()
    incoming.gone("stopped")
    await turn()
    uses[0]?.()
    await until(() => ends.length === 1)
    expect([String(frames[0]), ends]).toEqual(["all", [undefined]])
  })

  test("that fails reports why at once, even to a receiver that has not used every frame", async () => {
    const { outgoing, ends } = connect(() => new Promise(() => undefined))
    for (let sent = 0; sent < 9; sent++) outgoing.send(Buffer.alloc(1024))
    outgoing.end("the recording is damaged")
    await until(() => ends.length === 1)
    expect(ends).toEqual(["the recording is damaged"])
  })

  test("is closed by a receiver that fails, with its reason", async () => {
    const { outgoing, ends } = connect(() => Promise.reject(new Error("the disk is full")))
    outgoing.send(Buffer.alloc(windowBytes))
    expect(await outgoing.writable()).toBe(false)
    expect(ends).toEqual(["the disk is full"])
  })

  test("whose call failed is closed even if nothing was ever sent", async () => {
    const { incoming, outgoing } = connect()
    incoming.gone("killed")
    await expect.poll(() => outgoing.writable()).toBe(false)
  })
})
