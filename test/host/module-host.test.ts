/** Modules in real threads, on a sandbox over real HTTP: what they see, and what one of them costs the others. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setImmediate } from "node:timers/promises"
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest"
import { systemClock } from "../../src/clock.ts"
import type { ModuleHostOptions } from "../../src/host/host-options.ts"
import { defaultHostPolicy } from "../../src/host/host-options.ts"
import type { ModuleHost } from "../../src/host/module-host.ts"
import type { ModuleFile } from "../../src/host/modules/module-file.ts"
import { startHostThread } from "../../src/host/worker-entries.ts"
import { Sandbox } from "../../src/sandbox/index.ts"
import { eventually } from "../harness/eventually.ts"
import { patient } from "../harness/patience.ts"
import { hostOn } from "./dispatcher/host-on.ts"
import { buildOddGuest } from "./dispatcher/odd-guests.ts"

let guest: string
let loner: string
const directory = mkdtempSync(join(tmpdir(), "kubereel-odd-"))
afterAll(() => rmSync(directory, { recursive: true, force: true }))
beforeAll(() => {
  guest = buildOddGuest(directory, "shop")
  loner = buildOddGuest(directory, "lab")
})

let sandbox: Sandbox
let host: ModuleHost
let logs: Map<string, string[]>
let notes: string[]

/** Modules that have ended are started again sooner. */
const soon = { moduleRestart: { ...defaultHostPolicy.moduleRestart, initialMs: 200 } }

const startHost = (options: Partial<ModuleHostOptions> = {}): void => {
  host = hostOn(sandbox, {
    onLog: (module, _stream, line) => logs.get(module)?.push(line) ?? logs.set(module, [line]),
    onNote: (subject, note) => notes.push(`${subject}: ${note}`),
    ...options,
  })
}

beforeEach(async () => {
  logs = new Map()
  notes = []
  sandbox = await Sandbox.start({ bookmarkInterval: 0 })
})
afterEach(async () => {
  await host.close()
  await sandbox.close()
})

const fileOf = (name: string, limits: ModuleFile["limits"] = {}): ModuleFile => ({
  name,
  abi: "rust_v1alpha1",
  env: [],
  limits,
})
const put = (name: string, namespace = "shop"): void => {
  sandbox.put("v1.ConfigMap", { metadata: { namespace, name }, data: { at: String(Math.random()) } })
}
const hasLogged = (module: string, line: string | RegExp): Promise<void> =>
  eventually(() => {
    const found = logs.get(module) ?? []
    expect(
      found.some((each) => (typeof line === "string" ? each === line : line.test(each))),
      found.join("\n"),
    ).toBe(true)
  })
/** Requests of the module to which the API server has responded. */
const answeredOf = async (name: string) =>
  (await host.requestStatistics()).find(({ module }) => module === name)?.answered
const statusOf = async (name: string) => (await host.statistics()).find((module) => module.name === name)

/** A clock of the machine, whose next renewal of credentials can be brought forward. */
const renewable = () => {
  let renew: () => void = () => undefined
  const clock: ModuleHostOptions["clock"] = {
    ...systemClock,
    after: (delayMs, action) => {
      if (delayMs === defaultHostPolicy.renewEveryMs) renew = action
      return systemClock.after(delayMs, action)
    },
  }
  return { clock, renew: () => renew() }
}

test("50 modules that watch the same kind share one upstream watch, and each sees every object", {
  timeout: patient(60_000),
}, async () => {
  startHost({ workers: 2 })
  put("first")
  const names = Array.from({ length: 50 }, (_, index) => `module-${index}`)
  await Promise.all(names.map((name) => host.add({ file: fileOf(name), codePath: guest })))
  for (const name of names) await hasLogged(name, "ADDED first 1")
  put("second")
  for (const name of names) await hasLogged(name, "ADDED second 2")
  sandbox.delete("v1.ConfigMap", "shop", "first")
  for (const name of names) await hasLogged(name, "DELETED first 3")
  expect(sandbox.requests.count({ resource: "configmaps", verb: "watch" })).toBe(1)
  expect(new Set((await host.statistics()).map(({ worker }) => worker)).size).toBe(2)
})

