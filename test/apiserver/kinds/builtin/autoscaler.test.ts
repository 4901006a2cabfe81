/** The two versions of HorizontalPodAutoscalers, compared with those of a real API server (Kubernetes 1.34.4). */

import { readFileSync } from "node:fs"
import { describe, expect, test } from "vitest"
import { storedAsNewAutoscaler } from "../../../../src/apiserver/kinds/builtin/autoscaler.ts"
import type { JsonObject } from "../../../../src/apiserver/kinds/resources.ts"

interface Recorded {
  readonly v1: JsonObject & { readonly metadata: { readonly name: string } }
  readonly v2: JsonObject
}

const recorded = JSON.parse(
  readFileSync(new URL("../../../data/apiserver/horizontal-pod-autoscalers.json", import.meta.url), "utf8"),
) as ReadonlyArray<Recorded>

const { fromStored, toStored } = storedAsNewAutoscaler

describe.each(recorded)("$v1.metadata.name", ({ v1, v2 }) => {
  test("stored as v2 is seen as v1 as the real server shows it, to the order of the keys", () => {
    const before = structuredClone(v2)
    expect(JSON.stringify(fromStored(v2))).toBe(JSON.stringify(v1))
    expect(v2).toEqual(before)
  })

  test("comes back whole from v1, and looks the same again", () => {
    expect(fromStored(toStored(v1))).toEqual(v1)
  })
})

test("a v1 without a target means 80 percent of the CPU", () => {
  const spec = { scaleTargetRef: { kind: "Deployment", name: "web" }, maxReplicas: 4 }
  expect(toStored({ metadata: { name: "a" }, spec })).toMatchObject({
    apiVersion: "autoscaling/v2",
    spec: {
      metrics: [
        { type: "Resource", resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 80 } } },
      ],
    },
  })
})

test.each(["{", "1", "{}", '{"ScaleUp":1}', "null"])("annotations with %s are ignored", (json) => {
  const keys = ["metrics", "current-metrics", "conditions", "behavior"]
  const annotations = Object.fromEntries(keys.map((key) => [`autoscaling.alpha.kubernetes.io/${key}`, json]))
  const stored = toStored({ metadata: { name: "a", annotations }, spec: { targetCPUUtilizationPercentage: 5 } })
  expect(stored).toMatchObject({ spec: { metrics: [{ resource: { target: { averageUtilization: 5 } } }] } })
})
