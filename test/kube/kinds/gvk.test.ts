import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { collectionPath, objectPath } from "../../../src/kube/kinds/gvk.ts"
import { labelComplaints, qualifiedNameComplaints, subdomainComplaints } from "../../../src/kube/names.ts"
import { canonicalQuantity, quantityOf, thousandths } from "../../../src/kube/quantity.ts"
import { parseFieldSelector, selectedName } from "../../../src/kube/selectors/field-selector.ts"

describe("A field selector", () => {
  test("has the requirements of its terms, with values that may contain escaped characters", () => {
    expect(parseFieldSelector("metadata.name=web,,status.phase!=Running,spec.nodeName==")).toEqual([
      { field: "metadata.name", isEqual: true, value: "web" },
      { field: "status.phase", isEqual: false, value: "Running" },
      { field: "spec.nodeName", isEqual: true, value: "" },
    ])
    expect(parseFieldSelector("")).toEqual([])
    const escaped = fc.string().map((value) => ({ value, text: value.replaceAll(/[\\,=]/g, String.raw`\$&`) }))
    fc.assert(
      fc.property(escaped, fc.boolean(), ({ value, text }, isEqual) => {
        const selector = `metadata.name${isEqual ? "=" : "!="}${text},a=b`
        expect(parseFieldSelector(selector)).toEqual([
          { field: "metadata.name", isEqual, value },
          { field: "a", isEqual: true, value: "b" },
        ])
      }),
    )
  })

  test.each(["metadata.name", "a=b=c", String.raw`a=b\c`, "a=b\\"])("is refused with a reason: %s", (text) => {
    expect(parseFieldSelector(text)).toHaveProperty("problem")
  })

  test.each([
    ["metadata.name=web,status.phase!=Running", "web"],
    [String.raw`a=b\,metadata.name\=c,metadata.name=web`, "web"],
    ["metadata.name!=web", ""],
    ["metadata.name=web,a", ""],
  ])("selects one name: %s", (text, name) => {
    expect(selectedName(text)).toBe(name)
  })
})

describe("a quantity", () => {
  test.each([
    ["1000m", "1"],
    ["1024Mi", "1Gi"],
    ["1500m", "1500m"],
    ["0.5", "500m"],
    ["1.5Gi", "1536Mi"],
    ["1000k", "1M"],
    ["0", "0"],
    ["0Gi", "0"],
    [2, "2"],
    ["-1", "-1"],
    ["1u", "1m"],
    ["many", "many"],
    ["1e3", "1e3"],
  ])("%j is spelt %j", (given, spelt) => {
    expect(canonicalQuantity(given)).toBe(spelt)
  })

  const written = fc
    .tuple(fc.integer({ min: -9999, max: 9999 }), fc.constantFrom("", "m", "k", "M", "G", "Ki", "Mi", "Gi"))
    .map(([amount, suffix]) => `${amount}${suffix}`)

  test("keeps its amount in its canonical spelling, which is stable", () => {
    fc.assert(
      fc.property(written, (text) => {
        const spelt = canonicalQuantity(text)
        expect(quantityOf(spelt)).toBeCloseTo(quantityOf(text) ?? Number.NaN, 3)
        expect(canonicalQuantity(spelt)).toBe(spelt)
      }),
    )
  })

  test("is only what the pattern allows, and reading never throws", () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect(quantityOf(text) === undefined || /^[+-]?[\d.]/.test(text)).toBe(true)
      }),
    )
  })

  test("is read as Kubernetes writes it", () => {
    expect(["100m", "2", "0.5", "1e3", "1E3", "64Mi", "1k", ".5", "1Gi", "-1"].map(quantityOf)).toEqual([
      0.1, 2, 0.5, 1000, 1000, 67108864, 1000, 0.5, 1073741824, -1,
    ])
    expect(["", "abc", "1 Gi", "1K", "--1", "1ee3", "Mi"].map(quantityOf)).toEqual(Array(7).fill(undefined))
  })

  test("in thousandths is exact for every number of milli-units", () => {
    fc.assert(
      fc.property(fc.nat({ max: 10_000_000 }), (millis) => {
        expect(thousandths(`${millis}m`)).toBe(millis)
        expect(thousandths((millis / 1000).toFixed(3))).toBe(millis)
      }),
    )
  })
})

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

const deployments = {
  gvk: { group: "apps", version: "v1", kind: "Deployment" },
  plural: "deployments",
  namespaced: true,
}

describe("the path of a collection", () => {
  test("is that of all namespaces, or of one", () => {
    expect(collectionPath(deployments)).toBe("/apis/apps/v1/deployments")
    expect(collectionPath(deployments, "")).toBe("/apis/apps/v1/deployments")
    expect(collectionPath(deployments, "kube-system")).toBe("/apis/apps/v1/namespaces/kube-system/deployments")
    expect(collectionPath(deployments, "a/../b c")).toBe("/apis/apps/v1/namespaces/a%2F..%2Fb%20c/deployments")
  })

  test("has no namespace for a cluster-scoped kind", () => {
    expect(collectionPath({ ...deployments, namespaced: false }, "kube-system")).toBe("/apis/apps/v1/deployments")
  })

  test("of the core group starts with /api", () => {
    const pods = { gvk: { group: "", version: "v1", kind: "Pod" }, plural: "pods", namespaced: true }
    expect(collectionPath(pods, "default")).toBe("/api/v1/namespaces/default/pods")
  })
})

test("the path of an object ends with its name, or its subresource", () => {
  expect(objectPath(deployments, "a", "b?c")).toBe("/apis/apps/v1/namespaces/a/deployments/b%3Fc")
  expect(objectPath(deployments, "a", "b", "scale")).toBe("/apis/apps/v1/namespaces/a/deployments/b/scale")
})
