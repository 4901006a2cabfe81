/** Rule 7 of docs/facts/watch-protocol.md: which silence means a dead connection. */
import { describe, expect, test } from "vitest"
import { holding, type Watched, watchedSandboxes } from "./watched-sandbox.ts"

const { start, watching } = watchedSandboxes()

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
