/** Taints follow conditions, as in Kubernetes 1.34.4. */

import { afterEach, beforeEach, expect, test } from "vitest"
import { Sandbox } from "../../../src/library/sandbox.ts"
import { ManualClock } from "../../runtime/manual-clock.ts"

let clock: ManualClock
let sandbox: Sandbox
beforeEach(async () => {
  clock = new ManualClock()
  sandbox = await Sandbox.start({ clock, lifecycle: true, bookmarkInterval: 0 })
})
afterEach(() => sandbox.close())

const nodes = "/api/v1/nodes"

/** The keys of its taints after the controller has run. */
const taints = (): ReadonlyArray<string> => {
  clock.advance(1)
  const { spec } = sandbox.get("v1.Node", "", "one") as unknown as {
    spec: { taints?: ReadonlyArray<{ key: string; effect: string }> }
  }
  return (spec.taints ?? []).map(({ key, effect }) => `${key}:${effect}`)
}

const create = async (spec: object, conditions: object): Promise<void> => {
  const body = { metadata: { name: "one" }, spec, status: { conditions } }
  expect((await sandbox.request({ method: "POST", path: nodes, body })).status).toBe(201)
}

const report = async (...conditions: ReadonlyArray<readonly [type: string, status: string]>): Promise<void> => {
  const body = { status: { conditions: conditions.map(([type, status]) => ({ type, status })) } }
  expect((await sandbox.request({ method: "PATCH", path: `${nodes}/one/status`, body })).status).toBe(200)
}

test("a node that reports not ready is tainted until it reports ready", async () => {
  await create({}, [{ type: "Ready", status: "False" }])
  expect(taints()).toEqual(["node.kubernetes.io/not-ready:NoSchedule"])
  await report(["Ready", "Unknown"])
  expect(taints()).toEqual(["node.kubernetes.io/unreachable:NoSchedule"])
  await report(["Ready", "True"])
  expect(taints()).toEqual([])
})

test("a node without conditions has the taint of new nodes only briefly", async () => {
  await create({}, [])
  expect(sandbox.get("v1.Node", "", "one")?.spec).toEqual({
    taints: [{ key: "node.kubernetes.io/not-ready", effect: "NoSchedule" }],
  })
  expect(taints()).toEqual([])
})

test("pressure and cordons taint too; other taints stay", async () => {
  await create({ taints: [{ key: "own", value: "x", effect: "NoExecute" }] }, [{ type: "Ready", status: "True" }])
  expect(taints()).toEqual(["own:NoExecute"])
  await report(["Ready", "True"], ["MemoryPressure", "True"], ["DiskPressure", "False"])
  expect(taints()).toEqual(["own:NoExecute", "node.kubernetes.io/memory-pressure:NoSchedule"])
  await sandbox.request({ method: "PATCH", path: `${nodes}/one`, body: { spec: { unschedulable: true } } })
  expect(taints()).toContain("node.kubernetes.io/unschedulable:NoSchedule")
  await report(["Ready", "True"])
  await sandbox.request({ method: "PATCH", path: `${nodes}/one`, body: { spec: { unschedulable: null } } })
  expect(taints()).toEqual(["own:NoExecute"])
})

test("nothing is written when nothing changes", async () => {
  await create({}, [{ type: "Ready", status: "True" }])
  taints()
  const version = sandbox.resourceVersion
  await report(["Ready", "True"])
  taints()
  expect(sandbox.resourceVersion).toBe(version)
})
