/** What else a living cluster has: Events that expire, and the PriorityClasses of the system. */

import { describe, expect, test } from "vitest"
import { Sandbox } from "../../../src/library/sandbox.ts"
import { ManualClock } from "../../runtime/manual-clock.ts"

const hour = 3_600_000

test("Events expire one hour after their last change, each by itself", async () => {
  const clock = new ManualClock()
  await using sandbox = await Sandbox.start({ lifecycle: true, clock, bookmarkInterval: 0 })
  const put = (name: string, count: number): void => {
    sandbox.put("v1.Event", { metadata: { name }, count, involvedObject: {} })
  }
  const left = (): ReadonlyArray<string> =>
    ["a", "b"].filter((name) => sandbox.get("v1.Event", "default", name) !== undefined)
  put("a", 1)
  clock.advance(hour / 2)
  put("b", 1)
  clock.advance(hour / 2 - 1)
  expect(left()).toEqual(["a", "b"])
  clock.advance(1)
  expect(left()).toEqual(["b"])
  put("b", 2)
  clock.advance(hour - 1)
  expect(left()).toEqual(["b"])
  clock.advance(1)
  expect(left()).toEqual([])
  expect(sandbox.ledger.of("v1.Event").map(({ name, action }) => `${name} ${action}`)).toEqual([
    "a applied",
    "b applied",
    "a deleted",
    "b applied",
    "b deleted",
  ])
})

test("a closed sandbox leaves no timer behind", async () => {
  const clock = new ManualClock()
  const sandbox = await Sandbox.start({ lifecycle: true, clock })
  sandbox.put("v1.Event", { metadata: { name: "a" } })
  sandbox.put("v1.ConfigMap", {
    metadata: { name: "b", ownerReferences: [{ apiVersion: "v1", kind: "ConfigMap", name: "x", uid: "y" }] },
  })
  await sandbox.close()
  expect(clock.pending).toBe(0)
})

describe("the PriorityClasses of the system", () => {
  test("exist from the start of a sandbox with lifecycle, as the API server's own", async () => {
    const clock = new ManualClock()
    await using sandbox = await Sandbox.start({ clock, lifecycle: true })
    const found = ["system-node-critical", "system-cluster-critical"].map((name) =>
      sandbox.get("scheduling.k8s.io/v1.PriorityClass", "", name),
    )
    expect(found.map((each) => each?.value)).toEqual([2_000_001_000, 2_000_000_000])
    // As in Kubernetes 1.34.4, except for version and uid.
    expect(found[0]).toMatchObject({
      description: "Used for system critical pods that must not be moved from their current node.",
      metadata: {
        name: "system-node-critical",
        generation: 1,
        managedFields: [
          {
            apiVersion: "scheduling.k8s.io/v1",
            fieldsType: "FieldsV1",
            fieldsV1: { "f:description": {}, "f:preemptionPolicy": {}, "f:value": {} },
            manager: "apiserver",
            operation: "Update",
          },
        ],
      },
      preemptionPolicy: "PreemptLowerPriority",
    })
  })

  test("are not created without lifecycle", async () => {
    await using sandbox = await Sandbox.start({ clock: new ManualClock() })
    expect(sandbox.get("scheduling.k8s.io/v1.PriorityClass", "", "system-node-critical")).toBeUndefined()
  })
})
