import { expect, test } from "vitest"
import { decodeDiscovery, withDiscovered } from "../../../src/archive/rows/discovery.ts"

const kind = (gvk: string, plural: string) => ({
  ...{ gvk, plural, singular: "", shortNames: [], categories: [], namespaced: true },
})

test("a kind is added, and what was known of it is replaced", () => {
  const first = withDiscovered(undefined, kind("v1.Pod", "pod"))
  const second = withDiscovered(
    withDiscovered(first, kind("apps/v1.Deployment", "deployments")),
    kind("v1.Pod", "pods"),
  )
  expect(decodeDiscovery(second).map(({ gvk, plural }) => [gvk, plural])).toEqual([
    ["apps/v1.Deployment", "deployments"],
    ["v1.Pod", "pods"],
  ])
})

test("a text of another version has no kinds", () => {
  expect(decodeDiscovery("{")).toEqual([])
  expect(decodeDiscovery('[{"gvk":1}]')).toEqual([])
})
