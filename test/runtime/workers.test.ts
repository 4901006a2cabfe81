/** Actors in real worker threads that fail in every way they can. Deadlines and back-off run on a clock that the test moves. */
import { execFile } from "node:child_process"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import * as Effect from "effect/Effect"
import { afterEach, describe, expect, test } from "vitest"
import type { MemoryLimits } from "../../src/runtime/actor.ts"
import { ActorSystem } from "../../src/runtime/actor-system.ts"
import { type ActorGaveUp, ActorGone, CallDeadlineExceeded, CallDefect } from "../../src/runtime/errors.ts"
import type { ActorState, Supervisor } from "../../src/runtime/supervisor.ts"
import { type StartThread, workerThread } from "../../src/runtime/thread.ts"
import { testWorker } from "../harness/test-worker.ts"
import { ManualClock } from "./manual-clock.ts"
import { type MisfitConfig, misfit, Refused } from "./toys/misfit.ts"
import { inWorker } from "./toys/toy-worker.ts"
import { until } from "./until.ts"

type Misfit = Supervisor<MisfitConfig, (typeof misfit)["control"], string>

interface Scene {
  readonly system: ActorSystem
  readonly clock: ManualClock
  readonly actor: Misfit
  /** `state: reason`, first line only. */
  readonly changes: ReadonlyArray<string>
  readonly reports: ReadonlyArray<string>
  readonly gaveUp: ReadonlyArray<ActorGaveUp>
  /** Lets the back-off pass and waits for the next life to run. */
  restarted(): Promise<void>
  came(state: ActorState): Promise<void>
}

const systems: Array<{ readonly system: ActorSystem; readonly clock: ManualClock; readonly actor: Misfit }> = []
afterEach(async () => {
  for (const { system, clock, actor } of systems.splice(0)) {
    const stopped = system.stop()
    await actor.kill()
    clock.advance(0)
    await stopped
  }
})

const stage = (
  boot: MisfitConfig["boot"] | ((life: number) => MisfitConfig["boot"]) = "run",
  start?: StartThread,
): Scene => {
  const clock = new ManualClock()
  const system = new ActorSystem({ clock, random: () => 0 })
  const changes: Array<string> = []
  const reports: Array<string> = []
  const gaveUp: Array<ActorGaveUp> = []
  let lives = 0
  const actor = system.spawn({
    definition: misfit,
    name: "misfit",
    start: start ?? inWorker("misfit"),
    config: () => ({ boot: typeof boot === "string" ? boot : boot(lives + 1) }),
    incarnation: () => ++lives,
    onStateChange: (state, reason) => changes.push(`${state}: ${reason.split("\n")[0]}`),
    onReport: (report) => reports.push(report),
    onGaveUp: (error) => gaveUp.push(error),
  })
  const came = (state: ActorState): Promise<void> => until(() => actor.state === state)
  systems.push({ system, clock, actor })
  return {
    system,
    clock,
    actor,
    changes,
    reports,
    gaveUp,
    came,
    async restarted() {
      await came("backing-off")
      clock.advance(clock.untilNext ?? 0)
      await Effect.runPromise(actor.running())
    },
  }
}

const run = Effect.runPromise
const failure = <Value, Failure>(effect: Effect.Effect<Value, Failure>): Promise<Failure> => run(Effect.flip(effect))

describe("calling an actor in a worker", () => {
  test("payloads and results cross with their types, errors with their tag and fields, defects as CallDefect", async () => {
    const { actor } = stage()
    expect(await failure(actor.call("hang", undefined))).toMatchObject({ _tag: "ActorGone", reason: "it is starting" })
    await run(actor.running())
    const payload = { text: "grüße 🎞", level: -3, at: new Date(1234) }
    expect(await run(actor.call("echo", payload))).toEqual(payload)
    const refused = await failure(actor.call("refuse", "a pony"))
    expect(refused).toBeInstanceOf(Refused)
    expect(refused).toMatchObject({ wish: "a pony", seen: new Date(86_400_000), message: "refused: a pony" })
    const defect = await failure(actor.call("die", "a bug"))
    expect(defect).toBeInstanceOf(CallDefect)
    expect(defect.message).toMatch(/^actor misfit failed unexpectedly in die: Error: a bug/)
    expect(actor.state).toBe("running")
  })

  test("calls in flight fail with ActorGone as soon as the thread is killed, without waiting for a deadline", async () => {
    const { actor, clock } = stage()
    await run(actor.running())
    const calls = [failure(actor.call("hang", undefined)), failure(actor.call("loop", undefined))]
    await actor.kill()
    for (const error of await Promise.all(calls)) {
      expect(error).toBeInstanceOf(ActorGone)
      expect(error.message).toBe("actor misfit is gone: killed")
    }
    expect(await failure(actor.call("hang", undefined))).toMatchObject({ reason: "it is backing-off" })
    // Only the back-off is left.
    expect(clock.pending).toBe(1)
  })

  test("a thread that is busy for ever misses the deadline, and can still be killed and restarted", async () => {
    const { actor, clock, restarted } = stage()
    await run(actor.running())
    const call = failure(actor.call("loop", undefined, 40))
    await until(() => clock.pending === 1)
    clock.advance(40)
    expect(await call).toBeInstanceOf(CallDeadlineExceeded)
    const metrics = actor.metrics(30)
    clock.advance(30)
    expect(await metrics).toBeUndefined()
    await actor.kill()
    await restarted()
    expect(await run(actor.call("echo", { text: "again", level: 2, at: new Date(0) }))).toMatchObject({ level: 2 })
    expect((await actor.metrics())?.heapUsedBytes).toBeGreaterThan(0)
  })
})

