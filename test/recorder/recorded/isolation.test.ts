/** Events of one kind do not affect another. */
import * as Effect from "effect/Effect"
import { expect, test } from "vitest"
import { patient } from "../../harness/patience.ts"
import { until } from "../recorder/recorder-command.ts"
import { differences, ledgerOf, RecordedSandbox, tracked } from "./recorded-sandbox.ts"
import { Workload } from "./workload.ts"

test("20 expired watches of one kind do not affect another kind's stream", { timeout: patient(60_000) }, async () => {
  const recorded = await RecordedSandbox.start({ kinds: [tracked("apps/v1.Deployment"), tracked("v1.ConfigMap")] })
  const { sandbox } = recorded
  const busy = new Workload(sandbox, ["apps/v1.Deployment"], 1)
  const troubled = new Workload(sandbox, ["v1.ConfigMap"], 2)
  try {
    await recorded.ready()
    for (let index = 0; index < 100; index++) troubled.step()
    await recorded.caughtUp()
    const watchesBefore = sandbox.requests.count({ resource: "deployments", verb: "watch" })
    busy.start(500)
    let forced = 0
    while (forced < 20) {
      sandbox.faults.forceExpired("configmaps", 1)
      forced++
      await until(
        async () => {
          sandbox.faults.endWatches("configmaps")
          return sandbox.faults.count("expired", "configmaps") >= forced
        },
        () => `410 number ${forced}`,
      )
      // Not its state, which is briefly still the previous one: a second 410 in one list would be one gap for both.
      await until(
        async () => (await gapsOf(recorded, "v1.ConfigMap")) >= forced,
        () => `gap number ${forced}`,
      )
      await recorded.inState("v1.ConfigMap", "watching")
    }
    busy.stop()
    await recorded.caughtUp()
    const exported = await recorded.export()
    for (const gvk of ["apps/v1.Deployment", "v1.ConfigMap"]) {
      expect(differences(exported.changes, ledgerOf(sandbox, gvk), gvk)).toEqual({})
    }
    expect(sandbox.faults.count("expired", "configmaps")).toBeGreaterThanOrEqual(20)
    expect(exported.gaps.filter(({ gvk }) => gvk === "v1.ConfigMap").length).toBeGreaterThanOrEqual(20)
    expect(exported.gaps.filter(({ gvk }) => gvk === "apps/v1.Deployment")).toEqual([])
    expect(sandbox.requests.count({ resource: "deployments", verb: "watch" })).toBe(watchesBefore)
    expect(busy.events).toBeGreaterThan(500)
  } finally {
    busy.stop()
    await recorded.close()
  }
})

/** Gaps that a kind's watcher has reported since it started. */
const gapsOf = async ({ actors }: RecordedSandbox, gvk: string): Promise<number> => {
  const found = actors.watchers.find((each) => each.gvk === gvk)
  if (found === undefined) return 0
  return (await Effect.runPromise(found.watcher.call("statistics", undefined))).gaps
}

test("two kinds whose objects share namespace and name are kept apart", async () => {
  await using recorded = await RecordedSandbox.start({
    kinds: [tracked("apps/v1.Deployment"), tracked("apps/v1.StatefulSet")],
  })
  const { sandbox } = recorded
  await recorded.ready()
  for (const gvk of ["apps/v1.Deployment", "apps/v1.StatefulSet"]) {
    sandbox.put(gvk, { metadata: { namespace: "shop", name: "same" }, spec: { of: gvk } })
  }
  sandbox.delete("apps/v1.StatefulSet", "shop", "same")
  await recorded.caughtUp()
  const exported = await recorded.export()
  for (const gvk of ["apps/v1.Deployment", "apps/v1.StatefulSet"]) {
    expect(differences(exported.changes, ledgerOf(sandbox, gvk), gvk)).toEqual({})
  }
})

test("an object deleted and created again within a second is two objects", async () => {
  await using recorded = await RecordedSandbox.start({ kinds: [tracked("v1.ConfigMap")] })
  const { sandbox } = recorded
  await recorded.ready()
  sandbox.put("v1.ConfigMap", { metadata: { namespace: "shop", name: "twice" }, data: { n: "1" } })
  sandbox.delete("v1.ConfigMap", "shop", "twice")
  sandbox.put("v1.ConfigMap", { metadata: { namespace: "shop", name: "twice" }, data: { n: "2" } })
  await recorded.caughtUp()
  const exported = await recorded.export()
  expect(exported.changes.map(({ action }) => action)).toEqual(["applied", "deleted", "applied"])
  expect(differences(exported.changes, ledgerOf(sandbox, "v1.ConfigMap"), "v1.ConfigMap")).toEqual({})
})

test("an object that is deleted and re-created across a relist vanishes before its successor appears", async () => {
  await using recorded = await RecordedSandbox.start({ kinds: [tracked("v1.ConfigMap")] })
  const { sandbox } = recorded
  const first = sandbox.put("v1.ConfigMap", { metadata: { namespace: "shop", name: "twice" }, data: { n: "1" } })
  await recorded.ready()
  await recorded.caughtUp()
  await sandbox.faults.refuseConnections()
  sandbox.faults.dropConnections()
  sandbox.delete("v1.ConfigMap", "shop", "twice")
  const second = sandbox.put("v1.ConfigMap", { metadata: { namespace: "shop", name: "twice" }, data: { n: "2" } })
  sandbox.faults.forceExpired("configmaps", 1)
  await sandbox.faults.acceptConnections()
  await until(async () => sandbox.faults.count("expired", "configmaps") >= 1, "the 410")
  await recorded.reached("v1.ConfigMap", BigInt(second.metadata.resourceVersion))
  const exported = await recorded.export()
  expect(exported.changes.map(({ action, uid }) => [action, uid])).toEqual([
    ["applied", first.metadata.uid],
    ["vanished", first.metadata.uid],
    ["applied", second.metadata.uid],
  ])
  expect(exported.gaps).toMatchObject([
    { gvk: "v1.ConfigMap", reason: "expired", fromVersion: first.metadata.resourceVersion },
  ])
})
