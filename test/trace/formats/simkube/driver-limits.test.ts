import { describe, expect, test } from "vitest"
import { DriverLimits } from "../../../../src/trace/formats/simkube/driver-limits.ts"
import type { JsonObject } from "../../../../src/trace/index.ts"

const training = "ml.example.com/v1.Training"
const template = { metadata: {}, spec: { containers: [{ name: "a" }] } }

const warningsOf = (
  gvk: string,
  paths: ReadonlyArray<string>,
  ...objects: ReadonlyArray<readonly [namespace: string, object: JsonObject]>
): ReadonlyArray<string> => {
  const limits = new DriverLimits(
    new Map([[gvk, { podSpecTemplatePaths: paths, trackLifecycle: false, skipOwned: false }]]),
  )
  for (const [namespace, object] of objects) limits.observe(gvk, namespace, object)
  return limits.warnings
}

describe("What SimKube's driver cannot replay:", () => {
  test("cluster-scoped objects (W-22)", () => {
    const object = { spec: { template } }
    expect(warningsOf(training, ["/spec/template"], ["", object])).toEqual([
      `SimKube's driver ends at the first ${training}, because it is cluster-scoped`,
    ])
    expect(warningsOf(training, ["/spec/template"], ["shop", object])).toEqual([])
  })

  test("a path at which no object has a pod template; one object with it is enough", () => {
    const paths = ["/spec/roles/*/template", "/spec/launcher"]
    const bare = { spec: { launcher: { spec: {} } } }
    const whole = { spec: { roles: [{}, { template }], launcher: template } }
    expect(warningsOf(training, paths, ["shop", bare]).map((text) => / at (\S+),/.exec(text)?.[1])).toEqual(paths)
    expect(warningsOf(training, paths, ["shop", bare], ["shop", whole])).toEqual([])
    // A kind without objects is not in the trace.
    expect(warningsOf(training, paths)).toEqual([])
  })

  test("ReplicaSets, whose template it looks for in the wrong place (W-20); no other kind that it knows", () => {
    const object = { spec: { template } }
    expect(warningsOf("apps/v1.ReplicaSet", [], ["shop", object])).toEqual([expect.stringContaining("wrong place")])
    for (const gvk of ["apps/v1.Deployment", "v1.Pod", "batch/v1.Job"])
      expect(warningsOf(gvk, [], ["shop", object])).toEqual([])
  })
})
