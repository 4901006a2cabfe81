/** The control plane between two ends of one channel; workers.test.ts tests it with threads that die. */
import { MessageChannel, type MessagePort } from "node:worker_threads"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import { afterEach, describe, expect, test } from "vitest"
import { ControlCaller, type ControlHandlers, exposeControl } from "../../src/runtime/control.ts"
import { ActorGone, CallDeadlineExceeded, CallDefect } from "../../src/runtime/errors.ts"
import { ManualClock } from "./manual-clock.ts"
import { turn, until } from "./until.ts"

class Full extends Schema.TaggedError<Full>()("Full", { bytes: Schema.Number, since: Schema.Date }) {
  override get message(): string {
    return `full with ${this.bytes} bytes`
  }
}

const definition = {
  double: { payload: Schema.Int, success: Schema.Int, error: Full },
  wait: { payload: Schema.Void, success: Schema.Void, error: Schema.Never },
}
type Definition = typeof definition

const ports: Array<MessagePort> = []
afterEach(() => {
  for (const port of ports.splice(0)) port.close()
})

const connect = (handlers: Partial<ControlHandlers<Definition>> = {}) => {
  const { port1, port2 } = new MessageChannel()
  ports.push(port1, port2)
  const clock = new ManualClock()
  const all = { double: (value: number) => Effect.succeed(2 * value), wait: () => Effect.never, ...handlers }
  exposeControl(definition, all, port2)
  return { caller: new ControlCaller("store", definition, port1, clock), clock, port: port1 }
}

const failure = <Value, Failure>(effect: Effect.Effect<Value, Failure>): Promise<Failure> =>
  Effect.runPromise(Effect.flip(effect))

describe("a control call", () => {
  test("returns the handler's result, and leaves no timer behind", async () => {
    const { caller, clock } = connect()
    expect(await Effect.runPromise(caller.call("double", 21))).toBe(42)
    expect(clock.pending).toBe(0)
  })

  test("fails with the handler's tagged error: its class, its tag, its fields and its message", async () => {
    const full = new Full({ bytes: 12, since: new Date(5000) })
    const { caller } = connect({ double: () => Effect.fail(full) })
    const error = await failure(caller.call("double", 1))
    expect(error).toBeInstanceOf(Full)
    expect(error).toMatchObject({ _tag: "Full", bytes: 12, since: new Date(5000), message: "full with 12 bytes" })
  })

  test("fails with CallDefect and its cause when the handler dies or throws", async () => {
    for (const double of [
      () => Effect.die(new TypeError("a bug")),
      () => {
        throw new TypeError("a bug")
      },
      () => Effect.promise(() => Promise.reject(new TypeError("a bug"))),
    ]) {
      const { caller } = connect({ double })
      const error = await failure(caller.call("double", 1))
      expect(error).toBeInstanceOf(CallDefect)
      expect(error).toMatchObject({ actor: "store", method: "double" })
      expect(error.message).toMatch(/^actor store failed unexpectedly in double: TypeError: a bug/)
    }
  })

  test("a result that the interface does not allow is a CallDefect", async () => {
    const { caller } = connect({ double: () => Effect.succeed(0.5) })
    expect(await failure(caller.call("double", 1))).toBeInstanceOf(CallDefect)
  })

  test("a payload that the interface does not allow never leaves the caller", async () => {
    let asked = 0
    const { caller } = connect({ double: () => Effect.sync(() => ++asked) })
    const exit = await Effect.runPromiseExit(caller.call("double", 0.5))
    expect(Exit.isFailure(exit) && Exit.hasDies(exit)).toBe(true)
    expect(asked).toBe(0)
  })

  test("a payload of another version of the interface is rejected by the actor too, not passed to the handler", async () => {
    const { port1, port2 } = new MessageChannel()
    ports.push(port1, port2)
    let asked = 0
    exposeControl(definition, { double: () => Effect.sync(() => ++asked), wait: () => Effect.never }, port2)
    const loose = { double: { ...definition.double, payload: Schema.String } }
    const caller = new ControlCaller("store", loose, port1, new ManualClock())
    const error = await failure(caller.call("double", "many"))
    expect(error).toBeInstanceOf(CallDefect)
    expect(error.message).toContain("Expected number")
    expect(asked).toBe(0)
  })

  test("a method that the actor does not have is a CallDefect", async () => {
    const { port1, port2 } = new MessageChannel()
    ports.push(port1, port2)
    exposeControl({}, {}, port2)
    const caller = new ControlCaller("store", definition, port1, new ManualClock())
    expect(await failure(caller.call("double", 1))).toMatchObject({
      _tag: "CallDefect",
      description: "no method double",
    })
  })

  test("fails with CallDeadlineExceeded at its deadline, not before; a later reply changes nothing", async () => {
    let answer: (() => void) | undefined
    const { caller, clock } = connect({
      wait: () =>
        Effect.callback<void>((resume) => {
          answer = () => resume(Effect.void)
        }),
    })
    let outcome: unknown
    const settled = failure(caller.call("wait", undefined, 250)).then((error) => {
      outcome = error
    })
    await until(() => answer !== undefined)
    clock.advance(249)
    await turn()
    expect(outcome).toBeUndefined()
    clock.advance(1)
    await settled
    expect(outcome).toBeInstanceOf(CallDeadlineExceeded)
    expect(outcome).toMatchObject({ actor: "store", method: "wait", deadline: 250 })
    answer?.()
    expect(await Effect.runPromise(caller.call("double", 2))).toBe(4)
  })

  test("has its deadline anew when the actor makes progress", async () => {
    const { caller, clock } = connect()
    const outcome = failure(caller.call("wait", undefined, 250))
    await until(() => clock.pending === 1)
    for (let times = 0; times < 3; times++) {
      clock.advance(249)
      caller.progressed()
      expect(clock.untilNext).toBe(250)
    }
    clock.advance(250)
    expect(await outcome).toBeInstanceOf(CallDeadlineExceeded)
    caller.progressed()
    expect(clock.pending).toBe(0)
  })

  test("has a deadline of 5 s by default", async () => {
    const { caller, clock } = connect()
    const outcome = failure(caller.call("wait", undefined))
    await until(() => clock.pending === 1)
    expect(clock.untilNext).toBe(5000)
    clock.advance(5000)
    expect(await outcome).toMatchObject({ deadline: 5000 })
  })

  test("fails with ActorGone, and so do all later ones, when the actor is gone", async () => {
    const { caller, clock } = connect()
    const outcomes = [failure(caller.call("wait", undefined)), failure(caller.call("wait", undefined))]
    await until(() => clock.pending === 2)
    caller.gone("it fell")
    outcomes.push(failure(caller.call("wait", undefined)))
    for (const error of await Promise.all(outcomes)) {
      expect(error).toBeInstanceOf(ActorGone)
      expect(error.message).toBe("actor store is gone: it fell")
    }
    expect(clock.pending).toBe(0)
  })

  test("that is interrupted leaves no timer behind", async () => {
    const { caller, clock } = connect()
    const fiber = Effect.runFork(caller.call("wait", undefined))
    await until(() => clock.pending === 1)
    await Effect.runPromise(Fiber.interrupt(fiber))
    expect(clock.pending).toBe(0)
  })
})
