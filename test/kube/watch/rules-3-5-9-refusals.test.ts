/** Rules 5 and 9 of docs/facts/watch-protocol.md: servers that ask clients to wait, and servers whose versions keep expiring. */
import { describe, expect, test } from "vitest"
import { holding, type Watched, watchedSandboxes } from "./watched-sandbox.ts"

// Rule 3 of docs/facts/watch-protocol.md: a version that the server no longer has.

/** While disconnected, more happens than the server remembers: `b` is deleted, `c` created again. */
const missEverything = async (watched: Watched): Promise<void> => {
  await watched.sandbox.faults.refuseConnections()
  watched.delete("b")
  watched.delete("c")
  watched.put("c")
  for (let change = 0; change < 5; change++) watched.put("d")
  await watched.waits()
  await watched.sandbox.faults.acceptConnections()
  await watched.passes()
  await watched.sees(() => watched.notebook.of("list completed").length === 2)
  await watched.isWatching()
}

describe("rule 3", () => {
  test("rule 3: HTTP 410 and in-stream 410 both lead to one list of the present state, and the watch after it", async () => {
    const stories: Array<ReadonlyArray<string>> = []
    const answered: string[] = []
    for (const expiredAs of ["http", "stream"] as const) {
      const watched = await watching({ before: holding("a", "b", "c"), sandbox: { expiredAs, historyLimit: 3 } })
      const version = watched.session.delivered
      await missEverything(watched)
      expect(watched.notebook.of("list started")).toEqual(["first", "expired"])
      expect(watched.notebook.alive).toEqual(["a", "c", "d"])
      const resumed = watched.queries("watch").find((query) => !query.has("sendInitialEvents"))
      expect(resumed?.get("resourceVersion")).toBe(version)
      const relist = watched.queries("watch").at(-1)
      expect([relist?.get("sendInitialEvents"), relist?.get("resourceVersion")]).toEqual(["true", null])
      expect(watched.notebook.state).toBe("watching")
      answered.push(`state watching: from version ${version}`)
      // After a failure, a list is reported only once the server has accepted it.
      const relisting = "state listing: expired"
      const { story } = watched.notebook
      expect(story).toContain(relisting)
      stories.push(
        story.filter(
          (line) =>
            !line.startsWith("cluster ") && !/connection (?:refused|was closed)/.test(line) && line !== relisting,
        ),
      )
    }
    const [byStatus = [], inStream = []] = stories
    // The 200 before an error in the stream is reported as such.
    const at = inStream.lastIndexOf(answered[1] ?? "")
    expect(inStream.toSpliced(at, 1)).toEqual(byStatus)
    expect([byStatus, inStream].map((story) => story.filter((line) => answered.includes(line)).length)).toEqual([1, 2])
  })

  test("rule 3: with pages, too, the list after an expiry names no version, and the watch continues after it", async () => {
    const watched = await watching({
      before: holding("a", "b", "c"),
      sandbox: { historyLimit: 3, streamingList: "rejected" },
    })
    await missEverything(watched)
    const lists = watched.queries("list").filter((query) => query.get("limit") === "500")
    expect(lists.map((query) => query.get("resourceVersion"))).toEqual([null, null])
    expect(watched.notebook.alive).toEqual(["a", "c", "d"])
    const change = watched.put("a")
    await watched.caughtUp()
    expect(watched.notebook.events.at(-1)).toBe(`applied ${change}`)
  })

  test("rule 3: a watch that gets 410 in its middle has delivered everything before it", async () => {
    const watched = await watching({ before: holding("a") })
    const change = watched.put("b")
    watched.sandbox.faults.expireWatches()
    watched.delete("a")
    await watched.sees(() => watched.notebook.of("list completed").length === 2)
    expect(watched.notebook.events).toEqual([`applied ${change}`])
    expect(watched.notebook.alive).toEqual(["b"])
    // Events before the 410 do not wait for the next read.
    expect(watched.notebook.unfinished).toBe(0)
  })

  test("rule 3: a list that gets 410 is repeated from the latest state", async () => {
    const watched = await start({
      before: (sandbox) => {
        holding("a")(sandbox)
        sandbox.faults.forceExpired("configmaps", 1, { initial: true })
      },
    })
    expect(await watched.passes()).toBe(800)
    await watched.isWatching()
    expect(watched.notebook.of("list started")).toEqual(["first", "first"])
    expect(watched.notebook.alive).toEqual(["a"])
  })
})

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
