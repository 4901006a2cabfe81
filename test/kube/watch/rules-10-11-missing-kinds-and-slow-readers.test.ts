/** Rule 10 of docs/facts/watch-protocol.md: a kind that is not installed is a state, never an end. */
import { describe, expect, test } from "vitest"
import type { Resource } from "../../../src/apiserver/index.ts"
import { holding, type Watched, watchedSandboxes } from "./watched-sandbox.ts"

// Rule 11 of docs/facts/watch-protocol.md: the server hangs up on a reader that blocks, which then resumes where it was.

const { start, watching } = watchedSandboxes()

const slowReaderLimit = 256 * 1024
const padding = "x".repeat(20_000)

/** Stops reading at the next event, changes objects until every buffer is full, and makes the server hang up. */
const stallUntilHungUp = async (watched: Watched): Promise<void> => {
  const { notebook, sandbox, clock } = watched
  notebook.onObserved = () => {
    notebook.isWritable = false
  }
  for (let change = 0; change < 1000; change++)
    watched.put(`object-${change % 50}`, { change: String(change), padding })
  watched.delete("object-1")
  await watched.sees(() => notebook.events.length > 0)
  for (let rounds = 0; rounds < 100; rounds++) await watched.sees(() => true)
  clock.advance(100)
  await watched.sees(() => sandbox.watchCount() === 0)
  expect(sandbox.faults.count("slow-reader")).toBe(1)
  expect(notebook.events.length).toBeLessThan(1001)
  notebook.onObserved = undefined
}
const unblock = ({ notebook, session }: Watched): void => {
  notebook.isWritable = true
  session.resume()
}

describe("rule 11", () => {
  test("rule 11: a reader stalled until the server hangs up resumes with nothing lost", async () => {
    const watched = await watching({ before: holding("a"), sandbox: { slowReaderLimit } })
    await stallUntilHungUp(watched)
    const seen = watched.notebook.events.length
    clockRuns(watched)
    expect(watched.notebook.events).toHaveLength(seen)
    unblock(watched)
    await watched.recovers()
    expect(watched.notebook.events).toEqual(watched.ledger().slice(1))
    expect(watched.notebook.of("list started")).toEqual(["first"])
  })

  test("rule 11: what the server forgot meanwhile is a gap caused by us", async () => {
    const watched = await watching({ before: holding("a"), sandbox: { slowReaderLimit, historyLimit: 100 } })
    await stallUntilHungUp(watched)
    unblock(watched)
    await watched.seesLater(() => watched.notebook.of("list completed").length === 2)
    expect(watched.notebook.of("list started")).toEqual(["first", "overload"])
    expect(watched.notebook.alive).toHaveLength(50)
    // A later expiry has nothing to do with it.
    await watched.isWatching()
    watched.put("a")
    await watched.caughtUp()
    watched.sandbox.faults.expireWatches()
    await watched.sees(() => watched.notebook.of("list completed").length === 3)
    expect(watched.notebook.of("list started")).toEqual(["first", "overload", "expired"])
  })

  test("rule 11: a stall without loss does not make us responsible for a later expiry", async () => {
    const watched = await watching({ before: holding("a"), sandbox: { slowReaderLimit } })
    await stallUntilHungUp(watched)
    unblock(watched)
    await watched.recovers()
    watched.put("a")
    watched.sandbox.faults.endWatches()
    await watched.recovers()
    await watched.isWatching()
    watched.sandbox.faults.expireWatches()
    await watched.sees(() => watched.notebook.of("list completed").length === 2)
    expect(watched.notebook.of("list started")).toEqual(["first", "expired"])
  })

  test("rule 11: streams due while nothing may be read are opened later, once", async () => {
    const watched = await watching({ before: holding("a") })
    watched.notebook.isWritable = false
    watched.put("b")
    await watched.caughtUp()
    watched.clock.advance(295_000)
    expect(watched.session.phase).toMatchObject({ tag: "watching", successor: expect.any(Number) })
    for (let rounds = 0; rounds < 20; rounds++) await watched.sees(() => true)
    expect(watched.sandbox.watchCount()).toBe(1)
    unblock(watched)
    await watched.sees(() => watched.sandbox.watchCount() === 2)
    watched.put("c")
    await watched.caughtUp()
    expect(watched.notebook.events).toEqual(watched.ledger().slice(1))
  })

  test("rule 11: a session stopped while blocked opens and delivers nothing more", async () => {
    const watched = await watching({ before: holding("a") })
    watched.notebook.isWritable = false
    watched.put("b")
    await watched.caughtUp()
    watched.put("c")
    watched.clock.advance(295_000)
    watched.session.stop()
    const { length } = watched.notebook.story
    unblock(watched)
    await watched.sees(() => watched.sandbox.watchCount() === 0)
    expect(watched.notebook.story).toHaveLength(length)
    expect(watched.sandbox.requests.count({ verb: "watch" })).toBe(1)
  })
})

/** Ten minutes in which an unread stream must not be considered dead. */
const clockRuns = (watched: Watched): void => {
  for (let seconds = 0; seconds < 250; seconds++) watched.clock.advance(1000)
  expect(watched.session.phase.tag).toBe("watching")
}

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
