/** Rule 12 of docs/facts/watch-protocol.md: versions that are ahead of the server, and other clusters. */
import { describe, expect, test } from "vitest"
import { OpaqueServer } from "./opaque-server.ts"
import { holding, type Watched, watchedSandboxes } from "./watched-sandbox.ts"

// Rule 13 of docs/facts/watch-protocol.md: versions are integers of up to 20 digits, or opaque.

describe("rule 13", () => {
  test.each([
    ["9 to 10", 8n],
    ["2^53", 2n ** 53n - 5n],
    ["2^63", 2n ** 63n - 5n],
    ["20 digits", 2n ** 64n - 1000n],
  ])("rule 13: events are in order across %s", async (_, revision) => {
    const watched = await watching({ before: holding("a"), sandbox: { revision } })
    for (let change = 0; change < 10; change++) watched.put("a", { change: String(change) })
    watched.clock.advance(295_000)
    for (let change = 0; change < 10; change++) watched.put("b", { change: String(change) })
    await watched.caughtUp()
    await watched.sees(() => watched.session.statistics.repeated > 0)
    expect(watched.notebook.events).toEqual(watched.ledger().slice(1))
    expect(watched.session.delivered).toBe(watched.sandbox.resourceVersion)
  })

  test("rule 13: a resumption at a version of 20 digits names it exactly", async () => {
    const watched = await start({
      sandbox: { revision: 2n ** 64n - 1000n },
      before: holding("a", "b"),
      resumeVersion: String(2n ** 64n - 997n),
    })
    await watched.caughtUp()
    expect(watched.notebook.events).toEqual(watched.ledger().slice(1))
    expect(watched.queries("watch")[0]?.get("resourceVersion")).toBe(String(2n ** 64n - 997n))
  })

  test("rule 13: opaque versions: an overlap repeats nothing, and the watch resumes at the last one", async () => {
    await using server = await OpaqueServer.start()
    const { notebook, session, clock } = server.record()
    server.put("a", "f00")
    await server.sees(() => session.phase.tag === "watching" && server.watches.length === 1)
    server.put("b", "beef")
    server.delete("a", "0dd")
    await server.sees(() => notebook.events.length === 2)
    clock.advance(295_000)
    // The successor's request is still under way, so both of these are sent to it once more.
    server.put("b", "aa")
    server.put("b", "ab")
    await server.sees(() => session.statistics.repeated === 2)
    expect(notebook.events).toEqual(["applied b@beef", "deleted a@0dd", "applied b@aa", "applied b@ab"])
    server.hangUp()
    await server.sees(() => server.watches.length === 3)
    expect(server.watches).toEqual(["f00", "0dd", "ab"])
  })

  test("rule 13: a version that only looks like an integer is not compared with the others of an opaque server", async () => {
    await using server = await OpaqueServer.start()
    const { notebook, session } = server.record()
    server.put("a", "f00")
    await server.sees(() => session.phase.tag === "watching" && server.watches.length === 1)
    for (const version of ["e1", "900", "100", "100x", "99"]) server.put("a", version)
    await server.sees(() => session.delivered === "99")
    expect(notebook.events).toEqual(["e1", "900", "100", "100x", "99"].map((version) => `applied a@${version}`))
    server.hangUp()
    await server.sees(() => server.watches.length === 2)
    expect(server.watches).toEqual(["f00", "99"])
  })
})

const { start, watching } = watchedSandboxes()

const isProbe = (query: URLSearchParams): boolean => query.get("limit") === "1"
const probes = (watched: Watched): number => watched.queries("list").filter(isProbe).length
const relisted = async (watched: Watched): Promise<void> => {
  const { notebook } = watched
  await watched.seesLater(() => notebook.of("list completed").length > 0 && notebook.of("epoch").length > 0)
  await watched.isWatching()
}

