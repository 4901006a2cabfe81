/** What a recorder that starts does about a stream of which objects were removed, and about an empty prefix. */
import { expect, test } from "vitest"
import { fromTheBeginning } from "../../../src/archive/index.ts"
import { newTenure, startOf } from "../../../src/fleet/index.ts"

const clusterUid = "cluster-1"
const shipped = {
  ...{ number: 7, epoch: 1, owner: "owner-1", sha256: "7", isWhole: true, position: fromTheBeginning, heldAfter: 0 },
}
const tenure = { ...newTenure("s1", "owner-1"), shipped }

test("a stream that lacks what this directory has shipped is refused, and another prefix gets everything", () => {
  const last = { number: 5, epoch: 1, owner: "owner-1", sha256: "5" }
  for (const found of [undefined, last])
    expect(startOf({ id: "s1", clusterUid, last: found }, { clusterUid, tenure })).toMatchObject({
      ...{ tag: "refuse", reason: expect.stringContaining("objects were removed") },
    })
  expect(startOf({ id: "s2", clusterUid, last: undefined }, { clusterUid, tenure })).toEqual({ tag: "begin" })
})
