/** Rule 6 of docs/facts/watch-protocol.md: watches end, and their successors overlap with them. */
import { describe, expect, test } from "vitest"
import { holding, type Watched, watchedSandboxes } from "./watched-sandbox.ts"

const { watching } = watchedSandboxes()

/** ms by which watches overlap. */
const overlap = 5000

/** Lets time pass until the successor is due; its request is under way when this returns. */
const successorDue = (watched: Watched): void => {
  const { clock, session } = watched
  while (session.phase.tag === "watching" && session.phase.successor === undefined) clock.advance(clock.untilNext ?? 0)
  expect(session.phase.tag).toBe("watching")
}

describe("rule 6", () => {
  test("rule 6: an object changed five times and deleted while two watches overlap is recorded once each, and stays deleted", async () => {
    const watched = await watching({ before: holding("a", "b") })
    successorDue(watched)
    // The successor requests what follows the version delivered last, so the server sends all of this once more.
    for (let change = 0; change < 5; change++) watched.put("a", { change: String(change) })
    watched.delete("a")
    await watched.caughtUp()
    await watched.sees(() => watched.session.statistics.repeated === 6)
    expect(watched.notebook.events).toEqual(watched.ledger().slice(2))
    expect(watched.notebook.alive).toEqual(["b"])
    await watched.sees(() => watched.sandbox.watchCount() === 1)
  })

  test("rule 6: an event in the overlap arrives once, whichever of the two watches is faster", async () => {
    const watched = await watching({ before: holding("a") })
    successorDue(watched)
    await watched.sees(() => watched.sandbox.watchCount() === 2)
    for (let change = 0; change < 200; change++) {
      watched.put(`object-${change % 7}`)
      if (change % 50 === 49) watched.delete(`object-${change % 7}`)
    }
    await watched.caughtUp()
    await watched.sees(() => watched.sandbox.watchCount() === 1)
    expect(watched.notebook.events).toEqual(watched.ledger().slice(1))
  })

  test("rule 6: a quiet successor waits until the old watch ends, and continues from there", async () => {
    const watched = await watching({ before: holding("a") })
    await watched.bookmark()
    successorDue(watched)
    await watched.sees(() => watched.sandbox.watchCount() === 2)
    watched.clock.advance(overlap)
    await watched.sees(() => watched.sandbox.watchCount() === 1)
    await watched.sees(() => watched.session.phase.tag === "watching" && watched.session.phase.successor === undefined)
    const change = watched.put("b")
    await watched.caughtUp()
    expect(watched.notebook.events).toEqual([`applied ${change}`])
    expect(watched.session.statistics.relists).toBe(0)
    // Its bookmark has shown that the server is not behind us.
    expect(watched.queries("list")).toEqual([])
  })

  test("rule 6: a rejected successor leaves the old watch alone", async () => {
    const watched = await watching({ before: holding("a") })
    watched.sandbox.faults.respond("configmaps", 500, { verb: "watch", times: 1 })
    successorDue(watched)
    await watched.sees(() => watched.sandbox.faults.count("answered") === 1)
    await watched.sees(() => watched.session.phase.tag === "watching" && watched.session.phase.successor === undefined)
    watched.put("b")
    await watched.caughtUp()
    watched.clock.advance(overlap)
    await watched.sees(() => watched.session.statistics.watches === 2)
    await watched.isWatching()
    watched.put("c")
    await watched.caughtUp()
    expect(watched.notebook.events).toEqual(watched.ledger().slice(1))
    expect(watched.notebook.of("state").filter((state) => state.startsWith("failing"))).toEqual([])
  })

  test("rule 6: a hundred lives in a row lose nothing, repeat nothing, and never hold more than two watches", async () => {
    const watched = await watching({ before: holding("a") })
    for (let round = 0; round < 100; round++) {
      watched.put("a", { round: String(round) })
      await watched.caughtUp()
      successorDue(watched)
      if (round % 3 === 0) watched.put("a", { overlap: String(round) })
      await watched.sees(() => watched.sandbox.requests.count({ verb: "watch" }) === round + 2)
      expect(watched.sandbox.watchCount()).toBeLessThanOrEqual(2)
      if (round % 3 === 1) watched.put("a", { late: String(round) })
      watched.clock.advance(overlap)
      await watched.sees(() => watched.sandbox.watchCount() === 1)
      await watched.sees(
        () => watched.session.phase.tag === "watching" && watched.session.phase.successor === undefined,
      )
    }
    await watched.caughtUp()
    expect(watched.notebook.events).toEqual(watched.ledger().slice(1))
    expect(watched.notebook.of("list started")).toEqual(["first"])
  })

  test("rule 6: lives are random within 5 to 10 minutes, or as configured", async () => {
    for (const [random, range, expected] of [
      [0, undefined, "300"],
      [0.5, undefined, "450"],
      [0.9999, undefined, "600"],
      [0.5, [60, 120], "90"],
    ] as const) {
      const policy = range === undefined ? {} : { policy: { watchLifeSeconds: range } }
      const watched = await watching({ random: () => random, ...policy })
      expect(watched.queries("watch").map((query) => query.get("timeoutSeconds"))).toEqual([expected])
    }
  })
})
