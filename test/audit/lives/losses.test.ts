import { expect, test } from "vitest"
import { Losses } from "../../../src/audit/lives/losses.ts"

test("of the change that is lost, only its place is kept", () => {
  const losses = new Losses()
  const place = { group: "", version: "v1", resource: "pods", namespace: "shop" }
  losses.lost(Object.assign({ response: { kind: "Pod" } }, place), "web", "metadata-level", 1, "")
  expect([...losses.counts].map(({ resource }) => resource)).toEqual([place])
  expect([...losses.ended(2)].map(({ resource }) => resource)).toEqual([place])
})
