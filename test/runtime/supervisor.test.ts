/** Supervision as logic: actors in the thread of the test, on a clock that it moves. Real threads: workers.test.ts. */
import * as Effect from "effect/Effect"
import { describe, expect, test } from "vitest"
import { type ActorGaveUp, ActorGone } from "../../src/runtime/errors.ts"
import { type LocalActor, LocalActors, type LocalBody, simple } from "./local-actors.ts"
import { turn, until } from "./until.ts"

const quiet = simple(() => undefined)
const running = (actor: LocalActor): Promise<void> => Effect.runPromise(actor.running())
const failing: LocalBody = () => Effect.die("no luck")
const gone = new ActorGone({ actor: "store", reason: "it fell" })

describe("a crashed actor", () => {
  test("is restarted after a jittered back-off that doubles", async () => {
    const actors = new LocalActors()
    actors.spawn("toy", failing)
    const delays: Array<number | undefined> = []
    for (let crashes = 1; crashes <= 4; crashes++) {
      await until(() => actors.count("toy", "backing-off") === crashes)
      delays.push(actors.clock.untilNext)
      actors.clock.advance(actors.clock.untilNext ?? 0)
    }
    expect(delays).toEqual([150, 300, 600, 1200])
    expect(actors.changes.slice(0, 3)).toEqual([
      "toy starting: spawned",
      "toy backing-off: no luck",
      "toy starting: restarted",
    ])
  })

  test("is not restarted before its back-off has passed", async () => {
    const actors = new LocalActors()
    actors.spawn("toy", failing)
    await until(() => actors.count("toy", "backing-off") === 1)
    actors.clock.advance(149)
    await turn()
    expect(actors.count("toy", "starting")).toBe(1)
    actors.clock.advance(1)
    expect(actors.count("toy", "starting")).toBe(2)
  })

  test("gets a new config and the next incarnation in each life", async () => {
    const actors = new LocalActors()
    let configs = 10
    const lives: Array<ReadonlyArray<number>> = []
    const toy = actors.spawn(
      "toy",
      simple(({ incarnation, config }) => lives.push([incarnation, config])),
      {
        config: async () => configs++,
      },
    )
    await running(toy)
    await toy.kill()
    actors.clock.advance(150)
    await running(toy)
    expect(lives).toEqual([
      [1, 10],
      [2, 11],
    ])
    expect(toy.restarts).toBe(1)
  })

  test("is not restarted after its fifth crash within ten minutes, and its owner learns the reason", async () => {
    const actors = new LocalActors()
    let gaveUp: ActorGaveUp | undefined
    const toy = actors.spawn("toy", failing, {
      onGaveUp: (error) => {
        gaveUp = error
      },
    })
    const waiting = Effect.runPromise(Effect.flip(toy.running()))
    while (toy.state !== "gave-up") {
      await until(() => toy.state === "backing-off" || toy.state === "gave-up")
      actors.clock.advance(actors.clock.untilNext ?? 0)
    }
    expect(actors.count("toy", "starting")).toBe(5)
    expect(gaveUp).toMatchObject({ actor: "toy", crashes: 5, windowMs: 600_000, lastReason: "no luck" })
    expect(gaveUp?.message).toBe(
      "actor toy crashed 5 times within 600 s and is not restarted again; last error: no luck",
    )
    expect(await waiting).toBeInstanceOf(ActorGone)
    expect(actors.clock.pending).toBe(0)
    expect(await toy.stop(0)).toBe(true)
  })

  test("is restarted as long as its crashes are spread over more than ten minutes", async () => {
    const actors = new LocalActors()
    const toy = actors.spawn("toy", quiet)
    for (let crashes = 0; crashes < 20; crashes++) {
      await running(toy)
      await toy.kill()
      await until(() => toy.state === "backing-off")
      // Longer than a minute of quiet: the back-off restarts each time.
      expect(actors.clock.untilNext).toBe(150)
      actors.clock.advance(150_001)
    }
    await running(toy)
    expect(toy.restarts).toBe(20)
  })

  test("reports the reason: its error with its tag, a defect with its stack", async () => {
    const actors = new LocalActors()
    const toy = actors.spawn("toy", (context) =>
      context.incarnation === 1 ? Effect.die(new TypeError("a bug")) : Effect.fail(gone),
    )
    await until(() => toy.state === "backing-off")
    expect(actors.changes.at(-1)).toBe("toy backing-off: TypeError: a bug")
    actors.clock.advance(150)
    await until(() => toy.state === "backing-off")
    expect(actors.changes.at(-1)).toBe("toy backing-off: ActorGone: actor store is gone: it fell")
  })

  test.each([
    ["crashes itself", simple((context) => context.clock.after(10, () => context.crash(new Error("that is it"))))],
    [
      "asks for one mailbox twice",
      simple((context) => {
        const handler = { attached: () => 0, frame: () => undefined }
        context.inbox("numbers", handler)
        context.inbox("numbers", handler)
      }),
    ],
    [
      "cannot say what it has committed",
      simple((context) => {
        context.inbox("numbers", {
          attached() {
            throw new Error("the ledger is torn")
          },
          frame: () => undefined,
        })
      }),
    ],
    [
      "cannot take a frame",
      simple((context) => {
        context.inbox("numbers", {
          attached: () => 0,
          frame() {
            throw new Error("too much")
          },
        })
      }),
    ],
  ])("is one that %s", async (_what, body) => {
    const actors = new LocalActors()
    const source = actors.spawn(
      "source",
      simple((context) => context.outbox("numbers").send(Buffer.from("1"))),
    )
    const toy = actors.spawn("toy", body)
    actors.system.link("numbers", source, toy)
    await until(() => toy.state === "running" || toy.state === "backing-off")
    actors.clock.advance(10)
    await until(() => toy.state === "backing-off")
    expect(source.state).toBe("running")
  })

  test("has no timers any more: what a dead life scheduled does not happen", async () => {
    const actors = new LocalActors()
    const happened: Array<number> = []
    const toy = actors.spawn(
      "toy",
      simple(({ clock, incarnation }) => clock.after(1000, () => happened.push(incarnation))),
    )
    await running(toy)
    await toy.kill()
    actors.clock.advance(150)
    await running(toy)
    actors.clock.advance(1000)
    expect(happened).toEqual([2])
  })
})

