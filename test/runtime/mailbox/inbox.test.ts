import { MessageChannel, type MessagePort } from "node:worker_threads"
import { afterEach, describe, expect, test } from "vitest"
import { Inbox, type InboxHandler, MailboxProtocolError } from "../../../src/runtime/mailbox/inbox.ts"
import { Outbox } from "../../../src/runtime/mailbox/outbox.ts"
import { ManualClock } from "../manual-clock.ts"
import { turn, until } from "../until.ts"

const ports: Array<MessagePort> = []
afterEach(() => {
  for (const port of ports.splice(0)) port.close()
})

const clock = new ManualClock()
const outboxOf = (incarnation: number, windowBytes = 1 << 20): Outbox =>
  new Outbox("numbers", incarnation, { now: () => clock.monotonicMs(), windowBytes })

const link = (outbox: Outbox, inbox: Inbox, sender = "source"): void => {
  const { port1, port2 } = new MessageChannel()
  ports.push(port1, port2)
  inbox.attach(sender, outbox.incarnation, port2)
  outbox.attach(port1)
}

/** An inbox that records the frames it gets; `durable` is the last frame that it remembers. */
const recorded = (durable: number | "nothing" = 0, onFrame?: (number: number) => void) => {
  const seen: Array<string> = []
  const failures: Array<Error> = []
  const handler: InboxHandler = {
    attached: () => (durable === "nothing" ? undefined : durable),
    frame(sender, { incarnation, number, payload }) {
      seen.push(`${sender}/${incarnation}/${number}: ${Buffer.from(payload).toString()}`)
      onFrame?.(number)
    },
  }
  return { inbox: new Inbox("numbers", handler, (error) => failures.push(error)), seen, failures }
}

const send = (outbox: Outbox, ...texts: ReadonlyArray<string>): void => {
  for (const text of texts) outbox.send(Buffer.from(text))
}

