/** Rule 14 of docs/facts/watch-protocol.md: received is not happened. */
import { describe, expect, test } from "vitest"
import { secondsText } from "./liveness/observed.ts"
import { holding, type Watched, watchedSandboxes } from "./watched-sandbox.ts"

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
