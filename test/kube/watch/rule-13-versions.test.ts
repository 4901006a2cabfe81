/** Rule 13 of docs/facts/watch-protocol.md: versions are integers of up to 20 digits, or opaque. */
import { describe, expect, test } from "vitest"
import { OpaqueServer } from "./opaque-server.ts"
import { holding, watchedSandboxes } from "./watched-sandbox.ts"

const { start, watching } = watchedSandboxes()

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