describe("an inbox", () => {
  test("delivers the frames of each sender in order and acknowledges nothing by itself", async () => {
    const { inbox, seen } = recorded()
    const left = outboxOf(1)
    const right = outboxOf(5)
    link(left, inbox, "left")
    link(right, inbox, "right")
    send(left, "a", "b")
    send(right, "c")
    await until(() => seen.length === 3)
    expect(seen.toSorted()).toEqual(["left/1/1: a", "left/1/2: b", "right/5/1: c"])
    expect(inbox.metrics()).toMatchObject({ receivedFrames: 3, receivedBytes: 3 * 17, pendingFrames: 3 })
    inbox.acknowledge("left", 1, 2)
    await left.flushed()
    expect(inbox.metrics().pendingFrames).toBe(1)
    expect(right.metrics().unacknowledgedFrames).toBe(1)
  })

  test("in a new life it drops the frames whose effect is already durable, counts them and acknowledges them again", async () => {
    const outbox = outboxOf(1)
    const former = recorded()
    link(outbox, former.inbox)
    send(outbox, "a", "b", "c")
    await until(() => former.seen.length === 3)
    former.inbox.close()

    const { inbox, seen } = recorded(2)
    link(outbox, inbox)
    await until(() => seen.length === 1)
    expect(seen).toEqual(["source/1/3: c"])
    expect(inbox.metrics()).toMatchObject({ duplicateFrames: 2, pendingFrames: 1 })
    await until(() => outbox.metrics().unacknowledgedFrames === 1)
  })

  test("linked again in the same life, it drops what it has delivered, acknowledged or not", async () => {
    const { inbox, seen } = recorded()
    const outbox = outboxOf(1)
    link(outbox, inbox)
    send(outbox, "a", "b")
    await until(() => seen.length === 2)
    inbox.acknowledge("source", 1, 1)
    await until(() => outbox.metrics().unacknowledgedFrames === 1)
    link(outbox, inbox)
    send(outbox, "c")
    await until(() => seen.length === 3)
    expect(seen).toEqual(["source/1/1: a", "source/1/2: b", "source/1/3: c"])
    expect(inbox.metrics().duplicateFrames).toBe(1)
    inbox.acknowledge("source", 1, 3)
    await outbox.flushed()
  })

  test("never acknowledges a frame whose position in memory it still has to read", async () => {
    // Frames 1 to 3 are durable, and all of them are being sent again. If 3 were acknowledged with the first of them, the sender could
    // write frame 4 over the other two before they are read.
    const outbox = outboxOf(1)
    send(outbox, "aaaa", "bbbb", "cccc")
    const { inbox, failures } = recorded(3)
    const { port1, port2 } = new MessageChannel()
    ports.push(port1, port2)
    const acknowledged: Array<number> = []
    const posted = port2.postMessage.bind(port2)
    port2.postMessage = (bytes: Uint8Array) => {
      acknowledged.push(bytes.at(-1) ?? 0)
      posted(bytes)
    }
    inbox.attach("source", 1, port2)
    inbox.acknowledge("source", 1, 3)
    outbox.attach(port1)
    await outbox.flushed()
    expect(acknowledged).toEqual([1, 2, 3])
    expect(failures).toEqual([])
  })

  test("sends acknowledgements frame by frame when the owner acknowledges more than has arrived through the port", async () => {
    const { inbox, seen } = recorded()
    const outbox = outboxOf(1)
    link(outbox, inbox)
    send(outbox, "a", "b")
    await until(() => seen.length === 2)
    link(outbox, inbox)
    inbox.acknowledge("source", 1, 2)
    expect(outbox.metrics().unacknowledgedFrames).toBe(2)
    await outbox.flushed()
    expect(inbox.metrics()).toMatchObject({ duplicateFrames: 2, pendingFrames: 0 })
  })

  test("frames of an older life are dropped and counted once its successor is attached", async () => {
    const { inbox, seen } = recorded()
    const dead = outboxOf(1)
    const { port1, port2 } = new MessageChannel()
    dead.attach(port1)
    send(dead, "late", "later")
    inbox.attach("source", 1, port2)
    link(outboxOf(2), inbox)
    dead.detach()
    await until(() => inbox.metrics().fencedFrames === 2)
    expect(seen).toEqual([])
  })

  test("a link of an older life that arrives after its successor's is rejected", async () => {
    const { inbox, seen } = recorded()
    const successor = outboxOf(2)
    const dead = outboxOf(1)
    send(dead, "late")
    link(successor, inbox)
    link(dead, inbox)
    send(successor, "new")
    await until(() => seen.length > 0)
    await turn()
    expect(seen).toEqual(["source/2/1: new"])
  })

  test("acknowledging frames of an earlier life does nothing", async () => {
    const { inbox, seen } = recorded()
    link(outboxOf(1), inbox)
    const successor = outboxOf(2)
    link(successor, inbox)
    send(successor, "a")
    await until(() => seen.length === 1)
    inbox.acknowledge("source", 1, 1)
    inbox.acknowledge("nobody", 1, 1)
    expect(inbox.metrics().pendingFrames).toBe(1)
  })

  test("a skipped frame number is a MailboxProtocolError that names mailbox, sender and numbers", async () => {
    const { inbox, failures } = recorded(0)
    const outbox = outboxOf(1)
    const elsewhere = recorded()
    link(outbox, elsewhere.inbox)
    send(outbox, "a")
    await until(() => elsewhere.seen.length === 1)
    elsewhere.inbox.acknowledge("source", 1, 1)
    await outbox.flushed()
    link(outbox, inbox)
    send(outbox, "b")
    await until(() => failures.length === 1)
    expect(failures[0]).toBeInstanceOf(MailboxProtocolError)
    expect(failures[0]?.message).toBe("mailbox numbers from source: frame 2 after 0")
  })

  test("without durable numbers it starts with the oldest frame that the sender still keeps", async () => {
    const outbox = outboxOf(1)
    const former = recorded("nothing")
    link(outbox, former.inbox)
    send(outbox, "a", "b")
    await until(() => former.seen.length === 2)
    former.inbox.acknowledge("source", 1, 1)
    await until(() => outbox.metrics().unacknowledgedFrames === 1)

    const { inbox, seen, failures } = recorded("nothing")
    link(outbox, inbox)
    send(outbox, "c")
    await until(() => seen.length === 2)
    expect(seen).toEqual(["source/1/2: b", "source/1/3: c"])
    expect(inbox.metrics()).toMatchObject({ duplicateFrames: 0, pendingFrames: 2 })
    expect(failures).toEqual([])
    link(outbox, inbox)
    inbox.acknowledge("source", 1, 3)
    await outbox.flushed()
    expect(inbox.metrics().duplicateFrames).toBe(2)
  })

  test("an exception of the handler is reported unchanged, and a closed mailbox reports nothing more", async () => {
    const { inbox, seen, failures } = recorded(0, () => {
      inbox.close()
      throw new RangeError("cannot take it")
    })
    const outbox = outboxOf(1)
    link(outbox, inbox)
    send(outbox, "a", "b", "c")
    await until(() => failures.length > 0)
    await turn()
    expect(seen).toHaveLength(1)
    expect(failures).toEqual([new RangeError("cannot take it")])
  })

  test("frames in an unknown slab are a MailboxProtocolError", async () => {
    const { inbox, failures } = recorded()
    const { port1, port2 } = new MessageChannel()
    ports.push(port1, port2)
    inbox.attach("source", 1, port2)
    port1.postMessage({ slab: 3, offset: 0, length: 16 })
    await until(() => failures.length === 1)
    expect(failures[0]?.message).toBe("mailbox numbers from source: frame in unknown slab 3")
  })

  test("frames that a sender posted just before it ended still arrive", async () => {
    const { inbox, seen } = recorded()
    const outbox = outboxOf(1)
    link(outbox, inbox)
    send(outbox, "a", "b")
    outbox.detach()
    await until(() => seen.length === 2)
    expect(inbox.metrics().pendingFrames).toBe(2)
  })
})

