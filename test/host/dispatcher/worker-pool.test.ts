/**
 * Workers that come and go, with a real hub and a real executor, in the thread of the test; whose fault the end of a worker's thread is, and what
 * its next life is told.
 */
import { expect, onTestFinished, test } from "vitest"
import { systemClock } from "../../../src/clock.ts"
import { ask } from "../../../src/host/dispatcher/actor-calls.ts"
import { EntryMark, lookEveryMs } from "../../../src/host/dispatcher/worker/entry-mark.ts"
import { moduleWorkerBody } from "../../../src/host/dispatcher/worker/module-worker-actor.ts"
import {
  type ModuleWorkerConfig,
  moduleWorkerDefinition,
} from "../../../src/host/dispatcher/worker/module-worker-interface.ts"
import { WorkerPool } from "../../../src/host/dispatcher/worker-pool.ts"
import { executorBody } from "../../../src/host/executor/executor-actor.ts"
import { executorDefinition, executorName } from "../../../src/host/executor/executor-interface.ts"
import { defaultHostPolicy } from "../../../src/host/host-options.ts"
import { hubBody } from "../../../src/host/hub/hub-actor.ts"
import { hubDefinition } from "../../../src/host/hub/hub-interface.ts"
import type { HostCommand } from "../../../src/runtime/actor-host.ts"
import { ActorSystem, localThread, type StartThread, type ThreadObserver } from "../../../src/runtime/index.ts"
import { Sandbox } from "../../../src/sandbox/index.ts"
import { ManualClock } from "../../runtime/manual-clock.ts"
import { turn } from "../../runtime/until.ts"

test("a hundred workers that come and go one after the other leave nothing at hub and executor, and share a name", async () => {
  const sandbox = await Sandbox.start()
  const system = new ActorSystem({ clock: systemClock })
  const hub = system.spawn({
    definition: hubDefinition,
    name: "hub",
    start: localThread(hubDefinition, hubBody, systemClock),
    config: () => ({ endpoint: sandbox.endpoint, userAgent: "kubereel/test" }),
    incarnation: () => 1,
  })
  const executor = system.spawn({
    definition: executorDefinition,
    name: executorName,
    start: localThread(executorDefinition, executorBody, systemClock),
    config: () => ({ modules: [] }),
    incarnation: () => 1,
  })
  const pool = new WorkerPool({
    system,
    hub,
    executor,
    shared: 1,
    start: localThread(moduleWorkerDefinition, moduleWorkerBody, systemClock),
    clock: systemClock,
    restart: defaultHostPolicy.workerRestart,
    deadlineMs: () => Number.POSITIVE_INFINITY,
    onReport: () => undefined,
    onGone: () => undefined,
  })
  onTestFinished(async () => {
    pool.close()
    await system.stop()
    await sandbox.close()
  })
  const outboxesOf = async (name: string): Promise<ReadonlyArray<string>> => {
    const status = (await system.status()).find((actor) => actor.name === name)
    return Object.keys(status?.metrics?.outboxes ?? {})
  }
  await ask(hub.running())
  await ask(executor.running())
  const names = new Set<string>()
  for (let id = 0; id < 100; id++) {
    const worker = pool.spawn()
    names.add(worker.name)
    await worker.running()
    await ask(hub.call("subscribe", { receiver: worker.name, id, gvk: "v1.ConfigMap" }))
    // So the test would notice: the mailboxes are there while the worker is.
    expect(await outboxesOf("hub")).toEqual([`deliveries to ${worker.name}`])
    expect(await outboxesOf(executorName)).toContain(`completions of ${worker.name}`)
    await pool.remove(worker)
  }
  expect([...names]).toEqual(["modules 2"])
  expect(pool.all.map(({ name }) => name)).toEqual(["modules 1"])
  expect(await outboxesOf("hub")).toEqual([])
  expect(await outboxesOf(executorName)).toEqual(["completions of modules 1"])
  expect((await ask(hub.call("statistics", undefined))).subscriptions).toEqual([])
})

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
  const pool = new WorkerPool({
    system: new ActorSystem({ clock, random: () => 0 }),
    // Only their names are needed.
    hub: { name: "hub" } as never,
    executor: { name: "executor" } as never,
    shared: 1,
    start,
    clock,
    restart: defaultHostPolicy.workerRestart,
    deadlineMs: () => 500,
    onReport: () => undefined,
    onGone: (_worker, slot) => gone.push(slot),
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
  expect(configs).toHaveLength(2)
  expect(configs[1]?.lastSubscription).toBe(configs[0]?.lastSubscription)
  // Of its next end the former fault says nothing.
  mark?.begin(3)
  observers[1]?.ended("out of memory")
  expect(gone).toEqual([1, 3])
  pool.close()
})
