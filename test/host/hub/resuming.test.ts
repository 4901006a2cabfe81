/** Subscribers that resume after a version. */
import { describe, expect, test } from "vitest"
import { startHub } from "./hub-on-sandbox.ts"

const ofObjects = (story: ReadonlyArray<string>): ReadonlyArray<string> => story.filter((line) => line !== "bookmark")

describe("A subscriber with a version", () => {
  test("gets everything after it, and nothing at or below it", async () => {
    const { subscribe, put, remove, sees } = await startHub()
    put("a", "1")
    const first = subscribe()
    await sees(() => first.isSynced)
    for (const name of ["b", "c", "d"]) put(name, "1")
    remove("a")
    put("b", "2")
    await sees(() => first.state.b === "2")
    const [present, added, ...later] = first.changes.filter(({ uid }) => uid !== "")
    for (const [index, change] of [present, added, ...later].entries()) {
      // The first change is part of the first list, and the journal begins after it.
      if (index === 0) continue
      const resumed = subscribe({ after: change?.version ?? "" })
      await sees(() => resumed.isSynced)
      const rest = ofObjects(first.story)
        .filter((line) => line !== "synced")
        .slice(index + 1)
      const latest = rest.filter((line) => line !== "added b 1" || !rest.includes("modified b 2"))
      expect(resumed.story.at(-1)).toBe("synced")
      expect(resumed.story.slice(0, -1).map((line) => line.replace("added", "modified"))).toEqual(
        latest.map((line) => line.replace("added", "modified")),
      )
    }
  })

  test("sees what has left its selection since then", async () => {
    const { subscribe, put, sees, sandbox } = await startHub()
    put("a", "1", { tier: "x" })
    const wide = subscribe()
    await sees(() => wide.isSynced)
    const after = sandbox.resourceVersion
    put("a", "2", { tier: "y" })
    await sees(() => wide.state.a === "2")
    const resumed = subscribe({ labelSelector: "tier=x", after })
    await sees(() => resumed.isSynced)
    expect(resumed.story).toEqual(["deleted a 1", "synced"])
    expect(resumed.changes[0]?.version).toBe(sandbox.resourceVersion)
  })

  test("has to list if the journal does not reach that far, or if no watch runs", async () => {
    const { subscribe, put, sees, hub, sandbox } = await startHub({ journalBytes: 3000 })
    const after = sandbox.resourceVersion
    const cold = subscribe({ after: String(Number(after) - 1) })
    await sees(() => cold.isExpired)
    const status = JSON.parse(cold.changes[0]?.bytes.toString() ?? "") as object
    expect(status).toMatchObject({ kind: "Status", code: 410, reason: "Expired" })
    const first = subscribe()
    await sees(() => first.isSynced)
    for (let round = 0; round < 50; round++) put("a", String(round))
    await sees(() => first.state.a === "49")
    const late = subscribe({ after })
    await sees(() => late.isExpired)
    const [upstream] = hub.statistics().upstreams
    expect(upstream?.subscriptions).toBe(1)
    expect(upstream?.journalBytes).toBeLessThanOrEqual(3000)
    expect(upstream?.journalChanges).toBeGreaterThan(0)
  })

  test("that is ahead of the hub gets only what is newer", async () => {
    const { subscribe, put, sees, sandbox } = await startHub()
    const first = subscribe()
    await sees(() => first.isSynced)
    sandbox.faults.stall("configmaps")
    put("a", "1")
    put("a", "2")
    const ahead = subscribe({ after: sandbox.resourceVersion })
    put("b", "1")
    sandbox.faults.resume("configmaps")
    await sees(() => first.state.b === "1" && ahead.state.b === "1")
    expect(ofObjects(ahead.story)).toEqual(["synced", "added b 1"])
  })

  test("of another history has to list, whether that shows at once or after a restore", async () => {
    const { subscribe, put, sees, sandbox } = await startHub()
    const cold = subscribe({ after: "999999" })
    await sees(() => cold.isExpired)
    put("a", "1")
    const first = subscribe()
    await sees(() => first.isSynced)
    const warm = subscribe({ after: "999999" })
    sandbox.faults.restart({ revision: "lower", keepObjects: true })
    await sees(() => warm.isExpired, 25)
    await sees(() => first.changes.length > 2, 25)
    expect(first.isExpired).toBe(false)
  })

  test("after a relist gets what the list has shown", async () => {
    const { subscribe, put, remove, sees, sandbox } = await startHub()
    put("a", "1")
    const first = subscribe()
    await sees(() => first.isSynced)
    put("b", "1")
    await sees(() => first.state.b === "1")
    const after = sandbox.resourceVersion
    await sandbox.faults.refuseConnections()
    remove("a")
    put("b", "2")
    put("c", "1")
    sandbox.faults.forceExpired("configmaps", 1)
    await sandbox.faults.acceptConnections()
    await sees(() => first.state.c === "1")
    const resumed = subscribe({ after })
    await sees(() => resumed.isSynced)
    expect(resumed.story).toEqual(["lost a 1", "modified b 2", "added c 1", "synced"])
  })
})
