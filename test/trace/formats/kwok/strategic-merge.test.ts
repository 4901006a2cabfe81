/** Deltas between states of objects, and what they are when Kubernetes' rules apply them. */

import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { mergeRulesOf, strategicDiff } from "../../../../src/trace/formats/kwok/strategic-diff.ts"
import type { JsonObject } from "../../../../src/trace/json/exact-json.ts"
import { strategicMerge } from "../../../../src/trace/strategic-merge/strategic-merge.ts"
import { rounds } from "../../../harness/effort.ts"
import { pair } from "./kubernetes-states.ts"

const deployment = "apps/v1.Deployment"
const applied = (gvk: string, object: JsonObject, patch: JsonObject): JsonObject =>
  strategicMerge(object, patch, mergeRulesOf(gvk))
const withContainers = (...containers: ReadonlyArray<JsonObject>): JsonObject => ({
  spec: { template: { spec: { containers } } },
})
const containersOf = (patch: JsonObject | undefined): unknown =>
  (patch as { spec: { template: { spec: unknown } } } | undefined)?.spec.template.spec

describe("the patch between two states", () => {
  test("applied to the first gives the second, lists in their order", () => {
    let patches = 0
    fc.assert(
      fc.property(pair, ({ gvk, before, after }) => {
        const patch = strategicDiff(gvk, before, after)
        if (patch === undefined) return
        patches++
        expect(applied(gvk, before, patch)).toEqual(after)
      }),
      { numRuns: rounds(500) },
    )
    expect(patches).toBeGreaterThan(rounds(300))
  })

  test("is empty for equal states", () => {
    fc.assert(
      fc.property(pair, ({ gvk, before }) => {
        expect(strategicDiff(gvk, before, structuredClone(before))).toEqual({})
      }),
    )
  })

  test("contains only the changes", () => {
    const before = withContainers(
      { name: "web", image: "nginx:1.25", env: [{ name: "A", value: "1" }] },
      { name: "log" },
    )
    const after = withContainers(
      { name: "web", image: "nginx:1.26", env: [{ name: "A", value: "1" }] },
      { name: "log" },
    )
    expect(containersOf(strategicDiff(deployment, before, after))).toEqual({
      containers: [{ name: "web", image: "nginx:1.26" }],
    })
  })

  test("removes with null, and list elements by their key", () => {
    const before = { metadata: { labels: { a: "1", b: "2" } }, ...withContainers({ name: "web" }, { name: "log" }) }
    const after = { metadata: { labels: { b: "2" } }, ...withContainers({ name: "web" }) }
    expect(strategicDiff(deployment, before, after)).toMatchObject({ metadata: { labels: { a: null } } })
    expect(containersOf(strategicDiff(deployment, before, after))).toEqual({
      containers: [{ $patch: "delete", name: "log" }],
    })
  })

  test("states the order if there are new elements: the API server would put them first", () => {
    expect(
      containersOf(
        strategicDiff(deployment, withContainers({ name: "b" }), withContainers({ name: "b" }, { name: "a" })),
      ),
    ).toEqual({ "$setElementOrder/containers": [{ name: "b" }, { name: "a" }], containers: [{ name: "a" }] })
  })

  test("replaces the lists of custom resources as a whole: their schemas have no merge keys", () => {
    const of = (image: string): JsonObject => ({ spec: { containers: [{ name: "a", image }, { name: "b" }] } })
    expect(strategicDiff("ml.example.com/v1.Training", of("x"), of("y"))).toEqual(of("y"))
  })

  test.each<[string, string, JsonObject, JsonObject]>([
    [
      "two elements with one key",
      "v1.Service",
      { spec: { ports: [{ port: 53, protocol: "UDP" }] } },
      {
        spec: {
          ports: [
            { port: 53, protocol: "UDP" },
            { port: 53, protocol: "TCP" },
          ],
        },
      },
    ],
    [
      "elements without their key (owner references have lost their uid)",
      "v1.Pod",
      { metadata: { ownerReferences: [{ name: "a" }] } },
      { metadata: { ownerReferences: [{ name: "b" }] } },
    ],
    ["a field that looks like a directive", "v1.ConfigMap", { data: {} }, { data: { $patch: "delete" } }],
    ["a set that lost a value", "v1.Pod", { metadata: { finalizers: ["a"] } }, { metadata: { finalizers: ["b"] } }],
  ])("does not exist for %s", (_, gvk, before, after) => {
    expect(strategicDiff(gvk, before, after)).toBeUndefined()
  })

  test("leaves both states unchanged", () => {
    fc.assert(
      fc.property(pair, ({ gvk, before, after }) => {
        const frozen = JSON.stringify([before, after])
        const patch = strategicDiff(gvk, before, after)
        if (patch !== undefined) applied(gvk, before, patch)
        expect(JSON.stringify([before, after])).toBe(frozen)
      }),
    )
  })
})

/** Made by CreateTwoWayMergePatch of k8s.io/apimachinery 0.34.4, from the states beside them. */
const kubernetesPatches: ReadonlyArray<
  readonly [what: string, gvk: string, before: JsonObject, patch: JsonObject, after: JsonObject]
> = [
  [
    "$setElementOrder with moved and new elements",
    deployment,
    withContainers({ name: "a", image: "x" }, { name: "b" }),
    {
      spec: {
        template: {
          spec: {
            "$setElementOrder/containers": [{ name: "b" }, { name: "c" }, { name: "a" }],
            containers: [{ name: "c" }, { image: "y", name: "a" }],
          },
        },
      },
    },
    withContainers({ name: "b" }, { name: "c" }, { name: "a", image: "y" }),
  ],
  [
    "$retainKeys, which drops what it does not name",
    deployment,
    { spec: { strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge: 1 } } } },
    { spec: { strategy: { $retainKeys: ["type"], rollingUpdate: null, type: "Recreate" } } },
    { spec: { strategy: { type: "Recreate" } } },
  ],
  [
    "$deleteFromPrimitiveList",
    "v1.Pod",
    { metadata: { finalizers: ["a", "b"] } },
    {
      metadata: {
        "$deleteFromPrimitiveList/finalizers": ["a"],
        "$setElementOrder/finalizers": ["c", "b"],
        finalizers: ["c"],
      },
    },
    { metadata: { finalizers: ["c", "b"] } },
  ],
  [
    "$patch: replace in a map",
    "v1.Pod",
    { metadata: { labels: { a: "1" } } },
    { metadata: { labels: { $patch: "replace", b: "2" } } },
    { metadata: { labels: { b: "2" } } },
  ],
  [
    "$patch: delete in a map",
    "v1.Pod",
    { metadata: { labels: { a: "1" } } },
    { metadata: { labels: { $patch: "delete" } } },
    { metadata: { labels: {} } },
  ],
  [
    "a changed condition",
    "v1.Pod",
    {
      status: {
        conditions: [
          { type: "Ready", status: "False" },
          { type: "PodScheduled", status: "True" },
        ],
      },
    },
    {
      status: {
        "$setElementOrder/conditions": [{ type: "Ready" }, { type: "PodScheduled" }],
        conditions: [{ status: "True", type: "Ready" }],
      },
    },
    {
      status: {
        conditions: [
          { type: "Ready", status: "True" },
          { type: "PodScheduled", status: "True" },
        ],
      },
    },
  ],
]

describe("a patch that Kubernetes made", () => {
  test.each(kubernetesPatches)("%s is applied as Kubernetes does", (_, gvk, before, patch, after) => {
    expect(applied(gvk, before, patch)).toEqual(after)
  })
})
