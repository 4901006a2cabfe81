import fc from "fast-check"
import { expect, test } from "vitest"
import { labelValueComplaints } from "../../../src/kube/offline.ts"
import { replayLabelOf } from "../../../src/simulation/driver/drive-simulation.ts"

test("the name of a pod is the value of the label, as long as a label may have it", () => {
  expect(replayLabelOf("sk-demo-driver-0-abcde")).toBe("sk-demo-driver-0-abcde")
})

test("every pod has a valid label, and no two pods have the same", () => {
  const names = fc.stringMatching(/^[a-z0-9]([-a-z0-9.]{0,200}[a-z0-9])?$/)
  fc.assert(
    fc.property(names, names, (one, other) => {
      expect(labelValueComplaints(replayLabelOf(one))).toEqual([])
      expect(replayLabelOf(one) === replayLabelOf(other)).toBe(one === other)
    }),
  )
})
