/** Links, order and status as logic: actors in the thread of the test. Real threads: workers.test.ts, exactly-once.test.ts. */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { describe, expect, test } from "vitest"
import type { Outbox } from "../../src/runtime/mailbox/outbox.ts"
import { type LocalActor, LocalActors, type LocalBody, simple } from "./local-actors.ts"
import { turn, until } from "./until.ts"

const running = (...actors: ReadonlyArray<LocalActor>): Promise<ReadonlyArray<void>> =>
  Promise.all(actors.map((actor) => Effect.runPromise(actor.running())))

/** Sends `count` small frames when it starts. */
const sending = (count: number, mailbox = "numbers"): LocalBody =>
  simple((context) => {
    const outbox = context.outbox(mailbox)
    for (let number = 1; number <= count; number++) outbox.send(Buffer.from([number]))
  })

/** Records what it receives, and acknowledges it. `taken` is its memory, which outlives its lives. */
const taking = (taken: Array<number>): LocalBody =>
  simple((context) => {
    const inbox = context.inbox("numbers", {
      attached: () => taken.length,
      frame(sender, { incarnation, number, payload }) {
        taken.push(payload[0] ?? 0)
        inbox.acknowledge(sender, incarnation, number)
      },
    })
  })

describe("a link", () => {
  test("carries frames whether it is made before or after its ends start", async () => {
    const actors = new LocalActors()
    const early: Array<number> = []
    const late: Array<number> = []
    actors.system.link("numbers", { name: "early source" }, { name: "early sink" })
    await running(actors.spawn("early source", sending(3)))
    await running(actors.spawn("early sink", taking(early)))
    const source = actors.spawn("late source", sending(3))
    const sink = actors.spawn("late sink", taking(late))
    await running(source, sink)
    actors.system.link("numbers", source, sink)
    await until(() => early.length === 3 && late.length === 3)
    expect([early, late]).toEqual([
      [1, 2, 3],
      [1, 2, 3],
    ])
  })

  test("waits for a body that opens its mailboxes late, and lets it choose the window", async () => {
    const actors = new LocalActors()
    const asked = Promise.withResolvers<void>()
    const taken: Array<number> = []
    const source = actors.spawn("source", (context) =>
      Effect.promise(() => asked.promise).pipe(
        Effect.map(() => {
          const outbox = context.outbox("numbers", { windowBytes: 512 })
          for (const number of [1, 2, 3]) outbox.send(Buffer.from([number]))
          return {}
        }),
      ),
    )
    const sink = actors.spawn("sink", (context) =>
      Effect.promise(() => asked.promise).pipe(
        Effect.map(() => {
          context.inbox("numbers", { attached: () => 0, frame: (_sender, { number }) => void taken.push(number) })
          return {}
        }),
      ),
    )
    actors.system.link("numbers", source, sink)
    await turn()
    asked.resolve()
    await running(source, sink)
    await until(() => taken.length > 0)
    await turn()
    expect(taken).toEqual([1])
    expect((await source.metrics())?.outboxes.numbers).toMatchObject({ unacknowledgedFrames: 1, waitingFrames: 2 })
  })

  test("is made anew when the receiver starts another life, which gets everything unacknowledged", async () => {
    const actors = new LocalActors()
    const lives: Array<Array<number>> = []
    let outbox: Outbox | undefined
    const source = actors.spawn("source", (context) => {
      outbox = context.outbox("numbers")
      return sending(3)(context)
    })
    const sink = actors.spawn(
      "sink",
      simple((context) => {
        const taken: Array<number> = []
        lives.push(taken)
        const inbox = context.inbox("numbers", {
          attached: () => (context.incarnation === 1 ? 0 : 1),
          frame(sender, { incarnation, number }) {
            taken.push(number)
            if (number === 1 || context.incarnation === 2) inbox.acknowledge(sender, incarnation, number)
          },
        })
      }),
    )
    actors.system.link("numbers", source, sink)
    await until(() => lives[0]?.length === 3)
    await until(() => outbox?.metrics().unacknowledgedFrames === 2)
    await sink.kill()
    actors.clock.advance(150)
    await until(() => lives[1]?.length === 2)
    await outbox?.flushed()
    expect(lives).toEqual([
      [1, 2, 3],
      [2, 3],
    ])
    expect(outbox?.metrics().redeliveredFrames).toBe(2)
  })

  test("is made anew when the sender starts another life, whose frames start at 1", async () => {
    const actors = new LocalActors()
    const taken: Array<string> = []
    const source = actors.spawn("source", sending(2))
    const sink = actors.spawn(
      "sink",
      simple((context) => {
        context.inbox("numbers", {
          attached: () => 0,
          frame: (_sender, { incarnation, number }) => void taken.push(`${incarnation}/${number}`),
        })
      }),
    )
    actors.system.link("numbers", source, sink)
    await until(() => taken.length === 2)
    await source.kill()
    actors.clock.advance(150)
    await until(() => taken.length === 4)
    expect(taken).toEqual(["1/1", "1/2", "2/1", "2/2"])
    expect(sink.state).toBe("running")
  })

  test("from an outbox that already has one is rejected, because an outbox has one receiver", () => {
    const actors = new LocalActors()
    actors.system.link("numbers", { name: "source" }, { name: "sink" })
    expect(() => actors.system.link("numbers", { name: "source" }, { name: "other" })).toThrow(
      "outbox numbers of source feeds sink already",
    )
  })
})

