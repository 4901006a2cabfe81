/** When the reader's thread exists, and what happens to a query when it ends. */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import { afterEach, expect, test } from "vitest"
import { type ReaderConfig, type ReaderControl, readerDefinition, readerName } from "../../../src/actors/index.ts"
import { systemClock } from "../../../src/clock.ts"
import { idleMs, makeReaderService } from "../../../src/recorder/export/reader-service.ts"
import { type ActorBody, ActorSystem, localThread } from "../../../src/runtime/index.ts"
import { ManualClock } from "../../runtime/manual-clock.ts"
import { turn, until } from "../../runtime/until.ts"

const window = { fromTime: 0, untilTime: 1 }
const empty = { cut: 0, kinds: [], redacted: [] }

const closing: Array<() => Promise<void>> = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

/** `coverage`: the reply of the nth life, from 1. */
const start = async (coverage: (life: number) => Effect.Effect<typeof empty> = () => Effect.succeed(empty)) => {
  const clock = new ManualClock()
  const system = new ActorSystem({ random: () => 0 })
  let lives = 0
  let asked = 0
  let interrupted = 0
  const spawn = () => {
    const body: ActorBody<ReaderConfig, ReaderControl, never> = () =>
      Effect.sync(() => {
        const life = ++lives
        return {
          coverage: () => {
            asked++
            return Effect.onInterrupt(coverage(life), () => Effect.sync(() => void interrupted++))
          },
          redacted: () => Effect.succeed([]),
          recordedSince: () => Effect.succeed([]),
          count: () => Effect.succeed({}),
          pins: () => Effect.succeed([]),
          askedKinds: () => Effect.succeed({ named: [], others: [] }),
          query: () => Effect.void,
        }
      })
    return system.spawn({
      definition: readerDefinition,
      name: readerName,
      start: localThread(readerDefinition, body, systemClock),
      config: () => ({ directory: "" }),
      incarnation: () => lives + 1,
      restart: {
        backOff: { initialMs: 1, maximumMs: 1, factor: 1, jitter: 0, resetAfterMs: 1 },
        maximumCrashes: Number.POSITIVE_INFINITY,
        windowMs: 1,
      },
    })
  }
  const scope = await Effect.runPromise(Scope.make())
  const service = await Effect.runPromise(
    makeReaderService(system, spawn, clock).pipe(Effect.provideService(Scope.Scope, scope)),
  )
  closing.push(async () => {
    await Effect.runPromise(Scope.close(scope, Exit.void))
    await system.stop()
  })
  return { service, system, clock, lives: () => lives, asked: () => asked, interrupted: () => interrupted }
}

test("its thread starts with the first query, stops after a time without queries, and starts again", async () => {
  const { service, system, clock, lives } = await start()
  expect(service.reader).toBeUndefined()
  expect(await Effect.runPromise(service.ask("coverage", window))).toEqual(empty)
  await until(() => clock.pending === 1)
  clock.advance(idleMs - 1)
  await turn()
  expect(service.reader?.state).toBe("running")
  await Effect.runPromise(service.ask("coverage", window))
  await until(() => clock.pending === 1)
  clock.advance(idleMs - 1)
  await turn()
  expect(service.reader?.state).toBe("running")
  clock.advance(1)
  await until(() => service.reader === undefined)
  // At once: it waits for the thread that is ending.
  expect(await Effect.runPromise(service.ask("coverage", window))).toEqual(empty)
  expect([lives(), (await system.status()).map(({ name }) => name)]).toEqual([2, [readerName]])
})

test("a query whose reader ends is repeated once; a second end is a 503 that says so", async () => {
  const { service, asked } = await start(() => Effect.never)
  const answer = Effect.runPromise(Effect.result(service.ask("coverage", window)))
  for (const life of [1, 2]) {
    await until(() => asked() === life)
    await service.reader?.kill("a test")
  }
  expect(await answer).toMatchObject({
    _tag: "Failure",
    failure: {
      status: 503,
      message: expect.stringContaining("the recording cannot be read now: "),
      retryAfterSeconds: 1,
    },
  })
})

test("a query whose reader ends once is completed by the next life", async () => {
  const { service, asked } = await start((life) => (life === 1 ? Effect.never : Effect.succeed(empty)))
  const answer = Effect.runPromise(service.ask("coverage", window))
  await until(() => asked() === 1)
  await service.reader?.kill("a test")
  expect(await answer).toEqual(empty)
})

test("a query whose client has gone is aborted in the reader", async () => {
  const { service, asked, interrupted } = await start(() => Effect.never)
  const query = Effect.runFork(service.ask("coverage", window))
  await until(() => asked() === 1)
  await Effect.runPromise(Fiber.interrupt(query))
  await until(() => interrupted() === 1)
})

test("queries fail while the recorder stops", async () => {
  const { service, system } = await start()
  await system.stop()
  expect(await Effect.runPromise(Effect.flip(service.ask("coverage", window)))).toMatchObject({ status: 503 })
})