test("a module is placed on the worker with the fewest others, and stays there over the end of its thread", {
  timeout: patient(60_000),
}, async () => {
  startHost({ workers: 2 })
  const names = ["a", "b", "c", "d"]
  for (const name of names) await host.add({ file: fileOf(name), codePath: guest })
  const workersOf = async () => Object.fromEntries((await host.statistics()).map(({ name, worker }) => [name, worker]))
  const placed = { a: "modules 1", b: "modules 2", c: "modules 1", d: "modules 2" }
  expect(await workersOf()).toEqual(placed)
  for (const name of names) await hasLogged(name, "run")
  await host.kill("workers")
  await eventually(async () =>
    expect((await host.statistics()).map(({ restarts, instance }) => [restarts, (instance?.wakeUps ?? 0) > 0])).toEqual(
      names.map(() => [1, true]),
    ),
  )
  expect(await workersOf()).toEqual(placed)
  await host.remove("b")
  await host.add({ file: fileOf("e"), codePath: guest })
  expect(await workersOf()).toEqual({ a: "modules 1", c: "modules 1", d: "modules 2", e: "modules 2" })
})

test("a module that traps is started again and lists again; its neighbour notices nothing", {
  timeout: patient(60_000),
}, async () => {
  startHost({ policy: soon })
  await host.add({ file: fileOf("good"), codePath: guest })
  await host.add({ file: fileOf("bad"), codePath: loner })
  put("trap", "lab")
  await eventually(() => expect(notes.join("\n")).toMatch(/bad: .*unreachable.*started again in \d+ ms/))
  sandbox.delete("v1.ConfigMap", "lab", "trap")
  put("fine", "lab")
  await hasLogged("bad", "ADDED fine 1")
  put("a")
  await hasLogged("good", "ADDED a 1")
  expect(logs.get("good")?.filter((line) => line === "run")).toHaveLength(1)
  expect(await statusOf("bad")).toMatchObject({ phase: "running", restarts: 1, isAlone: false })
  expect(await statusOf("good")).toMatchObject({ phase: "running", restarts: 0 })
})

test("a module that never returns costs its neighbour one restart and no event, and is alone afterwards", {
  timeout: patient(60_000),
}, async () => {
  startHost({ policy: soon })
  await host.add({ file: fileOf("good"), codePath: guest })
  await host.add({ file: fileOf("bad"), codePath: loner })
  await hasLogged("bad", "run")
  put("before")
  await hasLogged("good", "ADDED before 1")
  put("loop", "lab")
  put("during")
  await hasLogged("good", /ADDED during/)
  await eventually(async () => expect(await statusOf("bad")).toMatchObject({ isAlone: true, restarts: 1 }))
  await eventually(async () => expect((await statusOf("bad"))?.restarts).toBeGreaterThan(1))
  put("after")
  await hasLogged("good", /ADDED after/)
  expect(logs.get("good")?.filter((line) => line === "run")).toHaveLength(2)
  const [good, bad] = [await statusOf("good"), await statusOf("bad")]
  expect(bad?.worker).not.toBe(good?.worker)
  expect(good).toMatchObject({ restarts: 1, isAlone: false })
})

test("a module that wants more memory than it may have or writes outside of it ends, and one that floods is slowed; none disturbs others", {
  timeout: patient(60_000),
}, async () => {
  startHost({ policy: soon })
  await host.add({ file: fileOf("good"), codePath: guest })
  await host.add({ file: fileOf("bad", { memoryBytes: 32 * 1024 * 1024 }), codePath: loner })
  await hasLogged("bad", "run")
  put("eat", "lab")
  await eventually(() => expect(notes.join("\n")).toMatch(/bad: .*of 33554432 bytes of memory/))
  sandbox.delete("v1.ConfigMap", "lab", "eat")
  put("outside", "lab")
  await eventually(() => expect(notes.join("\n")).toMatch(/bad: .*memory access out of bounds/))
  sandbox.delete("v1.ConfigMap", "lab", "outside")
  put("flood", "lab")
  await hasLogged("bad", "ADDED flood 1")
  put("a")
  await hasLogged("good", "ADDED a 1")
  expect(logs.get("good")?.filter((line) => line === "run")).toHaveLength(1)
  // An executor on a busy machine may not respond within the second that its statistics have.
  await eventually(async () => {
    const sent = (await host.requestStatistics()).find(({ module }) => module === "bad")
    expect(sent).toMatchObject({ requests: 5000 })
  })
  expect(sandbox.requests.count({ verb: "get" })).toBeLessThan(500)
})

