/** Rule 4 of docs/facts/watch-protocol.md, and what else a recorder must conclude: session and recording sink on a real server. */
import { describe, expect, test } from "vitest"
import { holding, watchedSandboxes } from "../../kube/watch/watched-sandbox.ts"
import { SinkBench } from "./sink-bench.ts"

const { start, watching } = watchedSandboxes()

describe("rule 4", () => {
  test.each(["stream", "http"] as const)(
    "rule 4: after a relist (410 by %s) vanished UIDs are deletions, changed UIDs deletion and creation, equal versions nothing",
    async (expiredAs) => {
      const bench = new SinkBench()
      const watched = await watching({
        before: holding("a", "b", "c", "d"),
        sandbox: { historyLimit: 1, expiredAs },
        sink: () => bench.sink,
      })
      const [oldC, from] = [watched.sandbox.get("v1.ConfigMap", "default", "c"), watched.session.delivered]
      await watched.sandbox.faults.refuseConnections()
      watched.delete("b")
      watched.delete("c")
      const [newC, changedD, newE] = [watched.put("c"), watched.put("d"), watched.put("e")]
      await watched.waits()
      await watched.sandbox.faults.acceptConnections()
      await watched.recovers()
      await watched.isWatching()
      const to = watched.sandbox.resourceVersion
      const events = bench.events().slice(4)
      const brief = events.map(({ action, name, version }) => `${action} ${name}@${version}`)
      expect([...brief].sort()).toEqual(
        [
          `vanished b@${to}`,
          `vanished c@${newC.split("@")[1]}`,
          `applied ${newC}`,
          `applied ${changedD}`,
          `applied ${newE}`,
        ].sort(),
      )
      expect(events.find(({ action, name }) => action === "vanished" && name === "c")?.uid).toBe(oldC?.metadata.uid)
      expect(brief.indexOf(`vanished c@${newC.split("@")[1]}`)).toBeLessThan(brief.indexOf(`applied ${newC}`))
      expect(bench.gaps()).toMatchObject([{ fromVersion: from, toVersion: to, reason: "expired" }])
      expect(bench.completeThrough).toBe(to)
    },
  )

  test("rule 4: a paged list reconciles as a streaming list does", async () => {
    const bench = new SinkBench()
    const names = Array.from({ length: 25 }, (_, index) => `object-${index}`)
    const watched = await watching({
      before: holding(...names),
      sandbox: { streamingList: "rejected" },
      policy: { pageSize: 10 },
      sink: () => bench.sink,
    })
    watched.sandbox.faults.stall()
    for (const name of names.slice(0, 12)) watched.delete(name)
    watched.sandbox.faults.expireWatches()
    await watched.sandbox.faults.refuseConnections()
    await watched.sandbox.faults.acceptConnections()
    watched.sandbox.faults.resume()
    watched.sandbox.faults.forceExpired("configmaps", 1)
    await watched.recovers()
    await watched.isWatching()
    expect(bench.brief().slice(25).sort()).toEqual(
      names
        .slice(0, 12)
        .map((name) => `vanished ${name}@${watched.sandbox.resourceVersion}`)
        .sort(),
    )
    expect(bench.gaps()).toHaveLength(1)
  })
})

describe("a recorder", () => {
  test("that restarts resumes where it was, without a list, and repeats nothing", async () => {
    const bench = new SinkBench()
    const watched = await watching({ before: holding("a", "b"), sink: () => bench.sink })
    watched.put("a")
    watched.delete("b")
    await watched.caughtUp()
    watched.session.stop()
    const resumeVersion = bench.completeThrough
    expect(resumeVersion).toBe(watched.sandbox.resourceVersion)
    const next = new SinkBench({ objects: bench.stored(), resumeVersion, lastTime: bench.recorder.frames.lastTime })
    const resumed = await start({
      before: (sandbox) => {
        // The same history, and more.
        holding("a", "b")(sandbox)
        holding("a")(sandbox)
        sandbox.delete("v1.ConfigMap", "default", "b")
        holding("c")(sandbox)
      },
      resumeVersion,
      sink: () => next.sink,
    })
    await resumed.caughtUp()
    expect(next.brief()).toEqual([`applied c@${resumed.sandbox.resourceVersion}`])
    expect(next.gaps()).toEqual([])
  })

  test("whose cluster is restored from a backup records the gap, and every object under its new history", async () => {
    const bench = new SinkBench()
    const watched = await watching({ before: holding("a", "b", "c", "d"), sink: () => bench.sink })
    watched.delete("a")
    await watched.caughtUp()
    const from = watched.session.delivered
    watched.sandbox.faults.restart({ revision: "lower" })
    await watched.sees(() => watched.session.statistics.relists === 1)
    await watched.isWatching()
    const after = bench.events().slice(5)
    expect(new Set(after.map(({ epoch }) => epoch))).toEqual(new Set([1]))
    const alive = ["a", "b", "c", "d"].filter((name) => watched.sandbox.get("v1.ConfigMap", "default", name))
    expect(
      bench
        .stored()
        .map(({ name }) => name)
        .sort(),
    ).toEqual(alive)
    expect(bench.gaps()).toMatchObject([{ fromVersion: from, reason: "cluster-restored" }])
  })

  test("whose mailbox is full stops reading, and loses nothing when there is room again", async () => {
    const bench = new SinkBench()
    const watched = await watching({ before: holding("a"), sink: () => bench.sink })
    bench.isWritable = false
    const data = { padding: "x".repeat(10_000) }
    for (let change = 0; change < 500; change++) watched.put("a", data)
    await watched.sees(() => watched.session.statistics.objects > 1)
    for (let rounds = 0; rounds < 50; rounds++) await watched.sees(() => true)
    expect(watched.session.statistics.objects).toBeLessThan(20)
    bench.isWritable = true
    watched.session.resume()
    await watched.caughtUp()
    expect(bench.brief()).toEqual(watched.ledger())
  })
})
