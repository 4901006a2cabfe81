/** Several actors in one real worker: what ends one of them leaves the others alone, unless it ends the thread. */
import * as Effect from "effect/Effect"
import { afterEach, describe, expect, test } from "vitest"
import type { MemoryLimits } from "../../src/runtime/actor.ts"
import { ActorSystem } from "../../src/runtime/actor-system.ts"
import { type ActorGaveUp, ActorGone } from "../../src/runtime/errors.ts"
import { SharedThread } from "../../src/runtime/shared-thread.ts"
import { testWorker } from "../harness/test-worker.ts"
import { ManualClock } from "./manual-clock.ts"
import { type MisfitConfig, misfit } from "./toys/misfit.ts"
import { inWorker } from "./toys/toy-worker.ts"
import { until } from "./until.ts"

const usual: MemoryLimits = { oldGenerationMb: 64, youngGenerationMb: 4 }
const names = ["one", "two", "three"] as const
const { runPromise: run, runPromiseExit: settle } = Effect

const ends: Array<() => Promise<unknown>> = []
afterEach(async () => {
  for (const end of ends.splice(0)) await end()
})

const stage = (limits: MemoryLimits = usual, boot: (name: string) => MisfitConfig["boot"] = () => "run") => {
  const clock = new ManualClock()
  const system = new ActorSystem({ clock, random: () => 0 })
  const lost: Array<string> = []
  const gaveUp: Array<ActorGaveUp> = []
  const thread = new SharedThread(testWorker("misfit"), () => limits, { clock, onLost: (reason) => lost.push(reason) })
  let place = thread.start
  const actors = names.map((name) => {
    const changes: Array<string> = []
    let lives = 0
    const actor = system.spawn({
      definition: misfit,
      name,
      start: (observer) => place(observer),
      config: () => ({ boot: boot(name) }),
      incarnation: () => ++lives,
      onStateChange: (state, reason) => changes.push(`${state}: ${reason.split("\n")[0]}`),
      onGaveUp: (error) => gaveUp.push(error),
    })
    return { actor, changes }
  })
  ends.push(async () => {
    const stopped = system.stop()
    const killed = Promise.all(actors.map(({ actor }) => actor.kill()))
    // One that is in an endless loop leaves only with its thread.
    clock.advance(2000)
    await killed
    clock.advance(0)
    await stopped
  })
  const [one, two, three] = actors as [(typeof actors)[0], (typeof actors)[0], (typeof actors)[0]]
  const running = () => Promise.all(actors.map(({ actor }) => run(actor.running())))
  const restarted = async () => {
    await until(() => actors.some(({ actor }) => actor.state === "backing-off"))
    while (actors.some(({ actor }) => actor.state !== "running")) {
      clock.advance(Math.min(clock.untilNext ?? 0, 2000))
      await new Promise(setImmediate)
    }
  }
  const moveTo = (start: typeof place) => {
    place = start
  }
  return { clock, system, thread, lost, gaveUp, one, two, three, running, restarted, moveTo }
}

const echo = { text: "still here", level: 1, at: new Date(0) }

describe("in a shared thread, an actor that", () => {
  test.each([
    ["throws in a timer", "throwInTimer", "thrown", /^Error: thrown$/],
    ["throws in an immediate", "throwLater", "thrown", /^Error: thrown$/],
    ["leaves a rejection unhandled", "rejectLater", "rejected", /^Error: rejected$/],
    ["crashes itself", "crashLater", "crashed", /^Error: crashed$/],
  ] as const)("%s is restarted alone, and the reason is known", async (_what, method, argument, reason) => {
    const { thread, one, two, three, running, restarted, lost } = stage()
    await running()
    await settle(one.actor.call(method, argument))
    await restarted()
    const [why] = one.changes.filter((change) => change.startsWith("backing-off"))
    expect(why?.replace("backing-off: ", "")).toMatch(reason)
    expect([one, two, three].map(({ actor }) => actor.restarts)).toEqual([1, 0, 0])
    expect(await run(two.actor.call("echo", echo))).toEqual(echo)
    expect(thread.residents).toBe(3)
    expect(lost).toEqual([])
  })

  test("is killed ends alone, and its calls with it", async () => {
    const { one, two, running, restarted } = stage()
    await running()
    const call = run(Effect.flip(one.actor.call("hang", undefined)))
    await one.actor.kill("for a test")
    expect(await call).toBeInstanceOf(ActorGone)
    await restarted()
    expect([one.actor.restarts, two.actor.restarts]).toEqual([1, 0])
    expect(one.changes).toContain("backing-off: for a test")
  })

  test.each([
    ["ends the thread", "exit", 3, /^the thread exited with code 3$/],
    ["exceeds the memory", "hoard", undefined, /memory limit/],
  ] as const)("%s takes the others along, which is counted as nobody's crash", async (_what, method, argument, why) => {
    const { one, two, three, gaveUp, running, restarted, lost, thread } = stage({
      oldGenerationMb: 24,
      youngGenerationMb: 2,
    })
    await running()
    for (let time = 1; time <= 6; time++) {
      await settle(one.actor.call(method, argument as never))
      await restarted()
      expect([one, two, three].map(({ actor }) => actor.restarts)).toEqual([time, time, time])
      // Running out of memory takes a while.
      if (method === "hoard") break
    }
    expect(lost[0]?.split("\n")[0]).toMatch(why)
    expect(gaveUp).toEqual([])
    expect(thread.residents).toBe(3)
  })

  test("has crashed and cannot be released takes the thread along after 2 s", async () => {
    const { one, two, clock, running, restarted } = stage(usual, (name) => (name === "one" ? "close" : "run"))
    await running()
    await settle(one.actor.call("crashLater", "while its finalizer never ends"))
    await until(() => clock.pending === 1)
    expect(two.actor.state).toBe("running")
    clock.advance(2000)
    await restarted()
    expect([one.actor.restarts, two.actor.restarts]).toEqual([1, 1])
  })
})

test("an actor moves to a thread of its own in order: its next life begins there, and the others stay", async () => {
  const { system, thread, one, two, moveTo, running, clock } = stage()
  await running()
  moveTo(inWorker("misfit"))
  await system.move("one")
  await run(one.actor.running())
  expect(one.changes).toEqual([
    "starting: spawned",
    "running: booted",
    "stopping: moves to another thread",
    "starting: moved",
    "running: booted",
  ])
  expect([one.actor.restarts, two.actor.restarts, thread.residents]).toEqual([0, 0, 2])
  await settle(one.actor.call("exit", 1))
  await until(() => one.actor.state === "backing-off")
  expect(two.actor.state).toBe("running")
  expect(clock.pending).toBe(1)
})

test("a system that stops during a move ends the actor, and its thread with the last of them", async () => {
  const { system, thread, one, running } = stage()
  await running()
  const moving = system.move("one")
  expect(await system.stop()).toEqual([])
  await moving
  expect(one.actor.state).toBe("stopped")
  expect(thread.residents).toBe(0)
})

test("an idle shared thread is found to be idle, and a busy one busy", async () => {
  const { thread, one, running } = stage()
  expect(thread.takeUtilisation()).toBe(0)
  await running()
  thread.takeUtilisation()
  await new Promise((resolve) => setTimeout(resolve, 100))
  expect(thread.takeUtilisation()).toBeLessThan(0.5)
  void settle(one.actor.call("loop", undefined))
  await until(() => thread.takeUtilisation() > 0.9)
})
