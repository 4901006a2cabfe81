/** Rule 14 of docs/facts/watch-protocol.md: received is not happened. */
import { describe, expect, test } from "vitest"
import type { WatchSink } from "../../../src/kube/watch/session-options.ts"
import type { Sandbox } from "../../../src/sandbox/index.ts"
import { secondsText } from "./liveness/observed.ts"
import type { Notebook } from "./notebook.ts"
import { holding, type Watched, watchedSandboxes } from "./watched-sandbox.ts"

// Rule 15 of docs/facts/watch-protocol.md: a stream that is resumed is behind until it has brought what happened meanwhile.

/** Notes in the story when the kind is behind. */
const sink = (notebook: Notebook): WatchSink =>
  Object.assign(notebook, { behind: (isBehind: boolean) => void notebook.story.push(`behind ${isBehind}`) })

/** Resumes at the version that `before` returns. */
const resumedAt = (
  before: (sandbox: Sandbox) => string,
  bookmarkInterval: number,
  stalls = false,
): Promise<Watched> => {
  let resumeVersion = ""
  return start({
    ...{ sink, sandbox: { bookmarkInterval } },
    before: (sandbox) => {
      resumeVersion = before(sandbox)
      if (stalls) sandbox.faults.stall("configmaps")
    },
    get resumeVersion() {
      return resumeVersion
    },
    liveUntil: 1_700_000_000_000_000 - 60_000_000,
  })
}

const put = (sandbox: Sandbox, kind: string, name: string): string =>
  sandbox.put(kind, { metadata: { name } }).metadata.resourceVersion ?? ""

/** States as they were reported, without their details; the same one twice is one. */
const states = ({ notebook }: Watched): ReadonlyArray<string> =>
  notebook.of("state").flatMap((text, index, all) => {
    const state = text.split(":")[0] ?? ""
    return all[index - 1]?.startsWith(`${state}:`) ? [] : [state]
  })

const isState = (watched: Watched, state: string): boolean =>
  watched.notebook.of("state").at(-1)?.startsWith(`${state}:`) === true

/** Lets looks pass until the kind is watched; returns how many s that took. */
const untilWatching = async (watched: Watched): Promise<number> => {
  let ms = 0
  while (!isState(watched, "watching") && ms < 120_000) {
    watched.clock.advance(250)
    ms += 250
    for (let turns = 0; turns < 40; turns++) await new Promise(setImmediate)
  }
  return ms / 1000
}

describe("rule 15", () => {
  test("rule 15: a stream that is resumed is behind until the version has arrived that was current before", async () => {
    const watched = await resumedAt(
      (sandbox) => {
        const version = put(sandbox, "v1.ConfigMap", "a")
        for (const name of ["b", "c", "d"]) put(sandbox, "v1.ConfigMap", name)
        return version
      },
      0,
      true,
    )
    await watched.sees(() => isState(watched, "catching-up"))
    expect(watched.session.isBehind).toBe(true)
    expect(watched.notebook.of("state").at(-1)).toMatch(/^catching-up: at version \d+ of \d+ \(0 %\)$/)
    watched.sandbox.faults.resume()
    await watched.sees(() => isState(watched, "watching"))
    expect(watched.notebook.story.filter((line) => /^(behind|applied)/.test(line))).toEqual([
      "behind true",
      ...watched.ledger().slice(1),
      "behind false",
    ])
    expect(states(watched)).toEqual(["catching-up", "watching"])
  })

  test("rule 15: nothing is to be caught up with if nothing has happened in the cluster", async () => {
    const watched = await resumedAt((sandbox) => put(sandbox, "v1.ConfigMap", "a"), 0)
    await watched.sees(() => isState(watched, "watching"))
    expect(states(watched)).toEqual(["watching"])
  })

  test("rule 15: a quiet kind asks for a bookmark, by a watch of three seconds", async () => {
    const watched = await resumedAt((sandbox) => {
      const version = put(sandbox, "v1.ConfigMap", "a")
      put(sandbox, "v1.Secret", "s")
      return version
    }, 600_000)
    await watched.isWatching()
    await watched.sees(() => isState(watched, "catching-up"))
    expect(await untilWatching(watched)).toBeLessThan(3)
    expect(watched.queries("watch").map((query) => Number(query.get("timeoutSeconds")))).toEqual([300, 3])
    // A lasting one follows before its end.
    watched.clock.advance(250)
    await watched.sees(() => watched.queries("watch").length === 3)
    expect(watched.queries("watch").at(-1)?.get("timeoutSeconds")).toBe("300")
    watched.clock.advance(3000)
    const change = watched.put("b")
    await watched.caughtUp()
    expect([watched.notebook.events.at(-1), states(watched)]).toEqual([
      `applied ${change}`,
      ["catching-up", "watching"],
    ])
  })

  test("rule 15: without bookmarks it has to do that such a watch ends in order, without a change", async () => {
    const watched = await resumedAt((sandbox) => {
      const version = put(sandbox, "v1.ConfigMap", "a")
      put(sandbox, "v1.Secret", "s")
      return version
    }, 0)
    await watched.isWatching()
    await watched.sees(() => isState(watched, "catching-up"))
    const seconds = await untilWatching(watched)
    expect([seconds > 3, seconds < 5]).toEqual([true, true])
  })

  test("rule 15: a connection that stalls has not caught up, however long it is silent", async () => {
    const watched = await resumedAt(
      (sandbox) => {
        const version = put(sandbox, "v1.ConfigMap", "a")
        put(sandbox, "v1.ConfigMap", "b")
        return version
      },
      600_000,
      true,
    )
    await watched.sees(() => isState(watched, "catching-up"))
    for (let looks = 0; looks < 120; looks++) {
      watched.clock.advance(250)
      await new Promise(setImmediate)
    }
    expect([isState(watched, "catching-up"), watched.notebook.events]).toEqual([true, []])
    watched.sandbox.faults.resume()
    await watched.sees(() => isState(watched, "watching"))
    expect(watched.notebook.events).toEqual(watched.ledger().slice(1))
  })

  test("rule 15: after an interruption the kind is behind before the server has answered again", async () => {
    const watched = await watching({ sink, before: holding("a") })
    watched.sandbox.faults.hangUp("configmaps")
    watched.put("b")
    await watched.recovers()
    await watched.sees(() => isState(watched, "watching"))
    expect(states(watched)).toEqual(["listing", "watching", "catching-up", "watching"])
  })
})