test("after a crash of the hub the watches end, and the guests list again; after one of the executor they go on", {
  timeout: patient(60_000),
}, async () => {
  startHost()
  await host.add({ file: fileOf("good"), codePath: guest })
  put("a")
  await hasLogged("good", "ADDED a 1")
  await host.kill("hub")
  await hasLogged("good", "end")
  sandbox.delete("v1.ConfigMap", "shop", "a")
  put("b")
  await hasLogged("good", /ADDED b/)
  await host.kill("executor")
  put("c")
  await hasLogged("good", /ADDED c/)
  expect(notes.join("\n")).toMatch(
    /hub: it has ended and is started again.*executor: it has ended and is started again/s,
  )
  expect(logs.get("good")?.filter((line) => line === "run")).toHaveLength(1)
})

test("a removed module is not woken any more, and what is no module is refused by name", {
  timeout: patient(60_000),
}, async () => {
  startHost()
  await host.add({ file: fileOf("good"), codePath: guest })
  await host.add({ file: fileOf("gone"), codePath: guest })
  await host.add({ file: fileOf("text"), codePath: import.meta.filename })
  await eventually(async () => expect(await statusOf("text")).toMatchObject({ phase: "refused" }))
  expect((await statusOf("text"))?.reason).toMatch(/module text is refused/)
  await hasLogged("gone", "run")
  await expect(host.add({ file: fileOf("good"), codePath: guest })).rejects.toThrow(/good is running already/)
  await host.remove("gone")
  put("a")
  await hasLogged("good", "ADDED a 1")
  expect(logs.get("gone")).toEqual(["run"])
  expect((await host.statistics()).map(({ name }) => name)).toEqual(["good", "text"])
})

test("a module that held up its worker can be removed while it waits for its restart, and alone; its neighbours live on", {
  timeout: patient(60_000),
}, async () => {
  startHost()
  await host.add({ file: fileOf("good"), codePath: guest })
  await host.add({ file: fileOf("bad"), codePath: loner })
  await hasLogged("bad", "run")
  put("loop", "lab")
  await eventually(async () => expect(await statusOf("bad")).toMatchObject({ isAlone: true, phase: "waiting" }))
  await host.remove("bad")
  put("a")
  await hasLogged("good", /ADDED a/)
  // Once more, until it has a worker of its own.
  await host.add({ file: fileOf("bad"), codePath: loner })
  await eventually(async () => expect(await statusOf("bad")).toMatchObject({ isAlone: true, restarts: 1 }))
  await host.remove("bad")
  await eventually(async () => expect((await host.hubStatistics())?.subscriptions).toHaveLength(1))
  put("b")
  await hasLogged("good", /ADDED b/)
})

test("a module that is removed while it does not return is ended at its deadline", {
  timeout: patient(60_000),
}, async () => {
  startHost()
  await host.add({ file: fileOf("good"), codePath: guest })
  await host.add({ file: fileOf("bad"), codePath: loner })
  await hasLogged("bad", "run")
  put("loop", "lab")
  await hasLogged("bad", "loops")
  await host.remove("bad")
  put("a")
  await hasLogged("good", /ADDED a/)
  expect((await statusOf("good"))?.restarts).toBe(1)
})

test("a module that is removed while its credentials are fetched does not run, and one that replaces it does", {
  timeout: patient(60_000),
}, async () => {
  let release: () => void = () => undefined
  let isFetched = new Promise<void>((resolve) => {
    release = resolve
  })
  const endpoint = async () => {
    await isFetched
    return sandbox.endpoint
  }
  startHost({ identityOf: () => ({ endpoint, onUnauthorized: async () => undefined }) })
  const added = host.add({ file: fileOf("late"), codePath: guest })
  const removed = host.remove("late")
  release()
  await Promise.all([added, removed])
  expect(await host.statistics()).toEqual([])
  expect(await host.requestStatistics()).toEqual([])

  await host.add({ file: fileOf("late"), codePath: loner })
  const before = (await statusOf("late"))?.instance?.incarnation ?? 0
  isFetched = Promise.resolve()
  void host.remove("late")
  await host.add({ file: fileOf("late"), codePath: loner })
  await eventually(async () => expect((await statusOf("late"))?.instance?.incarnation).toBeGreaterThan(before))
  put("flood", "lab")
  // Its requests are carried out: nothing that its namesake left behind is taken for its own.
  await eventually(async () => expect(await answeredOf("late")).toBeGreaterThan(5))
})