describe("back-pressure", () => {
  test("a sender stops at window and buffer, its stalled time grows, and it continues when it is acknowledged", async () => {
    const actors = new LocalActors()
    let outbox: Outbox | undefined
    let produced = 0
    const source = actors.spawn(
      "source",
      simple((context) => {
        const numbers = context.outbox("numbers", { windowBytes: 4 * 512, bufferBytes: 2 * 512 })
        outbox = numbers
        const produce = (): void => {
          while (produced < 10 && numbers.isWritable) numbers.send(Buffer.from([++produced]))
        }
        numbers.onWritable(produce)
        produce()
      }),
    )
    let acknowledge: (() => void) | undefined
    let received = 0
    const sink = actors.spawn(
      "sink",
      simple((context) => {
        const inbox = context.inbox("numbers", {
          attached: () => 0,
          frame(sender, { incarnation, number }) {
            received = number
            acknowledge = () => inbox.acknowledge(sender, incarnation, number)
          },
        })
      }),
    )
    actors.system.link("numbers", source, sink)
    await until(() => received === 4)
    expect(produced).toBe(6)
    const stalledMs = async () => (await source.metrics())?.outboxes.numbers?.stalledMs
    const before = (await stalledMs()) ?? 0
    actors.clock.advance(700)
    expect(await stalledMs()).toBe(before + 700)
    expect((await sink.metrics())?.inboxes.numbers).toMatchObject({ receivedFrames: 4, pendingFrames: 4 })

    acknowledge?.()
    await until(() => received === 8)
    expect(produced).toBe(10)
    acknowledge?.()
    await until(() => received === 10)
    acknowledge?.()
    await outbox?.flushed()
    const after = await stalledMs()
    actors.clock.advance(700)
    expect(await stalledMs()).toBe(after)
  })
})