describe("rule 12", () => {
  test("rule 12: a version from disk that the server has reached is resumed, without a list", async () => {
    const watched = await start({
      before: (sandbox) => {
        holding("a", "b", "c")(sandbox)
        sandbox.delete("v1.ConfigMap", "default", "a")
      },
      resumeVersion: "1003",
    })
    await watched.caughtUp()
    expect(watched.notebook.events).toEqual(watched.ledger().slice(1))
    expect(probes(watched)).toBe(1)
    expect(watched.notebook.of("list started")).toEqual([])
    expect(watched.notebook.of("cluster")).toEqual([watched.sandbox.clusterUid])
  })

  test("rule 12: a version from disk ahead of the server starts a new epoch with a list", async () => {
    const watched = await start({ before: holding("a"), resumeVersion: "999999" })
    await relisted(watched)
    expect(watched.notebook.of("epoch")[0]).toContain("behind 999999")
    expect(watched.notebook.of("list started")).toEqual(["cluster-restored"])
    expect(watched.queries("watch").some((query) => query.get("resourceVersion") === "999999")).toBe(false)
    const change = watched.put("b")
    await watched.caughtUp()
    expect(watched.notebook.events).toEqual([`applied ${change}`])
  })

  test("rule 12: another UID of kube-system is another cluster, whatever its version", async () => {
    const watched = await start({ before: holding("a"), resumeVersion: "1001", clusterUid: "another" })
    await relisted(watched)
    expect(watched.notebook.of("epoch")[0]).toContain("this is a different cluster")
    expect(watched.notebook.of("cluster")).toEqual([watched.sandbox.clusterUid])
    expect(watched.notebook.alive).toEqual(["a"])
  })

  test("rule 12: if kube-system may not be read, only versions decide", async () => {
    const watched = await start({
      before: (sandbox) => {
        holding("a")(sandbox)
        sandbox.faults.respond("namespaces", 403)
      },
      resumeVersion: "1001",
      clusterUid: "another",
    })
    await watched.caughtUp()
    expect(watched.notebook.of("epoch")).toEqual([])
    expect(watched.notebook.events).toEqual(watched.ledger())
  })

  test.each(["lower", "new"] as const)(
    "rule 12: a server that restarts with another past (%s) is noticed at once",
    async (revision) => {
      const watched = await watching({ before: holding("a", "b", "c", "d") })
      watched.sandbox.faults.restart({ revision })
      holding("e")(watched.sandbox)
      await relisted(watched)
      expect(watched.notebook.of("list started")).toEqual(["first", "cluster-restored"])
      expect(watched.notebook.alive).toContain("e")
      const change = watched.put("f")
      await watched.caughtUp()
      expect(watched.notebook.events.at(-1)).toBe(`applied ${change}`)
    },
  )

  test("rule 12: another cluster is noticed even if its versions are higher, also on the recording's first day", async () => {
    const watched = await watching({ before: holding("a") })
    watched.sandbox.faults.restart({ revision: "new" })
    for (let change = 0; change < 1100; change++) watched.sandbox.put("v1.Secret", { metadata: { name: "s" } })
    holding("b")(watched.sandbox)
    await relisted(watched)
    expect(watched.notebook.of("epoch")[0]).toContain("this is a different cluster")
    expect(watched.notebook.alive).toEqual(["b"])
  })

  test("rule 12: a restart with the same history costs a probe and loses nothing", async () => {
    const watched = await watching({ before: holding("a") })
    watched.sandbox.faults.restart()
    watched.put("b")
    await watched.recovers()
    expect(watched.notebook.events).toEqual(watched.ledger().slice(1))
    expect(watched.notebook.of("list started")).toEqual(["first"])
    expect(probes(watched)).toBe(1)
  })

  test("rule 12: a server that used to send bookmarks and is silent for 150 s is probed", async () => {
    const watched = await watching({ before: holding("a", "b", "c") })
    await watched.bookmark()
    watched.clock.advance(60_000)
    await watched.bookmark()
    await goBackUnseen(watched)
    // The server accepts a version it has not reached, and sends nothing.
    for (let seconds = 0; seconds < 188 && watched.session.phase.tag === "watching"; seconds++)
      watched.clock.advance(1000)
    await relisted(watched)
    expect(watched.notebook.of("list started")).toEqual(["first", "cluster-restored"])
  })

  test("rule 12: a watch without events in its whole life is followed by a probe, for servers without bookmarks", async () => {
    const watched = await watching({ before: holding("a", "b", "c") })
    await goBackUnseen(watched)
    watched.clock.advance(295_000)
    await watched.sees(() => watched.sandbox.watchCount() === 2)
    watched.clock.advance(5000)
    await relisted(watched)
    expect(watched.notebook.of("list started")).toEqual(["first", "cluster-restored"])
  })

  test("rule 12: a list that ends below what is recorded starts a new epoch, whatever caused it", async () => {
    const watched = await watching({ before: holding("a", "b", "c", "d") })
    watched.put("a")
    watched.put("a")
    await watched.caughtUp()
    watched.sandbox.faults.respond("configmaps", 500, { times: 1 })
    watched.sandbox.faults.expireWatches()
    await watched.waits()
    watched.sandbox.faults.restart({ revision: "lower" })
    await relisted(watched)
    expect(watched.notebook.of("list started").at(-1)).toBe("cluster-restored")
    const { resourceVersion } = watched.sandbox
    expect(watched.session.delivered).toBe(resourceVersion)
  })
})

/** The watch ends cleanly, and the server goes back to an earlier state before the next one starts. */
const goBackUnseen = async (watched: Watched): Promise<void> => {
  watched.sandbox.faults.respond("configmaps", 500, { verb: "watch", times: 1 })
  watched.put("a")
  await watched.caughtUp()
  watched.sandbox.faults.endWatches()
  await watched.waits()
  watched.sandbox.faults.restart({ revision: "lower" })
  await watched.passes()
  await watched.isWatching()
  expect(BigInt(watched.session.delivered ?? "0")).toBeGreaterThan(BigInt(watched.sandbox.resourceVersion))
}
