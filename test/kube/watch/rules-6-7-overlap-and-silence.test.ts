/** Rule 6 of docs/facts/watch-protocol.md: watches end, and their successors overlap with them. */
import { describe, expect, test } from "vitest"
import { holding, type Watched, watchedSandboxes } from "./watched-sandbox.ts"

// Rule 7 of docs/facts/watch-protocol.md: which silence means a dead connection.

const minute = 60_000

/** Two bookmarks a minute apart: the server's interval is known. */
const knowRhythm = async (watched: Watched): Promise<void> => {
  await watched.bookmark()
  watched.clock.advance(minute)
  await watched.bookmark()
}
/** Seconds until the session closes its stream, in steps of half a second, less than any back-off. */
const secondsUntilClosed = (watched: Watched): number => {
  for (let seconds = 0.5; seconds < 2000; seconds += 0.5) {
    watched.clock.advance(500)
    if (watched.session.phase.tag === "backing-off") return seconds
  }
  return Number.POSITIVE_INFINITY
}

describe("rule 7", () => {
  test("rule 7: a black-holed socket is noticed 2.5 bookmark intervals after the last byte, and nothing is lost", async () => {
    const watched = await watching({ before: holding("a") })
    await knowRhythm(watched)
    watched.sandbox.faults.blackHole("configmaps")
    watched.put("a")
    watched.delete("a")
    const seconds = secondsUntilClosed(watched)
    expect(seconds).toBeGreaterThanOrEqual(150)
    expect(seconds).toBeLessThanOrEqual(150 * 1.25)
    expect(watched.notebook.state).toBe("failing")
    expect(watched.session.statistics.cuts).toBe(1)
    watched.sandbox.faults.resume()
    await watched.passes()
    await watched.isWatching()
    await watched.caughtUp()
    expect(watched.notebook.events).toEqual(watched.ledger().slice(1))
    expect(watched.notebook.of("list started")).toEqual(["first"])
  })

  test("rule 7: without bookmarks a stream is dead 15 s after its requested life", async () => {
    const watched = await watching({ before: holding("a"), policy: { overlapSeconds: 0 } })
    watched.sandbox.faults.blackHole("configmaps")
    const seconds = secondsUntilClosed(watched)
    expect(seconds).toBeGreaterThanOrEqual(315)
    expect(seconds).toBeLessThanOrEqual(315 * 1.25)
  })

  test("rule 7: bookmarks alone keep a quiet stream alive, even late ones", async () => {
    const watched = await watching({ before: holding("a"), policy: { watchLifeSeconds: [3600, 3600] } })
    await knowRhythm(watched)
    for (const seconds of [60, 70, 110, 60, 140, 145, 60]) {
      for (let second = 0; second < seconds; second++) watched.clock.advance(1000)
      await watched.bookmark()
    }
    expect([watched.session.statistics.watches, watched.session.statistics.cuts]).toEqual([0, 0])
    expect(watched.notebook.of("state").filter((state) => !/^(listing|watching)/.test(state))).toEqual([])
  })

  test("rule 7: events alone keep a stream alive too", async () => {
    const watched = await watching({ before: holding("a"), policy: { watchLifeSeconds: [3600, 3600] } })
    await knowRhythm(watched)
    for (let round = 0; round < 6; round++) {
      for (let second = 0; second < 140; second++) watched.clock.advance(1000)
      watched.put("a")
      await watched.caughtUp()
    }
    expect(watched.session.phase.tag).toBe("watching")
    expect(watched.session.statistics.watches).toBe(0)
  })

  test("rule 7: an outage between two bookmarks does not count as their interval", async () => {
    const watched = await watching({ before: holding("a"), policy: { retryAfterMaximumMs: 600_000 } })
    await knowRhythm(watched)
    watched.sandbox.faults.respond("configmaps", 503, { verb: "watch", times: 1, retryAfterSeconds: 600 })
    watched.put("a")
    watched.sandbox.faults.endWatches()
    expect(await watched.passes()).toBe(600_000)
    await watched.isWatching()
    await knowRhythm(watched)
    watched.sandbox.faults.blackHole("configmaps")
    expect(secondsUntilClosed(watched)).toBeLessThanOrEqual(150 * 1.25)
  })

  test("rule 7: a bookmark right after another, as before a server closes a watch, does not count as the interval", async () => {
    const watched = await watching({ before: holding("a") })
    await watched.bookmark()
    watched.clock.advance(100)
    await watched.bookmark()
    watched.sandbox.faults.blackHole("configmaps")
    for (let second = 0; second < 150; second++) watched.clock.advance(1000)
    expect(watched.session.phase.tag).toBe("watching")
  })

  test("rule 7: a list without a response for 60 s is aborted and retried", async () => {
    const watched = await start({
      before: (sandbox) => {
        holding("a")(sandbox)
        sandbox.faults.blackHole("configmaps")
      },
    })
    await watched.sees(() => watched.sandbox.requests.count({ resource: "configmaps" }) === 1)
    const seconds = secondsUntilClosed(watched)
    expect(seconds).toBeGreaterThanOrEqual(60)
    expect(seconds).toBeLessThanOrEqual(60 * 1.25)
    watched.sandbox.faults.resume()
    await watched.passes()
    await watched.isWatching()
    expect(watched.notebook.alive).toEqual(["a"])
  })

  test("rule 7: silence does not count while the recorder itself does not read", async () => {
    const watched = await watching({ before: holding("a") })
    await knowRhythm(watched)
    watched.notebook.isWritable = false
    watched.put("a")
    await watched.caughtUp()
    for (let second = 0; second < 280; second++) watched.clock.advance(1000)
    expect(watched.session.phase.tag).toBe("watching")
    watched.notebook.isWritable = true
    watched.session.resume()
    watched.put("b")
    await watched.caughtUp()
    expect(watched.notebook.events).toEqual(watched.ledger().slice(1))
  })
})

const { start, watching } = watchedSandboxes()

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
