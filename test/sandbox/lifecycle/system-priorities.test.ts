import { describe, expect, test } from "vitest"
import { Sandbox } from "../../../src/sandbox/index.ts"
import { ManualClock } from "../../runtime/manual-clock.ts"

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
