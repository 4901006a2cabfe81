import { describe, expect, test } from "vitest"
import {
  DEFAULT_TEMPLATE_PATHS,
  encodeTrackedObjects,
  normaliseTrackedObject,
  readSimkubeTrace,
  readTrackedObjects,
  type TrackedObject,
  TrackedObjectError,
} from "../../../../src/trace/index.ts"
import { goldenTrace } from "../../recording.ts"

const tracked = (...podSpecTemplatePaths: string[]): TrackedObject => ({
  podSpecTemplatePaths,
  trackLifecycle: false,
  skipOwned: false,
})

describe("SimKube's tracked objects", () => {
  test("known kinds get their path filled in", () => {
    for (const [gvk, paths] of DEFAULT_TEMPLATE_PATHS) {
      expect(normaliseTrackedObject(gvk, tracked())).toEqual(tracked(...paths))
      expect(normaliseTrackedObject(gvk, tracked(...paths))).toEqual(tracked(...paths))
    }
    expect(normaliseTrackedObject("/v1.Pod", tracked())).toEqual(tracked(""))
  })

  test("known kinds with other paths are rejected, naming the allowed paths", () => {
    const refused = (gvk: string, ...paths: string[]) => {
      expect(() => normaliseTrackedObject(gvk, tracked(...paths))).toThrow(TrackedObjectError)
    }
    refused("apps/v1.ReplicaSet", "/spec/template")
    refused("apps/v1.Deployment", "/spec/template", "/spec/other")
    expect(() => normaliseTrackedObject("apps/v1.ReplicaSet", tracked("/spec/template"))).toThrow(
      'apps/v1.ReplicaSet: podSpecTemplatePaths is ["/spec/template"], SimKube allows only ["/spec"]',
    )
  })

  test("other kinds need a path, and keep theirs", () => {
    expect(() => normaliseTrackedObject("v1.ConfigMap", tracked())).toThrow(
      "v1.ConfigMap: SimKube needs podSpecTemplatePaths for this kind",
    )
    expect(normaliseTrackedObject("ml.example.com/v1.Training", tracked("/spec/roles/*/template"))).toEqual(
      tracked("/spec/roles/*/template"),
    )
  })

  test("only keys that SimKube knows are written, and flags only if true", () => {
    const { entries } = encodeTrackedObjects(
      new Map([
        ["v1.Pod", { ...tracked(), trackLifecycle: true, skipOwned: true, detect: "all" } as TrackedObject],
        ["apps/v1.ReplicaSet", tracked("/spec/template")],
      ]),
    )
    expect([...entries].map(([gvk, entry]) => [gvk, Object.fromEntries(entry)])).toEqual([
      ["v1.Pod", { podSpecTemplatePaths: [""], trackLifecycle: true, skipOwned: true }],
      ["apps/v1.ReplicaSet", { podSpecTemplatePaths: ["/spec"] }],
    ])
  })

  test("kinds that SimKube would reject are left out and named (W-21)", () => {
    const { entries, leftOut } = encodeTrackedObjects(
      new Map([
        ["v1.ConfigMap", tracked()],
        ["v1.Pod", tracked()],
      ]),
    )
    expect([...entries.keys()]).toEqual(["v1.Pod"])
    expect(leftOut).toEqual(["v1.ConfigMap"])
  })

  test("what SimKube wrote is read back as it was configured", () => {
    const [item] = readSimkubeTrace([goldenTrace("recording-2")])
    expect(item?.type === "config" && Object.fromEntries(item.trackedObjects)).toEqual({
      "ml.example.com/v1.Training": { ...tracked("/spec/roles/*/template"), trackLifecycle: true },
      "apps/v1.Deployment": { ...tracked("/spec/template"), trackLifecycle: true },
      "apps/v1.StatefulSet": { ...tracked("/spec/template"), trackLifecycle: true, skipOwned: true },
      "batch/v1.CronJob": { ...tracked("/spec/jobTemplate/spec/template"), trackLifecycle: true },
      "batch/v1.Job": { ...tracked("/spec/template"), trackLifecycle: true, skipOwned: true },
      "v1.Pod": { ...tracked(""), trackLifecycle: true, skipOwned: true },
    })
  })

  test("reading accepts older spellings and newer keys", () => {
    expect(
      readTrackedObjects({
        "apps/v1.Deployment": {},
        "v1.ServiceAccount": { podSpecTemplatePath: "/x", podSpecTemplatePaths: null },
        "v1.Pod": { podSpecTemplatePaths: ["/a"], podSpecTemplatePath: "/b", fromTheFuture: 1 },
      }),
    ).toEqual(
      new Map([
        ["apps/v1.Deployment", tracked()],
        ["v1.ServiceAccount", tracked("/x")],
        ["v1.Pod", tracked("/a")],
      ]),
    )
  })

  test.each([
    [null],
    [[]],
    [{ "v1.Pod": null }],
    [{ "v1.Pod": { podSpecTemplatePaths: "/a" } }],
    [{ "v1.Pod": { podSpecTemplatePaths: [1] } }],
    [{ "v1.Pod": { trackLifecycle: "yes" } }],
    [{ "v1.Pod": { skipOwned: 1 } }],
    [{ "v1.Pod": { podSpecTemplatePath: 1 } }],
  ])("reading rejects values of another type: %j", (value) => {
    expect(readTrackedObjects(value)).toBeUndefined()
  })
})
