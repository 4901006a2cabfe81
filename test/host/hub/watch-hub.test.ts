/** Subscriptions of one hub: sharing, late and resuming subscribers, deletions that a list shows, the end of an upstream. */
import { describe, expect, test } from "vitest"
import { InvalidSubscription } from "../../../src/host/hub/hub-selection.ts"
import { kinds } from "../../../src/kube/index.ts"
import { configMap, startHub, type ToldObject } from "./hub-on-sandbox.ts"

describe("A hub", () => {
  test("opens one watch for 50 subscribers of a kind", async () => {
    const { subscribe, put, sees, watches } = await startHub()
    put("a", "1")
    const consumers = Array.from({ length: 50 }, () => subscribe())
    await sees(() => consumers.every(({ isSynced }) => isSynced))
    put("a", "2")
    await sees(() => consumers.every(({ state }) => state.a === "2"))
    expect(watches()).toBe(1)
    for (const { story } of consumers) expect(story).toEqual(["added a 1", "synced", "modified a 2"])
  })

  test("gives a late subscriber the present state, then what follows, without gap or repeat", async () => {
    const { subscribe, put, remove, sees, watches } = await startHub()
    const first = subscribe()
    await sees(() => first.isSynced)
    put("a", "1")
    put("b", "1")
    await sees(() => first.changes.length === 3)
    const late = subscribe()
    await sees(() => late.isSynced)
    put("a", "2")
    remove("b")
    await sees(() => late.changes.length === 5)
    expect(late.story).toEqual(["added a 1", "added b 1", "synced", "modified a 2", "deleted b 1"])
    expect(watches()).toBe(1)
  })

  test("delivers objects without managedFields, with apiVersion and kind", async () => {
    const { subscribe, sandbox, sees } = await startHub({}, { streamingList: "rejected" })
    sandbox.put(configMap, {
      metadata: { name: "a", namespace: "default", managedFields: [{ manager: "m", operation: "Update" }] },
      data: { value: "1" },
    })
    const full = subscribe()
    await sees(() => full.isSynced)
    const [whole] = [...full.objects.values()] as [ToldObject]
    expect(whole).toMatchObject({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" }, data: { value: "1" } })
    expect(whole.metadata.managedFields).toBeUndefined()
  })

  test("delivers deletions that it missed with the last known state, before the object's replacement", async () => {
    const { subscribe, put, remove, sees, sandbox } = await startHub()
    for (const name of ["gone", "replaced", "kept"]) put(name, "1")
    const consumer = subscribe()
    await sees(() => consumer.isSynced)
    consumer.changes.length = 0
    await sandbox.faults.refuseConnections()
    remove("gone")
    remove("replaced")
    put("replaced", "2")
    put("new", "1")
    sandbox.faults.forceExpired("configmaps", 1)
    await sandbox.faults.acceptConnections()
    await sees(() => consumer.state.new === "1")
    const told = consumer.story.filter((line) => line !== "bookmark")
    expect(told.slice(0, 2).sort()).toEqual(["lost gone 1", "lost replaced 1"])
    expect(told.slice(2)).toEqual(["added replaced 2", "added new 1"])
  })

  test("shows the difference to the state of a restored server, whose versions are lower", async () => {
    const { subscribe, put, sees, sandbox } = await startHub()
    put("a", "1")
    put("same", "1")
    const consumer = subscribe()
    consumer.seesRestores = true
    await sees(() => consumer.isSynced)
    const before = sandbox.resourceVersion
    for (let round = 2; round < 8; round++) put("a", String(round))
    put("later", "1")
    await sees(() => consumer.state.later === "1")
    consumer.changes.length = 0
    sandbox.faults.restart({ revision: BigInt(before) })
    await sees(() => consumer.state.a === "1", 25)
    expect(consumer.story.filter((line) => line !== "bookmark")).toEqual(["history", "lost later 1", "modified a 1"])
    const late = subscribe()
    await sees(() => late.isSynced)
    expect(late.state).toEqual(consumer.state)
  })

  test("gives up a subscriber for whom too much waits, tells it so, and serves the others", async () => {
    const { subscribe, put, remove, sees, hub } = await startHub({ waitingBytes: 5000 })
    const slow = subscribe()
    const other = subscribe()
    await sees(() => slow.isSynced && other.isSynced)
    slow.takesAtOnce = false
    // States of what exists are kept anyway; deletions are kept for the slow one only.
    for (let index = 0; index < 50; index++) put(`kept${index}`, "1")
    await sees(() => other.objects.size === 50)
    expect(slow.handle?.statistics()).toMatchObject({ pending: 50, pendingBytes: 0 })
    for (let index = 0; index < 50; index++) remove(`kept${index}`)
    await sees(() => other.objects.size === 0)
    put("last", "1")
    await sees(() => other.state.last === "1")
    slow.takeAll()
    expect(slow.story).toEqual(["synced", "expired"])
    expect(hub.statistics().subscriptions.map(({ id }) => id)).toEqual(["subscription 2"])
    put("more", "1")
    await sees(() => other.state.more === "1")
    expect(slow.handle?.pending).toBe(0)
  })

  test("ends the watch a while after the last subscriber, and not if another one comes meanwhile", async () => {
    const { subscribe, sees, watches, hub, clock, sandbox } = await startHub({ graceMs: 1000 })
    const first = subscribe()
    await sees(() => first.isSynced)
    first.handle?.unsubscribe()
    clock.advance(999)
    const second = subscribe()
    clock.advance(1000)
    expect(hub.statistics().upstreams).toHaveLength(1)
    await sees(() => second.isSynced)
    second.handle?.unsubscribe()
    clock.advance(1000)
    expect(hub.statistics()).toEqual({ upstreams: [], subscriptions: [] })
    expect(watches()).toBe(1)
    const third = subscribe()
    await sees(() => third.isSynced)
    expect(sandbox.requests.count({ resource: "configmaps", verb: "watch" })).toBe(2)
  })

  test("refuses selectors that are none, by name", async () => {
    const { subscribe, hub } = await startHub()
    expect(() => subscribe({ labelSelector: "a in" })).toThrow(InvalidSubscription)
    expect(() => subscribe({ fieldSelector: "metadata.name" })).toThrow(/^fieldSelector: "metadata.name" is not/)
    expect(hub.statistics().upstreams).toEqual([])
  })

  test("reports a consumer that throws, and loses no change of it or of others", async () => {
    const { hub, subscribe, put, sees, alarms } = await startHub()
    const available = (): void => {
      throw new Error("a defect")
    }
    const thrower = hub.subscribe({ id: "x", kind: kinds.configMaps }, { available })
    const consumer = subscribe()
    put("a", "1")
    await sees(() => consumer.state.a === "1" && thrower.pending === 2)
    expect(alarms[0]).toBe("the consumer of subscription x failed: a defect")
    expect(thrower.take().map(({ type }) => type)).toEqual(consumer.changes.map(({ type }) => type))
  })

  test("retries at once with fresh credentials", async () => {
    const { subscribe, sees, sandbox, alarms, hub } = await startHub()
    sandbox.setToken("new")
    const consumer = subscribe()
    await sees(() => alarms.includes("unauthorized"), 0)
    sandbox.setToken(undefined)
    hub.retryNow()
    await sees(() => consumer.isSynced, 0)
  })
})