describe("a start", () => {
  test("whose config fails counts as a crash and is retried", async () => {
    const actors = new LocalActors()
    let asked = 0
    const toy = actors.spawn("toy", quiet, {
      config: async () => {
        if (++asked < 3) throw new Error("the store does not answer")
        return asked
      },
    })
    await until(() => toy.state === "backing-off")
    actors.clock.advance(150)
    await until(() => toy.state === "backing-off")
    actors.clock.advance(300)
    await running(toy)
    expect(actors.changes).toContain("toy backing-off: could not start: the store does not answer")
    expect(toy.restarts).toBe(2)
  })

  test("whose config keeps failing ends like any other crashing actor", async () => {
    const actors = new LocalActors()
    const toy = actors.spawn("toy", quiet, {
      config: () => {
        throw new Error("no")
      },
    })
    while (toy.state !== "gave-up") {
      await until(() => toy.state === "backing-off" || toy.state === "gave-up")
      actors.clock.advance(actors.clock.untilNext ?? 0)
    }
    expect(actors.count("toy", "starting")).toBe(5)
  })

  test("is not retried when the first life fails with a tagged error, since a person must fix it", async () => {
    const actors = new LocalActors()
    let gaveUp: ActorGaveUp | undefined
    const toy = actors.spawn("toy", () => Effect.fail(gone), {
      onGaveUp: (error) => {
        gaveUp = error
      },
    })
    await until(() => toy.state === "gave-up")
    expect(gaveUp?.lastReason).toBe("ActorGone: actor store is gone: it fell")
    expect(actors.count("toy", "starting")).toBe(1)
    expect(actors.clock.pending).toBe(0)
  })

  test("is retried when a later life fails with a tagged error, since it has worked before", async () => {
    const actors = new LocalActors()
    const toy = actors.spawn("toy", (context) => (context.incarnation === 2 ? Effect.fail(gone) : Effect.succeed({})))
    await running(toy)
    await toy.kill()
    actors.clock.advance(150)
    await until(() => actors.count("toy", "backing-off") === 2)
    actors.clock.advance(300)
    await running(toy)
  })

  test.each([0, 1.5, 2 ** 32, Number.NaN])("with the incarnation %d is rejected", async (incarnation) => {
    const actors = new LocalActors()
    const toy = actors.spawn("toy", quiet, { incarnation: () => incarnation })
    await until(() => toy.state === "backing-off")
    expect(actors.changes.at(-1)).toMatch(/^toy backing-off: could not start: incarnation/)
  })

  test("whose incarnation does not increase is rejected, because receivers would drop all its frames", async () => {
    const actors = new LocalActors()
    const toy = actors.spawn("toy", quiet, { incarnation: () => 4 })
    await running(toy)
    await toy.kill()
    actors.clock.advance(150)
    await until(() => actors.count("toy", "backing-off") === 2)
    expect(actors.changes.at(-1)).toContain("incarnation 4 is not an integer above 4")
  })
})