describe("a worker that", () => {
  test.each([
    ["throws outside of any Effect", "throwLater", "thrown", /^Error: thrown$/],
    ["leaves a rejection unhandled", "rejectLater", "rejected", /^Error: rejected$/],
    ["crashes itself", "crashLater", "crashed", /^Error: crashed$/],
    ["ends its thread", "exit", 3, /^the thread exited with code 3$/],
  ] as const)("%s is started again, and the reason is known", async (_what, method, argument, reason) => {
    const { actor, changes, reports, restarted } = stage()
    await run(actor.running())
    // The thread may or may not answer before it ends.
    await Effect.runPromiseExit(actor.call(method, argument as never))
    await restarted()
    const [why] = changes.filter((change) => change.startsWith("backing-off"))
    expect(why?.replace("backing-off: ", "")).toMatch(reason)
    expect(reports).toEqual(["life 1", "life 2"])
  })

  test("exceeds the memory of its role is ended by V8 and restarted, with that as the reason", async () => {
    const small: MemoryLimits = { oldGenerationMb: 24, youngGenerationMb: 2 }
    const { actor, changes, restarted } = stage("run", inWorker("misfit", small))
    await run(actor.running())
    expect(await failure(actor.call("hoard", undefined))).toBeInstanceOf(ActorGone)
    await restarted()
    expect(changes.find((change) => change.startsWith("backing-off"))).toMatch(/memory limit/)
    expect((await actor.metrics())?.heapUsedBytes).toBeLessThan(24 * 1024 * 1024)
  })

  test("throws while it boots is restarted", async () => {
    const { actor, changes, restarted } = stage((life) => (life === 1 ? "throw" : "run"))
    await restarted()
    expect(changes).toContain("backing-off: Error: thrown while booting")
    expect(actor.restarts).toBe(1)
  })

  test("fails to boot with a tagged error is not restarted, and the reason has its tag", async () => {
    const { gaveUp, came } = stage("fail")
    await came("gave-up")
    expect(gaveUp.map(({ lastReason }) => lastReason)).toEqual(["Refused: refused: to boot"])
  })

  test.each(["wait", "loop"] as const)("is killed while it boots (%s) is restarted", async (boot) => {
    const { actor, reports, restarted } = stage((life) => (life === 1 ? boot : "run"))
    await until(() => reports.length === 1)
    expect(actor.state).toBe("starting")
    await actor.kill()
    await restarted()
    expect(reports).toEqual(["life 1", "life 2"])
  })

  test("is killed before its code is loaded is restarted", async () => {
    const { actor, reports, restarted } = stage()
    await until(() => actor.thread !== undefined)
    await actor.kill()
    await restarted()
    expect(reports).toEqual(["life 2"])
  })

  test("cannot be loaded backs off and reports what was not found", async () => {
    const { changes, came } = stage(
      "run",
      workerThread(testWorker("nobody"), { oldGenerationMb: 32, youngGenerationMb: 2 }),
    )
    await came("backing-off")
    expect(changes.at(-1)).toMatch(/^backing-off: .*Cannot find module .*nobody/)
  })

  test("cannot receive its config does not keep running", async () => {
    let ended = 0
    const watched: StartThread = (observer) =>
      inWorker("misfit")({
        event: (event) => observer.event(event),
        ended: (reason) => {
          ended++
          observer.ended(reason)
        },
      })
    const clock = new ManualClock()
    const system = new ActorSystem({ clock, random: () => 0 })
    const changes: Array<string> = []
    const actor = system.spawn({
      definition: misfit,
      name: "misfit",
      start: watched,
      config: () => ({ boot: "run", secret: () => undefined }) as MisfitConfig,
      incarnation: () => 1,
      onStateChange: (state, reason) => changes.push(`${state}: ${reason}`),
    })
    await until(() => ended === 1)
    expect(changes.at(-1)).toMatch(/^backing-off: could not start: .*could not be cloned/)
    expect(actor.thread).toBeUndefined()
    expect(await system.stop()).toEqual([])
    expect(clock.pending).toBe(0)
  })
})

describe("stopping", () => {
  test("an actor that waits while it boots is orderly", async () => {
    const { system, actor, reports, changes } = stage("wait")
    await until(() => reports.length === 1)
    expect(await system.stop()).toEqual([])
    expect(actor.state).toBe("stopped")
    expect(changes.at(-1)).toBe("stopped: the thread exited with code 0")
  })

  test.each([
    ["in an endless loop", "loop"],
    ["whose finalizer does not end", "close"],
  ] as const)("an actor %s is bounded by its time to drain and 2 s more", async (_what, boot) => {
    const { system, actor, reports, clock, changes } = stage(boot)
    await until(() => reports.length === 1 && (boot === "loop" || actor.state === "running"))
    let stopped: ReadonlyArray<string> | undefined
    const stopping = system.stop().then((undrained) => {
      stopped = undrained
    })
    await until(() => clock.pending === 1)
    clock.advance(6999)
    await run(Effect.yieldNow)
    expect(stopped).toBeUndefined()
    clock.advance(1)
    await stopping
    expect(stopped).toEqual(["misfit"])
    expect(changes.at(-1)).toBe("stopped: killed")
    expect(clock.pending).toBe(0)
  })

  test("leaves nothing behind that keeps the process alive", async () => {
    const script = fileURLToPath(new URL("toys/come-and-go.ts", import.meta.url))
    const { stdout } = await promisify(execFile)(process.execPath, [script])
    expect(stdout).toMatch(/^stopped, undrained: \[\]\nnothing left: [^A-Z]*(PipeWrap(, )?)*\n$/)
  })
})
