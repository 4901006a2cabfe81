/** Rules 5 and 9 of docs/facts/watch-protocol.md: servers that ask clients to wait, and servers whose versions keep expiring. */
import { describe, expect, test } from "vitest"
import { holding, type Watched, watchedSandboxes } from "./watched-sandbox.ts"

const { start, watching } = watchedSandboxes()

/** Ends the watch after an event, so that it is opened again at once. */
const reopen = (watched: Watched): string => {
  const change = watched.put("a")
  watched.sandbox.faults.endWatches()
  return change
}
const resumedAt = (watched: Watched): ReadonlyArray<string | null> =>
  watched
    .queries("watch")
    .filter((query) => !query.has("sendInitialEvents"))
    .map((query) => query.get("resourceVersion"))

describe("rule 5", () => {
  test.each([429, 503])(
    "rule 5: %d with Retry-After waits that long and resumes at the same version",
    async (status) => {
      const watched = await watching({ before: holding("a") })
      watched.sandbox.faults.respond("configmaps", status, { verb: "watch", times: 2, retryAfterSeconds: 7 })
      const version = reopen(watched).split("@")[1]
      expect(await watched.waits()).toBe(7000)
      expect(watched.notebook.state).toBe("failing")
      await watched.passes()
      await watched.sees(() => watched.sandbox.faults.count("answered") === 2)
      const missed = watched.put("b")
      expect(await watched.passes()).toBe(7000)
      await watched.isWatching()
      await watched.caughtUp()
      expect(resumedAt(watched)).toEqual([version, version, version])
      expect(watched.notebook.events.at(-1)).toBe(`applied ${missed}`)
      expect(watched.notebook.of("list started")).toEqual(["first"])
    },
  )

  test.each([31, 1800, 1e9])(
    "rule 5: a Retry-After of %d s is cut to between 30 and 60 s, because the history ends, and the state says when",
    async (retryAfterSeconds) => {
      for (const random of [0, 0.999]) {
        const watched = await watching({ before: holding("a"), random: () => random })
        watched.sandbox.faults.respond("configmaps", 429, { verb: "watch", times: 1, retryAfterSeconds })
        reopen(watched)
        const ms = await watched.waits()
        expect(ms).toBeCloseTo(30_000 * (1 + random))
        const at = new Date(watched.clock.wallMicros() / 1000 + ms).toISOString().slice(0, 19)
        expect(watched.notebook.of("state").at(-1)).toMatch(
          new RegExp(`; the server asks to wait for \\d+ s, the next attempt is at ${at}Z$`),
        )
        await watched.passes()
        await watched.isWatching()
      }
    },
  )

  test("rule 5: the back-off applies if it is longer than Retry-After", async () => {
    const watched = await watching({ before: holding("a") })
    watched.sandbox.faults.respond("configmaps", 429, { verb: "watch", times: 4, retryAfterSeconds: 1 })
    reopen(watched)
    const waits: number[] = []
    for (let refusal = 1; refusal <= 4; refusal++) {
      await watched.sees(() => watched.sandbox.faults.count("answered") === refusal)
      waits.push(await watched.passes())
    }
    expect(waits).toEqual([1000, 1600, 3200, 6400])
    await watched.isWatching()
  })

  test("rule 5: 429 and 500 inside the stream keep the version too", async () => {
    const watched = await watching({ before: holding("a") })
    const status = { kind: "Status", status: "Failure", code: 429, details: { retryAfterSeconds: 5 } }
    watched.sandbox.faults.garbage("configmaps", JSON.stringify({ type: "ERROR", object: status }))
    expect(await watched.passes()).toBe(5000)
    await watched.isWatching()
    watched.sandbox.faults.garbage("configmaps", '{"type":"ERROR","object":{"kind":"Status","code":500}}')
    const missed = watched.put("b")
    expect(await watched.passes()).toBe(1600)
    await watched.isWatching()
    await watched.caughtUp()
    expect(watched.notebook.events).toEqual([`applied ${missed}`])
    expect(watched.notebook.of("list started")).toEqual(["first"])
  })

  test("rule 5: Retry-After applies to a list, too", async () => {
    const watched = await start({
      before: (sandbox) => sandbox.faults.respond("configmaps", 429, { times: 1, retryAfterSeconds: 3 }),
    })
    expect(await watched.passes()).toBe(3000)
    await watched.isWatching()
  })

  test("rule 5: a missing permission is a state of its own, retried soon, since starting servers reject everything, then every 30 s, with a hint how to fix it", async () => {
    const watched = await watching({ before: holding("a") })
    watched.sandbox.faults.respond("configmaps", 403, { verb: "watch", times: 8 })
    reopen(watched)
    for (const ms of [800, 1600, 3200, 6400, 12_800, 25_600, 30_000]) expect(await watched.passes()).toBe(ms)
    expect(await watched.waits()).toBe(30_000)
    expect(watched.notebook.state).toBe("forbidden")
    expect(watched.notebook.of("state").at(-1)).toContain(
      '{apiGroups: [""], resources: ["configmaps"], verbs: ["get", "list", "watch"]}',
    )
    await watched.passes()
    await watched.isWatching()
  })

  test("rule 5: rejected credentials are reported, and new ones tried at once", async () => {
    const watched = await watching({ before: holding("a") })
    watched.sandbox.setToken("fresh")
    reopen(watched)
    await watched.waits()
    expect(watched.notebook.remarks).toContain("credentials refused")
    watched.client.updateEndpoint(watched.sandbox.endpoint)
    watched.session.retryNow()
    expect(watched.session.phase.tag).toBe("watching")
    const change = watched.put("b")
    await watched.caughtUp()
    expect(watched.notebook.events.at(-1)).toBe(`applied ${change}`)
  })
})

