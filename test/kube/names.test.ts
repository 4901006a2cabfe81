import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { labelComplaints, qualifiedNameComplaints, subdomainComplaints } from "../../src/kube/names.ts"

describe("a name", () => {
  const part = fc.stringMatching(/^[a-z0-9]([-a-z0-9]{0,20}[a-z0-9])?$/)

  test("of valid parts is a label, and with dots a subdomain", () => {
    fc.assert(
      fc.property(fc.array(part, { minLength: 2, maxLength: 5 }), (parts) => {
        expect(labelComplaints(parts[0] ?? "")).toEqual([])
        expect(subdomainComplaints(parts.join("."))).toEqual([])
        expect(labelComplaints(parts.join(".")).at(-1)).toBe("must not contain dots")
        expect(qualifiedNameComplaints(`${parts.join(".")}/${parts[0]}`)).toEqual([])
      }),
    )
  })

  test("is checked in linear time: quadratic time would exceed the test's limit", () => {
    expect(subdomainComplaints(`${"a-".repeat(1_000_000)}_`)).not.toEqual([])
  }, 60_000)
})