const { start, watching } = watchedSandboxes()

const managedBy = (time: string) => [
  { manager: "test", operation: "Update", apiVersion: "v1", time, fieldsType: "FieldsV1", fieldsV1: {} },
]

/** Changes an object as a server does that notes when. */
const write = ({ sandbox, clock }: Watched, name: string): void => {
  const time = secondsText(clock.wallMicros() / 1000)
  sandbox.put("v1.ConfigMap", { metadata: { name, managedFields: managedBy(time) }, data: { time } })
}

/** Removes a label that was set then, which leaves the time as it is. */
const unlabel = ({ sandbox }: Watched, name: string, labelled: number): void => {
  sandbox.put("v1.ConfigMap", { metadata: { name, managedFields: managedBy(secondsText(labelled)) } })
}

/** Of the events of the watch: name and timing. */
const timings = ({ notebook }: Watched): ReadonlyArray<string> =>
  notebook.objects.filter(({ fromList }) => !fromList).map(({ name, timing }) => `${name} ${timing}`)

describe("rule 14", () => {
  test("rule 14: what happened between the last proof and the server's answer on resuming is late, what follows is live", async () => {
    const watched = await watching({ before: holding("a") })
    write(watched, "a")
    await watched.caughtUp()
    const lastLive = watched.clock.wallMicros()
    watched.sandbox.faults.respond("configmaps", 503, { retryAfterSeconds: 20, times: 1 })
    watched.sandbox.faults.hangUp("configmaps")
    write(watched, "b")
    await watched.waits()
    watched.clock.advance(10_000)
    write(watched, "c")
    const end = watched.clock.wallMicros()
    await watched.recovers()
    write(watched, "d")
    await watched.caughtUp()
    expect(timings(watched)).toEqual(["a live", "b late", "c late", "d live"])
    const { notBefore = 0, notAfter = 0, cause } = watched.notebook.objects.at(-2)?.stretch ?? {}
    expect(cause).toBe("disconnected")
    expect(notBefore).toBeLessThanOrEqual(lastLive)
    expect(notBefore).toBeGreaterThanOrEqual(lastLive - 1_000_000)
    expect(notAfter).toBeGreaterThanOrEqual(end)
  })

  test("rule 14: a recording that resumes after a restart knows until when it was complete", async () => {
    let resumeVersion = ""
    const watched = await start({
      before: (sandbox) => {
        resumeVersion = sandbox.put("v1.ConfigMap", { metadata: { name: "a" } }).metadata.resourceVersion ?? ""
        sandbox.put("v1.ConfigMap", { metadata: { name: "b" } })
      },
      get resumeVersion() {
        return resumeVersion
      },
      liveUntil: 1_700_000_000_000_000 - 60_000_000,
    })
    await watched.isWatching()
    await watched.caughtUp()
    write(watched, "c")
    await watched.caughtUp()
    expect(timings(watched)).toEqual(["b late", "c live"])
    const [late] = watched.notebook.objects
    expect(late?.stretch).toMatchObject({ cause: "stopped", notBefore: 1_700_000_000_000_000 - 61_000_000 })
  })

  test("rule 14: a server that ends a watch in order, and accepts the next one at once, is not asked and nothing is late", async () => {
    const watched = await watching({ before: holding("a"), policy: { watchLifeSeconds: [60, 60], overlapSeconds: 0 } })
    for (let life = 0; life < 3; life++) {
      watched.clock.advance(59_000)
      write(watched, "a")
      await watched.caughtUp()
      watched.clock.advance(1000)
      await watched.isWatching()
    }
    expect(watched.requests("list")).toHaveLength(0)
    expect(new Set(timings(watched))).toEqual(new Set(["a live"]))
  })

  test("rule 14: a black hole that opens again brings late changes without a new connection", async () => {
    const watched = await watching({ before: holding("a") })
    write(watched, "a")
    await watched.caughtUp()
    watched.sandbox.faults.blackHole("configmaps")
    watched.clock.advance(4000)
    write(watched, "b")
    watched.clock.advance(16_000)
    watched.sandbox.faults.resume()
    write(watched, "c")
    await watched.caughtUp()
    expect(watched.session.statistics.watches).toBe(0)
    expect(timings(watched)).toEqual(["a live", "b late", "c live"])
    expect(watched.notebook.objects.at(-2)?.stretch?.cause).toBe("delayed")
  })

  test("rule 14: a proxy that buffers for minutes brings late changes in each burst, of which only the youngest can be live", async () => {
    const watched = await watching({ before: holding("a") })
    const written = new Map<string, number>()
    for (let burst = 0; burst < 6; burst++) {
      watched.sandbox.faults.stall("configmaps")
      for (let change = 0; change < 4; change++) {
        watched.clock.advance(10_000)
        written.set(`${burst}-${change}`, watched.clock.wallMicros())
        write(watched, `${burst}-${change}`)
      }
      watched.clock.advance(500)
      watched.sandbox.faults.resume()
      await watched.caughtUp()
    }
    const events = watched.notebook.objects.filter(({ fromList }) => !fromList)
    expect(events.map(({ name }) => name)).toEqual([...written.keys()])
    for (const { name, timing, stretch } of events) {
      expect(timing, name).toBe(name.endsWith("-3") ? "live" : "late")
      if (stretch !== undefined) expect(stretch.notBefore).toBeLessThanOrEqual(written.get(name) ?? 0)
    }
    expect(watched.session.statistics.watches).toBe(0)
  })

  test("rule 14: a field that is removed after a silence is live, also if it was set just before", async () => {
    const watched = await watching({ before: holding("a") })
    watched.clock.advance(600)
    write(watched, "b")
    await watched.caughtUp()
    watched.clock.advance(600)
    const labelled = watched.clock.wallMicros() / 1000
    write(watched, "b")
    await watched.caughtUp()
    watched.clock.advance(40_000)
    unlabel(watched, "b", labelled)
    await watched.caughtUp()
    watched.clock.advance(300)
    write(watched, "b")
    await watched.caughtUp()
    expect(timings(watched)).toEqual(["b live", "b live", "b undecided", "b live"])
  })

  test("rule 14: 410 on resuming is a gap, and nothing of the list is late", async () => {
    const watched = await watching({ before: holding("a") })
    watched.sandbox.faults.respond("configmaps", 503, { retryAfterSeconds: 20, times: 1 })
    watched.sandbox.faults.hangUp("configmaps")
    await watched.waits()
    write(watched, "b")
    watched.sandbox.faults.forceExpired("configmaps", 1)
    await watched.recovers()
    expect(watched.notebook.of("list started")).toEqual(["first", "expired"])
    expect(watched.notebook.objects.map(({ timing }) => timing)).not.toContain("late")
  })

  test("rule 14: objects without times are live on a watch that was quiet for long", async () => {
    const watched = await watching({ before: holding("a") })
    for (let round = 0; round < 5; round++) {
      watched.clock.advance(60_000)
      watched.put("a", { round: String(round) })
      await watched.caughtUp()
    }
    expect(watched.notebook.objects.map(({ timing }) => timing)).not.toContain("late")
  })
})
