import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { type PolicyRule, ruleAllows } from "../../../src/sandbox/rbac/policy-rule.ts"
import { describeRights, missingRights } from "../../../src/sandbox/rbac/rule-coverage.ts"
import { rounds } from "../../harness/effort.ts"
import { attributes, rules } from "./policies.ts"

describe("Rights that somebody may give away", () => {
  test("allow nothing that the giver may not do", () => {
    fc.assert(
      fc.property(rules, rules, attributes, (owned, wanted, asked) => {
        fc.pre(missingRights(owned, wanted).length === 0)
        if (wanted.some((rule) => ruleAllows(rule, asked)))
          expect(owned.some((rule) => ruleAllows(rule, asked))).toBe(true)
      }),
      { numRuns: rounds(4000) },
    )
  })

  test("include the giver's own, and those of everybody for whoever has all", () => {
    const all = { verbs: ["*"], apiGroups: ["*"], resources: ["*"], resourceNames: [], nonResourceURLs: [] }
    const paths = { ...all, apiGroups: [], resources: [], nonResourceURLs: ["*"] }
    fc.assert(
      fc.property(rules, (own) => {
        expect(missingRights(own, own)).toEqual([])
        expect(missingRights([all, paths], own)).toEqual([])
      }),
    )
  })

  test("are what is missing: with them added, nothing is", () => {
    fc.assert(
      fc.property(rules, rules, (owned, wanted) => {
        const missing = missingRights(owned, wanted)
        expect(missingRights([...owned, ...missing], wanted)).toEqual([])
      }),
    )
  })
})

test("Missing rights are described by resource, with all their verbs, sorted", () => {
  const rule = (given: Partial<PolicyRule>): PolicyRule => ({
    verbs: ["get"],
    apiGroups: [],
    resources: [],
    resourceNames: [],
    nonResourceURLs: [],
    ...given,
  })
  const wanted = [
    rule({ verbs: ["get", "list"], apiGroups: ["apps", ""], resources: ["pods"], resourceNames: ["b"] }),
    rule({ verbs: ["get", "list"], apiGroups: [""], resources: ["secrets"] }),
    rule({ nonResourceURLs: ["/x"] }),
  ]
  expect(describeRights(missingRights([], wanted)).split("\n")).toEqual([
    '{APIGroups:[""], Resources:["pods"], ResourceNames:["b"], Verbs:["get" "list"]}',
    '{APIGroups:[""], Resources:["secrets"], Verbs:["get" "list"]}',
    '{APIGroups:["apps"], Resources:["pods"], ResourceNames:["b"], Verbs:["get" "list"]}',
    '{NonResourceURLs:["/x"], Verbs:["get"]}',
  ])
})
