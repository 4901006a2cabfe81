import { expect, test } from "vitest"
import { ListUnderWay } from "../../../src/actors/watcher/list-under-way.ts"

test("the detail of a gap is there whether its reason was asked for or not", () => {
  const listing = new ListUnderWay({ epoch: 1, completeVersion: "" }, undefined)
  listing.started("first", undefined, false)
  const detail = listing.detailOf("cluster-restored")
  expect(detail).toBe("the recorder ended before the list of a restored cluster was complete")
  expect([listing.reason, listing.detailOf("cluster-restored")]).toEqual(["cluster-restored", detail])
})
