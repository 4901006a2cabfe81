import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { type PolicyRule, RuleSet } from "../../../src/host/controller/rule-set.ts"

const rule = (resource: string, verbs: ReadonlyArray<string>, ...resourceNames: ReadonlyArray<string>): PolicyRule => ({
  apiGroups: [""],
  resources: [resource],
  ...(resourceNames.length > 0 && { resourceNames }),
  verbs,
})

describe("A set of rules", () => {
  test("has each right once, with every reason for it", () => {
    const rules = new RuleSet()
    rules.allow(undefined, rule("pods", ["watch", "list"]), "b")
    rules.allow(undefined, rule("pods", ["deletecollection", "get", "list"]), "a")
    rules.allow("shop", { apiGroups: ["apps"], resources: ["deployments", "daemonsets"], verbs: ["get"] })
    expect(rules.scopes()).toEqual([
      {
        namespace: undefined,
        rules: [{ ...rule("pods", ["get", "list", "watch", "deletecollection"]), reasons: ["a", "b"] }],
      },
      {
        namespace: "shop",
        rules: [{ apiGroups: ["apps"], resources: ["daemonsets", "deployments"], verbs: ["get"], reasons: [] }],
      },
    ])
  })

  test("leaves out what the whole cluster's rights, or those to all names, include", () => {
    const rules = new RuleSet()
    rules.allow("shop", rule("pods", ["list", "delete"]))
    rules.allow("shop", rule("pods", ["list"], "web"))
    rules.allow("lab", rule("pods", ["list"]))
    rules.allow("lab", rule("secrets", ["get"], "key"))
    rules.allow(undefined, rule("pods", ["list", "watch"]))
    expect(rules.scopes()).toEqual([
      { namespace: undefined, rules: [{ ...rule("pods", ["list", "watch"]), reasons: [] }] },
      { namespace: "lab", rules: [{ ...rule("secrets", ["get"], "key"), reasons: [] }] },
      { namespace: "shop", rules: [{ ...rule("pods", ["delete"]), reasons: [] }] },
    ])
  })

  const some = <T>(...values: ReadonlyArray<T>) => fc.uniqueArray(fc.constantFrom(...values), { minLength: 1 })
  const anyRule = fc.record({
    namespace: fc.constantFrom(undefined, "lab", "shop"),
    rule: fc.record(
      {
        apiGroups: some("", "apps"),
        resources: some("pods", "pods/status", "jobs"),
        resourceNames: some("a", "b"),
        verbs: some("get", "list", "create", "bind"),
      },
      { requiredKeys: ["apiGroups", "resources", "verbs"] },
    ),
  })
  interface Given {
    readonly namespace: string | undefined
    readonly rule: PolicyRule
  }
  /** RBAC's own answer. */
  const allows = (
    given: ReadonlyArray<Given>,
    question: readonly [string, string, string, string, string],
  ): boolean => {
    const [namespace, group, resource, name, verb] = question
    return given.some(
      ({ namespace: scope, rule: { apiGroups, resources, resourceNames, verbs } }) =>
        (scope === undefined || scope === namespace) &&
        apiGroups.includes(group) &&
        resources.includes(resource) &&
        verbs.includes(verb) &&
        (resourceNames === undefined || resourceNames.includes(name)),
    )
  }

  test("allows exactly what was given, in whatever order", () => {
    fc.assert(
      fc.property(fc.array(anyRule, { maxLength: 8 }), (given) => {
        const rules = new RuleSet()
        for (const each of given) rules.allow(each.namespace, each.rule)
        const scopes = rules.scopes()
        const found = scopes.flatMap(({ namespace, rules: all }) => all.map((one) => ({ namespace, rule: one })))
        for (const namespace of ["lab", "shop", "other"])
          for (const group of ["", "apps"])
            for (const resource of ["pods", "pods/status", "jobs"])
              for (const name of ["a", "b", "c"])
                for (const verb of ["get", "list", "create", "bind"]) {
                  const question = [namespace, group, resource, name, verb] as const
                  expect(allows(found, question), question.join(" ")).toBe(allows(given, question))
                }
        const again = new RuleSet()
        for (const each of given.toReversed()) again.allow(each.namespace, each.rule)
        expect(again.scopes()).toEqual(scopes)
      }),
      { numRuns: 100 },
    )
  })
})
