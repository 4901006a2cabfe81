/** Whose fault the end of a worker's thread is, and what its next life is told. */
import { expect, test } from "vitest"
import { EntryMark, lookEveryMs } from "../../../src/host/dispatcher/entry-mark.ts"
import { defaultHostPolicy } from "../../../src/host/dispatcher/host-policy.ts"
import type { ModuleWorkerConfig } from "../../../src/host/dispatcher/worker/definition.ts"
import { subscriptionMemory } from "../../../src/host/dispatcher/worker/subscription-numbers.ts"
import { WorkerPlace } from "../../../src/host/dispatcher/worker-place.ts"
import type { HostCommand } from "../../../src/runtime/actor-host.ts"
import { ActorSystem } from "../../../src/runtime/actor-system.ts"
import type { StartThread, ThreadObserver } from "../../../src/runtime/thread/thread.ts"
import { ManualClock } from "../../runtime/manual-clock.ts"
import { turn } from "../../runtime/until.ts"

test("a thread is ended for the module that overran its deadline, also if it has left that and entered another meanwhile", async () => {
  const clock = new ManualClock()
  const configs: ModuleWorkerConfig[] = []
  const gone: Array<number | undefined> = []
  const observers: ThreadObserver[] = []
  let mark: EntryMark | undefined
  const start: StartThread = (observer) => {
    observers.push(observer)
    return {
      send: (command: HostCommand) => {
        if (command.type !== "boot") return
        const config = command.config as ModuleWorkerConfig
        configs.push(config)
        mark = new EntryMark(config.entryMark)
        observer.event({ type: "running" })
      },
      kill: async (reason = "killed") => {
        // It takes a moment until the thread has ended.
        mark?.end()
        mark?.begin(2)
        observer.ended(reason)
      },
    }
  }
  const subscriptions = subscriptionMemory()
  let life = 0
  const place = new WorkerPlace({
    name: "w",
    system: new ActorSystem({ clock, random: () => 0 }),
    hub: { name: "hub" },
    executor: { name: "executor" },
    start,
    clock,
    imageDirectory: "",
    unloadAfterMs: undefined,
    deadlineMs: () => 500,
    subscriptions,
    restart: defaultHostPolicy.workerRestart,
    nextLife: () => ++life,
    onReport: () => undefined,
    onGone: (slot) => gone.push(slot),
  })
  await turn()
  mark?.begin(1)
  await turn()
  for (let ms = 0; ms < 1000 && gone.length === 0; ms += lookEveryMs) {
    clock.advance(lookEveryMs)
    await turn()
  }
  expect(gone).toEqual([1])
  clock.advance(1000)
  await turn()
  // So that its subscriptions have other numbers.
  expect(configs.map((config) => config.subscriptions)).toEqual([subscriptions, subscriptions])
  // Of its next end the former fault says nothing.
  mark?.begin(3)
  observers[1]?.ended("out of memory")
  expect(gone).toEqual([1, 3])
  place.close()
})