describe("a deferred attachment", () => {
  /** An inbox that settles nothing until `isReady`; `attached` are the lives it has settled. */
  const reluctant = () => {
    const world = {
      isReady: false,
      attached: [] as Array<number>,
      seen: [] as Array<string>,
      failures: [] as Array<Error>,
    }
    const inbox: Inbox = new Inbox(
      "numbers",
      {
        attached(_sender, incarnation) {
          if (!world.isReady) return "later"
          world.attached.push(incarnation)
          // Settling one may settle another: a nested call must not settle it twice.
          inbox.attachDeferred()
          return 0
        },
        frame: (sender, { incarnation, number, payload }) =>
          void world.seen.push(`${sender}/${incarnation}/${number}: ${Buffer.from(payload).toString()}`),
      },
      (error) => world.failures.push(error),
    )
    return { inbox, world }
  }

  test("leaves the frames with their senders, and delivers each once when it is settled", async () => {
    const { inbox, world } = reluctant()
    const [left, right] = [outboxOf(1), outboxOf(2)]
    link(left, inbox, "left")
    link(right, inbox, "right")
    send(left, "a", "b")
    send(right, "c")
    await turn()
    inbox.attachDeferred()
    await turn()
    expect(world.seen).toEqual([])
    expect(left.metrics().unacknowledgedFrames).toBe(2)
    world.isReady = true
    inbox.attachDeferred()
    await until(() => world.seen.length === 3)
    expect(world.seen.toSorted()).toEqual(["left/1/1: a", "left/1/2: b", "right/2/1: c"])
    expect(world.attached).toEqual([1, 2])
    inbox.attachDeferred()
    expect(world.attached).toEqual([1, 2])
    inbox.acknowledge("left", 1, 2)
    await left.flushed()
  })

  test("is replaced by a newer life, not by an older one; former lives are still heard meanwhile", async () => {
    const { inbox, world } = reluctant()
    world.isReady = true
    const first = outboxOf(1)
    link(first, inbox)
    world.isReady = false
    const lives = [outboxOf(2), outboxOf(4), outboxOf(3)]
    for (const life of lives) {
      link(life, inbox)
      send(life, `life ${life.incarnation}`)
    }
    send(first, "still here")
    await until(() => world.seen.length === 1)
    world.isReady = true
    inbox.attachDeferred()
    await until(() => world.seen.length === 2)
    await turn()
    expect(world.seen).toEqual(["source/1/1: still here", "source/4/1: life 4"])
    expect(world.attached).toEqual([1, 4])
  })

  test("ends with the inbox, and an exception of the retried handler is a failure of the inbox", async () => {
    const { inbox } = reluctant()
    const closed = new MessageChannel()
    ports.push(closed.port1)
    inbox.attach("source", 1, closed.port2)
    const over = new Promise((resolve) => closed.port1.on("close", resolve))
    inbox.close()
    await over

    const failures: Array<Error> = []
    let asked = 0
    const failing = new Inbox(
      "numbers",
      {
        attached() {
          if (++asked === 1) return "later"
          throw new Error("the ledger is gone")
        },
        frame: () => undefined,
      },
      (error) => failures.push(error),
    )
    link(outboxOf(1), failing)
    failing.attachDeferred()
    expect(failures.map(({ message }) => message)).toEqual(["the ledger is gone"])
  })
})
