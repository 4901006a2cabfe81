/** One actor is removed from a system: in order, with its links, without disturbing the others. */
import * as Effect from "effect/Effect"
import { expect, test } from "vitest"
import type { Outbox } from "../../src/runtime/mailbox/outbox.ts"
import { LocalActors, type LocalBody, simple } from "./local-actors.ts"
import { turn, until } from "./until.ts"

/** Sends numbered frames and remembers its outbox in `outboxes`. */
const sending = (frames: ReadonlyArray<number>, outboxes: Array<Outbox> = []): LocalBody =>
  simple((context) => {
    const outbox = context.outbox("numbers")
    outboxes.push(outbox)
    for (const number of frames) outbox.send(Buffer.from([number]))
  })

/** Records `sender: number` of each frame it receives; acknowledges while `acknowledges` returns true. */
const taking = (taken: Array<string>, acknowledges = () => true): LocalBody =>
  simple((context) => {
    const inbox = context.inbox("numbers", {
      attached: () => undefined,
      frame(sender, { incarnation, number, payload }) {
        taken.push(`${sender}: ${payload[0]}`)
        if (acknowledges()) inbox.acknowledge(sender, incarnation, number)
      },
    })
  })

test("all it has sent is acknowledged before it ends, and its status disappears", async () => {
  const actors = new LocalActors()
  const taken: Array<string> = []
  const sink = actors.spawn("sink", taking(taken))
  const source = actors.spawn("source", sending([1, 2, 3]))
  actors.system.link("numbers", source, sink)
  await Effect.runPromise(source.running())
  expect(await actors.system.remove("source")).toBe(true)
  expect(taken).toEqual(["source: 1", "source: 2", "source: 3"])
  expect(source.state).toBe("stopped")
  expect((await actors.system.status()).map(({ name }) => name)).toEqual(["sink"])
  expect(sink.state).toBe("running")
})

test("its name is free afterwards, for an actor that is linked anew", async () => {
  const actors = new LocalActors()
  const taken: Array<string> = []
  const sink = actors.spawn("sink", taking(taken))
  const first = actors.spawn("source", sending([1]))
  actors.system.link("numbers", first, sink)
  await Effect.runPromise(first.running())
  await actors.system.remove("source")
  let lives = 1
  const second = actors.spawn("source", sending([2]), { incarnation: () => ++lives })
  await Effect.runPromise(second.running())
  await turn()
  expect(taken).toEqual(["source: 1"])
  actors.system.link("numbers", second, sink)
  await until(() => taken.length === 2)
  expect(taken).toEqual(["source: 1", "source: 2"])
  expect(actors.count("sink", "starting")).toBe(1)
})

test("a receiver that restarts meanwhile still gets what was not acknowledged", async () => {
  const actors = new LocalActors()
  const taken: Array<string> = []
  const sink = actors.spawn(
    "sink",
    taking(taken, () => sink.restarts > 0),
  )
  const source = actors.spawn("source", sending([1]))
  actors.system.link("numbers", source, sink)
  await until(() => taken.length === 1)
  const removed = actors.system.remove("source")
  await sink.kill()
  actors.clock.advance(150)
  expect(await removed).toBe(true)
  expect(taken).toEqual(["source: 1", "source: 1"])
})

test("an actor whose frames are never received ends after the drain time, and that is reported", async () => {
  const actors = new LocalActors(1000)
  const source = actors.spawn("source", sending([1]))
  await Effect.runPromise(source.running())
  const removed = actors.system.remove("source")
  await until(() => actors.clock.pending >= 2)
  actors.clock.advance(1000)
  expect(await removed).toBe(false)
  expect(source.state).toBe("stopped")
})

test("answers that a removed actor never received do not delay the end of their sender", async () => {
  const actors = new LocalActors()
  const answering = actors.spawn("answering", sending([1]))
  const asking = actors.spawn(
    "asking",
    taking([], () => false),
  )
  actors.system.link("numbers", answering, asking, "upstream")
  await Promise.all([answering, asking].map((actor) => Effect.runPromise(actor.running())))
  await actors.system.remove("asking")
  expect(await actors.system.stop()).toEqual([])
})

test("the links of the others stay, and a restarted actor is linked to the remaining ones", async () => {
  const actors = new LocalActors()
  const taken: Array<string> = []
  const outboxes: Array<Outbox> = []
  const sink = actors.spawn("sink", taking(taken))
  const stays = actors.spawn("stays", sending([1], outboxes))
  const goes = actors.spawn("goes", sending([2]))
  actors.system.link("numbers", stays, sink)
  actors.system.link("numbers", goes, sink)
  await until(() => taken.length === 2)
  await actors.system.remove("goes")
  outboxes[0]?.send(Buffer.from([3]))
  await until(() => taken.length === 3)
  await sink.kill()
  actors.clock.advance(150)
  await Effect.runPromise(sink.running())
  outboxes[0]?.send(Buffer.from([4]))
  await until(() => taken.at(-1) === "stays: 4")
  expect(stays.restarts).toBe(0)
})

test("an actor waiting for its restart is not restarted, and an unknown name is rejected", async () => {
  const actors = new LocalActors()
  const source = actors.spawn("source", sending([]))
  await Effect.runPromise(source.running())
  await source.kill()
  expect(source.state).toBe("backing-off")
  expect(await actors.system.remove("source")).toBe(true)
  actors.clock.advance(60_000)
  await turn()
  expect(actors.count("source", "starting")).toBe(1)
  await expect(actors.system.remove("source")).rejects.toThrow("no actor is named source")
})

test("two concurrent calls remove it once, and the next actor of that name stays", async () => {
  const actors = new LocalActors()
  const source = actors.spawn("source", sending([]))
  await Effect.runPromise(source.running())
  const both = Promise.all([actors.system.remove("source"), actors.system.remove("source")])
  expect(await both).toEqual([true, true])
  const next = actors.spawn("source", sending([]))
  await Effect.runPromise(next.running())
  expect((await actors.system.status()).map(({ name, state }) => `${name} ${state}`)).toEqual(["source running"])
})
