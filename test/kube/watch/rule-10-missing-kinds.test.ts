/** Rule 10 of docs/facts/watch-protocol.md: a kind that is not installed is a state, never an end. */
import { describe, expect, test } from "vitest"
import type { Resource } from "../../../src/apiserver/kinds/resources.ts"
import { type Watched, watchedSandboxes } from "./watched-sandbox.ts"

const { start } = watchedSandboxes()

const gvk = { group: "example.com", version: "v1", kind: "Widget" }
const widget: Resource = { gvk, plural: "widgets", namespaced: true }
const putWidget = ({ sandbox }: Watched, name: string): void => {
  sandbox.put(gvk, { metadata: { name }, spec: { size: 1 } })
}

describe("rule 10", () => {
  test("rule 10: a missing kind is looked up every 10 s, and recorded from its first object on", async () => {
    const watched = await start({ gvk })
    for (let look = 1; look <= 3; look++) {
      expect(await watched.waits()).toBe(10_000)
      expect(watched.notebook.state).toBe("waiting")
      expect(watched.sandbox.requests.count({ verb: "discovery" })).toBe(look)
      await watched.passes()
      await watched.sees(() => watched.session.phase.tag === "absent")
    }
    watched.sandbox.register(widget)
    putWidget(watched, "a")
    await watched.passes()
    await watched.isWatching()
    putWidget(watched, "b")
    await watched.recovers()
    expect(watched.notebook.alive).toEqual(["a", "b"])
    expect(watched.notebook.of("list started")).toEqual(["first"])
  })

  test("rule 10: a kind that vanishes is waited for, and its deletions are recorded", async () => {
    const watched = await start({ gvk, before: (sandbox) => sandbox.register(widget) })
    await watched.isWatching()
    putWidget(watched, "a")
    putWidget(watched, "b")
    await watched.recovers()
    watched.sandbox.unregister(gvk)
    await watched.sees(() => watched.session.phase.tag === "absent")
    expect(watched.notebook.state).toBe("waiting")
    expect(watched.notebook.alive).toEqual([])
    watched.sandbox.register(widget)
    putWidget(watched, "c")
    await watched.passes()
    await watched.recovers()
    expect(watched.notebook.alive).toEqual(["c"])
    expect(watched.notebook.of("list started")).toEqual(["first"])
  })

  test("rule 10: a list that was due when the kind vanished is made when the kind returns", async () => {
    const watched = await start({ gvk, before: (sandbox) => sandbox.register(widget) })
    await watched.isWatching()
    putWidget(watched, "a")
    await watched.recovers()
    watched.sandbox.faults.expireWatches()
    watched.sandbox.unregister(gvk)
    await watched.sees(() => watched.session.phase.tag === "absent")
    expect(watched.notebook.of("list started")).toEqual(["first", "expired"])
    watched.sandbox.register(widget)
    putWidget(watched, "b")
    await watched.passes()
    await watched.sees(() => watched.notebook.of("list completed").length === 2)
    expect(watched.notebook.of("list started")).toEqual(["first", "expired", "expired"])
    expect(watched.notebook.alive).toEqual(["b"])
  })

  test("rule 10: a list after a restored cluster keeps its reason when the kind returns", async () => {
    const watched = await start({ gvk, resumeVersion: "5000", before: (sandbox) => sandbox.register(widget) })
    await watched.sees(() => watched.session.phase.tag === "probing")
    watched.sandbox.faults.respond("widgets", 404, { times: 2, verb: "watch" })
    await watched.sees(() => watched.session.phase.tag === "absent")
    await watched.passes()
    await watched.sees(() => watched.session.phase.tag === "absent")
    await watched.passes()
    await watched.isWatching()
    expect(new Set(watched.notebook.of("list started"))).toEqual(new Set(["cluster-restored"]))
  })

  test("rule 10: a failed discovery does not mean a missing kind", async () => {
    const watched = await start({
      gvk,
      before: (sandbox) => {
        sandbox.register(widget)
        sandbox.faults.respond("discovery", 503, { times: 1 })
      },
    })
    expect(await watched.waits()).toBe(800)
    expect(watched.notebook.state).toBe("failing")
    await watched.passes()
    await watched.isWatching()
  })
})
