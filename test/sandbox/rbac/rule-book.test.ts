import fc from "fast-check"
import { describe, expect, test } from "vitest"
import type { RequestUser } from "../../../src/apiserver/index.ts"
import { ruleAllows } from "../../../src/sandbox/rbac/policy-rule.ts"
import { RuleBook } from "../../../src/sandbox/rbac/rule-book.ts"
import { attributes, type Granted, granted, rules, users } from "./policies.ts"

const bookOf = (all: ReadonlyArray<Granted>): RuleBook => {
  const book = new RuleBook()
  for (const { namespace, rules: given, binding } of all) {
    book.setRole(namespace, binding.name, given)
    book.setBinding(namespace, binding.name, binding)
  }
  return book
}

/** The last of equal names replaces the others, as in a store. */
const effective = (all: ReadonlyArray<Granted>): ReadonlyArray<Granted> => [
  ...new Map(all.map((each) => [`${each.namespace}/${each.binding.name}`, each])).values(),
]

/** The definition, one binding at a time. */
const applies = ({ binding, namespace }: Granted, user: RequestUser): boolean =>
  binding.subjects.some((subject) => {
    if (subject.kind === "User") return subject.name === user.username
    if (subject.kind === "Group") return user.groups.includes(subject.name)
    if (subject.kind !== "ServiceAccount") return false
    return user.username === `system:serviceaccount:${subject.namespace || namespace}:${subject.name}`
  })

describe("A decision", () => {
  test("is positive exactly if a rule of a role that is bound to the user there allows the request", () => {
    fc.assert(
      fc.property(fc.array(granted, { maxLength: 5 }), users, attributes, (all, user, asked) => {
        const namespace = asked.type === "resource" ? asked.namespace : ""
        const expected = effective(all).some(
          (each) =>
            (each.namespace === "" || each.namespace === namespace) &&
            applies(each, user) &&
            each.rules.some((rule) => ruleAllows(rule, asked)),
        )
        const { isAllowed, reason } = bookOf(all).authorize(user, asked)
        expect([isAllowed, reason !== ""]).toEqual([expected, expected])
      }),
    )
  })

  test("agrees with the list of the user's rules", () => {
    fc.assert(
      fc.property(fc.array(granted, { maxLength: 5 }), users, attributes, (all, user, asked) => {
        const book = bookOf(all)
        const listed = book.rulesFor(user, asked.type === "resource" ? asked.namespace : "").rules
        expect(book.authorize(user, asked).isAllowed).toBe(listed.some((rule) => ruleAllows(rule, asked)))
      }),
    )
  })

  test("is not undone by another binding, and is by the removal of all of them", () => {
    fc.assert(
      fc.property(fc.array(granted, { maxLength: 3 }), users, attributes, rules, (all, user, asked, more) => {
        const book = bookOf(all)
        const before = book.authorize(user, asked).isAllowed
        book.setRole("", "more", more)
        book.setBinding("", "more", {
          name: "more",
          role: { kind: "ClusterRole", name: "more" },
          subjects: [{ kind: "User", name: user.username, namespace: "" }],
        })
        expect(book.authorize(user, asked).isAllowed).toBe(before || more.some((rule) => ruleAllows(rule, asked)))
        book.setBinding("", "more", undefined)
        expect(book.authorize(user, asked).isAllowed).toBe(before)
        for (const { namespace, binding } of all) book.setBinding(namespace, binding.name, undefined)
        expect(book.authorize(user, asked)).toEqual({ isAllowed: false, reason: "" })
      }),
    )
  })

  const pods = {
    type: "resource",
    verb: "get",
    group: "",
    resource: "pods",
    subresource: "",
    namespace: "one",
    name: "",
  } as const
  const bot = { username: "system:serviceaccount:one:bot", groups: [] }
  const subjects = [{ kind: "ServiceAccount", name: "bot", namespace: "" }]

  test("names the roles that do not exist, each once", () => {
    const book = new RuleBook()
    const missing = { kind: "Role", name: "gone" }
    book.setBinding("one", "a", { name: "a", role: missing, subjects })
    expect(book.authorize(bot, pods)).toEqual({
      isAllowed: false,
      reason: 'RBAC: role.rbac.authorization.k8s.io "gone" not found',
    })
    book.setBinding("one", "b", { name: "b", role: missing, subjects })
    book.setBinding("one", "c", { name: "c", role: { kind: "ClusterRole", name: "gone" }, subjects })
    expect(book.authorize(bot, pods).reason).toBe(
      'RBAC: [role.rbac.authorization.k8s.io "gone" not found, clusterrole.rbac.authorization.k8s.io "gone" not found]',
    )
  })
})

describe("A rule", () => {
  const rule = { verbs: ["get"], apiGroups: [""], resources: ["*/log"], resourceNames: [], nonResourceURLs: ["/a/*"] }
  const about = { type: "resource", verb: "get", group: "", namespace: "", name: "" } as const

  test.each([
    ["pods", "log", true],
    ["pods", "", false],
    ["pods", "status", false],
    ["nodes", "log", true],
  ])("for a subresource of all resources: %s/%s %s", (resource, subresource, expected) => {
    expect(ruleAllows(rule, { ...about, resource, subresource })).toBe(expected)
  })

  test.each([
    ["/a/b", true],
    ["/a/", true],
    ["/a", false],
  ])("for paths that begin alike: %s %s", (path, expected) => {
    expect(ruleAllows(rule, { type: "path", verb: "get", path })).toBe(expected)
  })

  test("with names allows nothing that names no object", () => {
    const named = { ...rule, resources: ["pods"], resourceNames: ["a"] }
    const asked = { ...about, resource: "pods", subresource: "" }
    expect(["a", "b", ""].map((name) => ruleAllows(named, { ...asked, name }))).toEqual([true, false, false])
  })
})
