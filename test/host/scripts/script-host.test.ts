/** Scripts in real threads beside WebAssembly modules, on a sandbox over real HTTP. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest"
import { type Clock, systemClock } from "../../../src/clock.ts"
import { Sandbox } from "../../../src/sandbox/index.ts"
import { eventually } from "../../harness/eventually.ts"
import { patient } from "../../harness/patience.ts"
import { hostWithAccounts } from "../dispatcher/host-with-accounts.ts"
import { buildOddGuest } from "../dispatcher/odd-guests.ts"
import { watchingScripts } from "./watching-script.ts"

const directory = mkdtempSync(join(tmpdir(), "kubereel-scripts-"))
let guest: string
beforeAll(() => {
  guest = buildOddGuest(directory, {})
})
afterAll(() => rmSync(directory, { recursive: true, force: true }))

/** Waits of the main thread take half of their time; the beats of script threads take theirs. */
const hasty: Clock = {
  ...systemClock,
  monotonicMs: () => systemClock.monotonicMs() * 2,
  after: (delayMs, action) => systemClock.after(delayMs / 2, action),
}

const start = async (clock: Clock = systemClock) => {
  const sandbox = await Sandbox.start({ bookmarkInterval: 0 })
  onTestFinished(() => sandbox.close())
  const endpoints = { endpoint: async () => sandbox.endpoint, onUnauthorized: async () => undefined }
  const hosted = hostWithAccounts({ endpoints, clock })
  const put = (name: string, does = "", namespace = "shop"): void => {
    sandbox.put("v1.ConfigMap", { metadata: { name, namespace }, data: { does, at: String(Math.random()) } })
  }
  const statusOf = async (name: string) => (await hosted.host.scripts.statistics()).find((each) => each.name === name)
  return { sandbox, ...hosted, ...watchingScripts(hosted), addModule: hosted.add, put, statusOf }
}

describe("Scripts", { timeout: patient(60_000) }, () => {
  test("and WebAssembly modules that watch one kind cause one watch at the server", async () => {
    const { sandbox, host, add, addModule, has, hasLogged, put } = await start()
    await addModule("module", guest)
    await Promise.all(["one", "two", "three"].map((name) => add(name)))
    await add("narrow", { namespace: "shop" })
    put("a")
    await hasLogged("module", /ADDED a/)
    for (const name of ["one", "two", "three", "narrow"]) await has(name, /^is a$/m)
    expect(sandbox.requests.count({ resource: "configmaps", verb: "watch" })).toBe(1)
    expect(sandbox.requests.count({ resource: "configmaps", verb: "list" })).toBe(0)
    // The scripts of a thread share what they all select.
    const { upstreams = [] } = (await host.hubStatistics()) ?? {}
    expect(upstreams.map(({ subscriptions }) => subscriptions)).toEqual([3])
  })

  test("see their own writes at once, with the classes of the host's library, and managedFields if they ask", async () => {
    const { sandbox, host, add, has, put, statusOf } = await start()
    await add("plain")
    await add("whole", { managedFields: true })
    put("a", "write")
    await has("plain", /^wrote a yes$/m)
    put("b", "give up")
    // A TerminalError is not retried, whoever made its class.
    await eventually(async () =>
      expect((await statusOf("plain"))?.controllers[0]).toMatchObject({ terminalFailures: 1, retries: 0, depth: 0 }),
    )
    const metadata = { name: "c", namespace: "shop", managedFields: [{ manager: "m", operation: "Update" }] }
    sandbox.put("v1.ConfigMap", { metadata })
    await has("whole", /^is c with managedFields$/m)
    await has("plain", /^is c$/m)
    expect((await host.hubStatistics())?.upstreams).toHaveLength(2)
  })

  test("miss no deletion when the hub's thread ends", async () => {
    const { sandbox, host, add, has, put } = await start()
    await add("script")
    await add("narrow", { namespace: "shop" })
    for (const name of ["kept", "gone", "changed"]) put(name)
    for (const name of ["script", "narrow"]) await has(name, /^is changed$/m)
    await host.kill("hub")
    sandbox.delete("v1.ConfigMap", "shop", "gone")
    put("new")
    for (const name of ["script", "narrow"]) {
      await has(name, /^gone gone$/m)
      await has(name, /^is new$/m)
    }
    expect((await host.scripts.statistics()).map(({ missed, restarts }) => [missed, restarts])).toEqual([
      [0, 0],
      [0, 0],
    ])
  })

  test("have a request sent once more after a 401, when the host has looked for other credentials, and else fail", async () => {
    const { sandbox, add, has, put, notes } = await start()
    await add("script")
    put("first")
    await has("script", /^is first$/m)
    sandbox.faults.respond("configmaps", 401, { verb: "patch", times: 1 })
    put("a", "write")
    await has("script", /^wrote a yes$/m)
    expect([sandbox.requests.count({ verb: "patch" }), notes]).toEqual([2, []])
    sandbox.faults.respond("configmaps", 401, { verb: "patch", times: 3 })
    put("b", "write")
    await has("script", /^wrote b yes$/m)
    expect(notes).toEqual([expect.stringMatching(/^script: script shop\/b: .*[Uu]nauthorized/)])
  })

  test("that cannot be run are refused by name, and hinder no other", async () => {
    const { add, has, put, host } = await start()
    await add("good")
    await expect(add("broken", { text: "const a = 1\nexport default {" })).rejects.toThrow(
      /broken\.ts cannot be loaded: .* \(line 2 of broken\.ts\)$/,
    )
    await expect(add("thrower", { text: "const none = undefined as any\n\nexport default none.of" })).rejects.toThrow(
      /thrower\.ts cannot be loaded: Cannot read properties of undefined .* \(line 3 of thrower\.ts\)$/,
    )
    await expect(add("lost", { text: 'import "./nowhere.ts"' })).rejects.toThrow(/lost\.ts cannot be loaded: .*nowhere/)
    await expect(add("empty", { text: "export default 7" })).rejects.toThrow(/empty\.ts does not export by default/)
    const twice =
      "const one = { name: 'a', for: { kind: 'v1.Pod' }, reconcile: () => undefined }\nexport default [one, one]"
    await expect(add("twice", { text: twice })).rejects.toThrow(/twice\.ts cannot be run: .*same name/)
    put("a")
    await has("good", /^is a$/m)
    expect((await host.scripts.statistics()).map(({ name }) => name)).toEqual(["good"])
    await host.scripts.remove("good")
    await expect(add("good")).resolves.toBe(undefined)
  })
})

