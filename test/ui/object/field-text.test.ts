import { expect, test } from "vitest"
import { authorLines } from "../../../src/ui/object/field-text.ts"

const author = {
  ...{ user: "alice", groups: ["ops", "staff"], userAgent: "kubectl/v1.34", sourceIPs: ["10.0.0.7"], verb: "patch" },
  ...{ auditID: "3b9e3a10-6b1f-4f0c-9a86-8d3a0c2f6d11", isInferred: false },
}

test("what is known of a user has the request's audit ID, and whether only times name him", () => {
  expect(authorLines(author)).toEqual([
    ["user", "alice"],
    ["verb", "patch"],
    ["groups", "ops, staff"],
    ["user agent", "kubectl/v1.34"],
    ["from", "10.0.0.7"],
    ["audit ID", "3b9e3a10-6b1f-4f0c-9a86-8d3a0c2f6d11"],
  ])
  expect(authorLines({ ...author, groups: [], sourceIPs: [], auditID: "", isInferred: true })).toEqual([
    ["user", "alice (by time)"],
    ["verb", "patch"],
    ["user agent", "kubectl/v1.34"],
  ])
})
