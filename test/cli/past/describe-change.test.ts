import { expect, test } from "vitest"
import { writersText } from "../../../src/cli/past/describe-change.ts"

const managers = [{ manager: "kubectl-edit", operation: "Update", subresource: "", time: "2026-03-01T12:00:00Z" }]
const author = { user: "alice", groups: [], userAgent: "kubectl/v1.34", sourceIPs: [], verb: "patch" }

test("the user of an audit log comes after the programs, and says if only times name him", () => {
  const textOf = (given: object, type = "changed"): string =>
    writersText({ type, managers: type === "deleted" ? [] : managers, author: { ...author, ...given } })
  expect(textOf({})).toBe("  by kubectl-edit; user alice")
  expect(textOf({ impersonated: "bob" })).toBe("  by kubectl-edit; user alice as bob")
  expect(textOf({ isInferred: true })).toBe("  by kubectl-edit; user alice (by time)")
  expect(textOf({}, "deleted")).toBe("  by user alice")
})