test("the subscriptions of a worker's next life have other numbers, because rows for the former ones may be under way", {
  timeout: patient(60_000),
}, async () => {
  startHost()
  await host.add({ file: fileOf("good"), codePath: guest })
  put("a")
  await hasLogged("good", "ADDED a 1")
  const idsOf = async () => (await host.hubStatistics())?.subscriptions.map(({ id }) => id)
  const before = await idsOf()
  await host.kill("workers")
  put("b")
  await hasLogged("good", /ADDED b/)
  const after = await idsOf()
  expect([before?.length, after?.length]).toEqual([1, 1])
  expect(after).not.toEqual(before)
})

test("credentials that were fetched for a module do not reach another that has taken its name meanwhile", {
  timeout: patient(60_000),
}, async () => {
  const { clock, renew } = renewable()
  let fetches = 0
  let give: () => void = () => undefined
  const nowhere = { ...sandbox.endpoint, server: "http://127.0.0.1:9" } as never
  // Of the first module: its second fetch takes long.
  const former = async () => {
    if (fetches++ > 0)
      await new Promise<void>((resolve) => {
        give = resolve
      })
    return fetches > 1 ? nowhere : sandbox.endpoint
  }
  let isReplaced = false
  startHost({
    clock,
    identityOf: () => ({
      endpoint: isReplaced ? async () => sandbox.endpoint : former,
      onUnauthorized: async () => undefined,
    }),
  })
  await host.add({ file: fileOf("heir"), codePath: loner })
  renew()
  await eventually(() => expect(fetches).toBe(2))
  await host.remove("heir")
  isReplaced = true
  await host.add({ file: fileOf("heir"), codePath: loner })
  give()
  put("flood", "lab")
  await eventually(async () => expect(await answeredOf("heir")).toBeGreaterThan(5))
})

test.each([
  ["the same again", async (): Promise<void> => undefined],
  ["none", (): Promise<void> => Promise.reject(new Error("the plugin has failed"))],
] as const)(
  "a module that gets a 401 again and again is told so each time, and does not wait, if after it there are %s",
  {
    timeout: patient(60_000),
  },
  async (_, onUnauthorized) => {
    // The same object, by which sources say that nothing has changed.
    const unchanged = sandbox.endpoint
    startHost({ identityOf: () => ({ endpoint: async () => unchanged, onUnauthorized }) })
    await host.add({ file: fileOf("refused"), codePath: loner })
    put("a", "lab")
    // From here on the hub needs no discovery.
    await hasLogged("refused", "ADDED a 1")
    sandbox.faults.respond("discovery", 401)
    put("flood", "lab")
    await hasLogged("refused", "ADDED flood 2")
    // More than are sent at the same time, so that the first of them have been answered.
    await eventually(async () => expect(await answeredOf("refused")).toBeGreaterThan(20))
  },
)

test.each(["hub", "executor"] as const)(
  "credentials that change while the thread of the %s is starting reach it",
  {
    timeout: patient(60_000),
  },
  async (role) => {
    const good = sandbox.endpoint
    const nowhere = { ...good, server: "http://127.0.0.1:9" }
    const of = { hub: good, executor: good }
    const sourceOf = (each: typeof role) => ({ endpoint: async () => of[each], onUnauthorized: async () => undefined })
    const { clock, renew } = renewable()
    startHost({
      clock,
      endpoints: sourceOf("hub"),
      identityOf: () => sourceOf("executor"),
      start: (started) => (listener) => {
        const thread = startHostThread(started)(listener)
        // Its configuration has been read, and it does not run yet.
        if (started === role && of[role] === nowhere) {
          of[role] = good
          renew()
        }
        return thread
      },
    })
    await host.add({ file: fileOf("good"), codePath: loner })
    await hasLogged("good", "run")
    of[role] = nowhere as never
    renew()
    // Renewals wait for nothing but each other.
    await setImmediate()
    await host.kill(role)
    put("flood", "lab")
    await eventually(async () => expect(await answeredOf("good")).toBeGreaterThan(5))
  },
)