describe("stopping the system", () => {
  test("stops each sender before its receiver: all it has sent is received, and finalizers run in that order", async () => {
    const actors = new LocalActors()
    const closed: Array<string> = []
    const taken: Array<number> = []
    const closing = (name: string): Effect.Effect<void, never, Scope.Scope> =>
      Effect.addFinalizer(() => Effect.sync(() => closed.push(`${name} closes, ${taken.length} taken`)))
    // Spawned in the wrong order on purpose.
    const sink = actors.spawn("sink", (context) => closing("sink").pipe(Effect.andThen(taking(taken)(context))))
    const relay = actors.spawn("relay", (context) =>
      closing("relay").pipe(
        Effect.map(() => {
          const outbox = context.outbox("numbers")
          const inbox = context.inbox("raw", {
            attached: () => 0,
            frame(sender, { incarnation, number, payload }) {
              outbox.send(payload)
              // A forwarded frame is not finished yet: it is acknowledged only when the next actor has it.
              void outbox.flushed().then(() => inbox.acknowledge(sender, incarnation, number))
            },
          })
          return {}
        }),
      ),
    )
    const source = actors.spawn("source", (context) =>
      closing("source").pipe(Effect.andThen(sending(200, "raw")(context))),
    )
    actors.system.link("numbers", relay, sink)
    actors.system.link("raw", source, relay)
    await running(sink, relay, source)
    expect(await actors.system.stop()).toEqual([])
    expect(closed[0]).toMatch(/^source closes/)
    expect(closed.slice(1)).toEqual(["relay closes, 200 taken", "sink closes, 200 taken"])
    expect(taken).toHaveLength(200)
    expect([source, relay, sink].map(({ state }) => state)).toEqual(["stopped", "stopped", "stopped"])
    expect(actors.clock.pending).toBe(0)
  })

  test("upstream links do not affect the order, cycles end, and a receiver that a cycle feeds stops after it", async () => {
    const actors = new LocalActors()
    const idle = simple(() => undefined)
    const named = Object.fromEntries(["a", "b", "c", "d"].map((name) => [name, actors.spawn(name, idle)]))
    const link = (from: string, to: string, direction?: "upstream"): void =>
      actors.system.link(`${from}${to}`, { name: from }, { name: to }, direction)
    link("a", "b")
    link("b", "a")
    link("b", "c")
    link("c", "d")
    link("d", "a", "upstream")
    await running(...Object.values(named))
    await actors.system.stop()
    const order = actors.changes.filter((change) => change.includes("stopping")).map((change) => change[0])
    expect(order).toEqual(["b", "a", "c", "d"])
  })

  test("names the actors that could not deliver everything in time", async () => {
    const actors = new LocalActors(300)
    const source = actors.spawn("source", sending(1))
    const sink = actors.spawn(
      "sink",
      simple((context) => {
        context.inbox("numbers", { attached: () => 0, frame: () => undefined })
      }),
    )
    actors.system.link("numbers", source, sink)
    await running(source, sink)
    const stopped = actors.system.stop()
    // The drain time, and the time after which the thread would be killed.
    await until(() => actors.clock.pending === 2)
    actors.clock.advance(300)
    expect(await stopped).toEqual(["source"])
    expect(sink.state).toBe("stopped")
  })

  test("does not wait for what upstream links still carry, because its receivers have already stopped", async () => {
    const actors = new LocalActors()
    const source = actors.spawn("source", sending(2))
    const taken: Array<number> = []
    const sink = actors.spawn("sink", (context) => {
      const outbox = context.outbox("answers")
      // One is with the source, which never receives it; the other one waits here.
      outbox.send(Buffer.from([1]))
      return taking(taken)(context).pipe(
        Effect.tap(() => Effect.addFinalizer(() => Effect.sync(() => outbox.send(Buffer.from([2]))))),
      )
    })
    actors.system.link("numbers", source, sink)
    actors.system.link("answers", sink, source, "upstream")
    await running(source, sink)
    expect(await actors.system.stop()).toEqual([])
    expect(taken).toEqual([1, 2])
    // The clock does not move: no deadline was needed.
    expect(actors.clock.monotonicMs()).toBe(0)
    expect(actors.clock.pending).toBe(0)
  })

  test("a receiver that crashes meanwhile is restarted, so that its sender can deliver", async () => {
    const actors = new LocalActors(10_000)
    const taken: Array<number> = []
    let crash: (() => void) | undefined
    const source = actors.spawn("source", sending(5))
    const sink = actors.spawn("sink", (context) => {
      if (context.incarnation > 1) return taking(taken)(context)
      crash = () => context.crash(new Error("not now"))
      return simple(() => context.inbox("numbers", { attached: () => 0, frame: () => undefined }))(context)
    })
    actors.system.link("numbers", source, sink)
    await running(source, sink)
    const stopped = actors.system.stop()
    crash?.()
    await until(() => sink.state === "backing-off")
    expect(source.state).toBe("stopping")
    actors.clock.advance(150)
    expect(await stopped).toEqual([])
    expect(taken).toEqual([1, 2, 3, 4, 5])
  })

  test("happens once however often it is called, and nothing starts afterwards", async () => {
    const actors = new LocalActors()
    await running(actors.spawn("toy", sending(0)))
    expect(await Promise.all([actors.system.stop(), actors.system.stop()])).toEqual([[], []])
    expect(actors.count("toy", "stopping")).toBe(1)
    expect(() => actors.spawn("late", sending(0))).toThrow("the system is stopping, late cannot start")
  })
})

describe("the status", () => {
  test("has state, restarts and metrics of every actor in the order of spawning", async () => {
    const actors = new LocalActors()
    const first = actors.spawn("first", sending(2))
    const second = actors.spawn("second", () => Effect.die("no luck"))
    await running(first)
    await until(() => second.state === "backing-off")
    const status = await actors.system.status()
    expect(status.map(({ name, role, state, restarts }) => [name, role, state, restarts])).toEqual([
      ["first", "toy", "running", 0],
      ["second", "toy", "backing-off", 0],
    ])
    expect(status[0]?.metrics?.outboxes.numbers?.waitingFrames).toBe(2)
    expect(status[1]).not.toHaveProperty("metrics")
  })

  test("rejects a name that is already in use", async () => {
    const actors = new LocalActors()
    actors.spawn("toy", sending(0))
    expect(() => actors.spawn("toy", sending(0))).toThrow("an actor named toy exists already")
  })
})