describe("A script that never returns", { timeout: patient(60_000) }, () => {
  test("costs modules nothing, and other scripts a restart; then it is alone, as the report says", async () => {
    const { host, add, addModule, has, hasLogged, put, notes, sandbox, statusOf } = await start(hasty)
    await addModule("module", guest)
    await add("good", { namespace: "shop" })
    await add("bad", { namespace: "lab" })
    put("before")
    await has("good", /^is before$/m)
    put("endless", "loop", "lab")
    // The module's thread and the main one go on.
    await hasLogged("module", /ADDED endless/)
    put("meanwhile")
    await hasLogged("module", /ADDED meanwhile/)
    expect(await statusOf("good")).toMatchObject({ phase: "running", restarts: 0, controllers: [] })
    await has("good", /^is meanwhile$/m)
    expect(notes).toEqual([
      expect.stringMatching(
        /^bad: its thread with 2 scripts has ended: it has not responded for 5000 ms; it runs reconcile of \S+\/bad\.ts; .* in a thread of its own$/,
      ),
    ])
    expect(await statusOf("good")).toMatchObject({ isAlone: false, restarts: 1 })
    expect((await statusOf("good"))?.controllers).toMatchObject([{ name: "good", state: "reconciling" }])
    // The offender may do what it wants now.
    await eventually(async () =>
      expect(await statusOf("bad")).toMatchObject({ phase: "running", restarts: 1, isAlone: true }),
    )
    put("after")
    await has("good", /^is after$/m)
    expect(await statusOf("good")).toMatchObject({ restarts: 1, missed: 0 })
    // It shares a thread again with the next file.
    await host.scripts.remove("bad")
    sandbox.delete("v1.ConfigMap", "lab", "endless")
    await add("bad", { namespace: "lab" })
    expect(await statusOf("bad")).toMatchObject({ isAlone: false, restarts: 0 })
  })

  test("leaves what the hub has sent it to a thread that does not take it for its own", async () => {
    const { host, add, has, put, sandbox, statusOf } = await start(hasty)
    await add("script")
    put("endless", "loop")
    await has("script", /^loops$/m)
    for (let index = 0; index < 20; index++) put(`p${index}`)
    sandbox.delete("v1.ConfigMap", "shop", "endless")
    await has("script", /^is p19$/m)
    expect(await statusOf("script")).toMatchObject({ restarts: 1, isAlone: true, missed: 0 })
    // Otherwise the hub would keep something for each thread that there ever was.
    const { subscriptions = [] } = (await host.hubStatistics()) ?? {}
    expect(subscriptions.map(({ id }) => id)).toEqual(["scripts 1 2"])
  })

  test("is found in a timer of its own too, with the next look at it", async () => {
    const { host, add, has, put, notes } = await start(hasty)
    await add("script")
    put("timer", "loop later")
    await has("script", /^is timer$/m)
    await host.scripts.recheck()
    await eventually(() => expect(notes.join("\n")).toMatch(/script: its thread has ended: it has not responded/))
  })
})

test("A script that throws outside of its runs ends its thread; it is started again alone, and sees everything", async () => {
  const { add, has, put, notes, sandbox, statusOf } = await start(hasty)
  await add("script")
  await add("other", { namespace: "lab" })
  put("a")
  await has("script", /^is a$/m)
  put("bomb", "throw later")
  await eventually(() => expect(notes.join("\n")).toMatch(/script: its thread has ended: .*thrown later/))
  sandbox.delete("v1.ConfigMap", "shop", "bomb")
  put("b")
  await has("script", /^is b$/m)
  expect(await statusOf("script")).toMatchObject({ phase: "running", isAlone: true })
  expect(await statusOf("other")).toMatchObject({ phase: "running", isAlone: false, restarts: 1 })
  expect(notes[0]).toMatch(/^script: its thread with 2 scripts has ended: [^?]*script\.ts:\d+/)
  expect(notes.filter((note) => !note.startsWith("script: "))).toEqual([])
})