describe("an actor that is stopped", () => {
  test("runs its finalizers, the last acquired first, and is not restarted", async () => {
    const actors = new LocalActors()
    const closed: Array<string> = []
    const toy = actors.spawn("toy", () =>
      Effect.gen(function* () {
        yield* Effect.addFinalizer(() => Effect.sync(() => closed.push("database")))
        yield* Effect.addFinalizer(() => Effect.sync(() => closed.push("stream")))
        return {}
      }),
    )
    await running(toy)
    expect(await toy.stop(1000)).toBe(true)
    expect(closed).toEqual(["stream", "database"])
    expect(toy.state).toBe("stopped")
    expect(toy.thread).toBeUndefined()
    expect(actors.clock.pending).toBe(0)
    expect(await toy.stop(1000)).toBe(true)
  })

  test("while it waits for its config is stopped at once, and a failure of the config does not revive it", async () => {
    const actors = new LocalActors()
    const config = Promise.withResolvers<number>()
    const toy = actors.spawn("toy", quiet, { config: () => config.promise })
    expect(await toy.stop(1000)).toBe(true)
    config.reject(new Error("too late"))
    await turn()
    expect(toy.state).toBe("stopped")
    expect(actors.clock.pending).toBe(0)
  })

  test("while it backs off is stopped at once and is not restarted", async () => {
    const actors = new LocalActors()
    const toy = actors.spawn("toy", failing)
    await until(() => toy.state === "backing-off")
    expect(await toy.stop(1000)).toBe(true)
    actors.clock.advance(600_000)
    expect(actors.count("toy", "starting")).toBe(1)
    expect(await Effect.runPromise(Effect.flip(toy.running()))).toMatchObject({ reason: "it is stopped" })
  })

  test("while it boots is interrupted, and what it has acquired is released", async () => {
    const actors = new LocalActors()
    const seen: Array<string> = []
    const toy = actors.spawn("toy", () =>
      Effect.gen(function* () {
        yield* Effect.acquireRelease(
          Effect.sync(() => seen.push("opened")),
          () => Effect.sync(() => seen.push("closed")),
        )
        return yield* Effect.never
      }),
    )
    await until(() => seen.length === 1)
    expect(await toy.stop(1000)).toBe(true)
    expect(seen).toEqual(["opened", "closed"])
    expect(actors.count("toy", "backing-off")).toBe(0)
  })

  test("is killed 2 s after its drain time when a finalizer does not end", async () => {
    const actors = new LocalActors()
    const toy = actors.spawn("toy", () => Effect.addFinalizer(() => Effect.never).pipe(Effect.as({})))
    await running(toy)
    const stopped = toy.stop(500)
    await turn()
    expect(actors.clock.untilNext).toBe(2500)
    actors.clock.advance(2500)
    expect(await stopped).toBe(false)
    expect(toy.state).toBe("stopped")
  })

  test("reports when its receiver did not take everything in time", async () => {
    const actors = new LocalActors()
    const toy = actors.spawn(
      "toy",
      simple((context) => context.outbox("numbers").send(Buffer.from("1"))),
    )
    await running(toy)
    const stopped = toy.stop(500)
    await until(() => actors.clock.pending === 2)
    actors.clock.advance(500)
    expect(await stopped).toBe(false)
    expect(actors.clock.pending).toBe(0)
  })

  test("and crashes meanwhile is neither drained nor restarted", async () => {
    const actors = new LocalActors()
    const toy = actors.spawn("toy", () => Effect.addFinalizer(() => Effect.die("torn")).pipe(Effect.as({})))
    await running(toy)
    expect(await toy.stop(500)).toBe(false)
    expect(actors.changes.at(-1)).toBe("toy stopped: torn")
  })

  test("twice is stopped once, and both callers get the result", async () => {
    const actors = new LocalActors()
    const toy = actors.spawn("toy", quiet)
    await running(toy)
    expect(await Promise.all([toy.stop(500), toy.stop(500)])).toEqual([true, true])
    expect(actors.count("toy", "stopping")).toBe(1)
  })
})

describe("the metrics of an actor", () => {
  test("are those of its mailboxes and its heap", async () => {
    const actors = new LocalActors()
    const toy = actors.spawn(
      "toy",
      simple((context) => {
        context.outbox("numbers").send(Buffer.alloc(100))
        context.inbox("answers", { attached: () => 0, frame: () => undefined })
      }),
    )
    await running(toy)
    const metrics = await toy.metrics()
    expect(metrics?.outboxes.numbers).toMatchObject({ waitingFrames: 1, sentFrames: 0 })
    expect(metrics?.inboxes.answers).toMatchObject({ receivedFrames: 0 })
    expect(metrics?.heapUsedBytes).toBeGreaterThan(1_000_000)
    expect(actors.clock.pending).toBe(0)
  })

  test("are absent while it is not running, and when it ends before it responds", async () => {
    const actors = new LocalActors()
    const toy = actors.spawn("toy", quiet)
    expect(await toy.metrics()).toBeUndefined()
    await running(toy)
    const asked = toy.metrics()
    await toy.kill()
    expect(await asked).toBeUndefined()
  })
})