describe("rule 9", () => {
  test("rule 9: the fourth relist within a minute raises an alarm and waits; the third does not", async () => {
    const watched = await watching({ before: holding("a") })
    for (let relist = 1; relist <= 3; relist++) {
      watched.sandbox.faults.expireWatches()
      await watched.sees(() => watched.notebook.of("list completed").length === relist + 1)
      await watched.isWatching()
    }
    expect(watched.notebook.of("alarm")).toEqual([])
    watched.sandbox.faults.expireWatches()
    expect(await watched.waits()).toBe(30_000)
    expect(watched.notebook.of("alarm")).toEqual(["4 relists within 60 s: waiting longer before the next one"])
    await watched.passes()
    await watched.sees(() => watched.notebook.of("list completed").length === 5)
    await watched.isWatching()
  })

  test("rule 9: a server that returns 410 to every resumption gets at most four lists a minute", async () => {
    const watched = await watching({ before: holding("a") })
    watched.sandbox.faults.forceExpired("configmaps", 1000)
    let lists = 0
    let waited = 0
    while (waited < 600_000) {
      if (watched.session.phase.tag === "watching" && watched.notebook.of("list completed").length > lists) {
        lists = watched.notebook.of("list completed").length
        watched.sandbox.faults.expireWatches()
      }
      await watched.sees(() => watched.session.phase.tag !== "streaming-list")
      if (watched.session.phase.tag === "backing-off") waited += await watched.passes()
    }
    expect(lists).toBeLessThanOrEqual(4 + 4 * 10)
    expect(watched.notebook.state).not.toBe("stopped")
  })

  test("rule 9: relists a minute apart are not counted together", async () => {
    const watched = await watching({ before: holding("a") })
    for (let relist = 1; relist <= 6; relist++) {
      watched.sandbox.faults.expireWatches()
      await watched.sees(() => watched.notebook.of("list completed").length === relist + 1)
      await watched.isWatching()
      watched.clock.advance(30_000)
    }
    expect(watched.notebook.of("alarm")).toEqual([])
  })
})
