/** Random rules, bindings and requests over a small world, so that they often meet. */

import fc from "fast-check"
import type { RequestUser } from "../../../src/apiserver/index.ts"
import type { AccessAttributes } from "../../../src/sandbox/rbac/access-attributes.ts"
import type { PolicyRule } from "../../../src/sandbox/rbac/policy-rule.ts"
import type { Binding } from "../../../src/sandbox/rbac/rule-book.ts"

const some = (values: ReadonlyArray<string>) => fc.subarray([...values], { minLength: 1 })

const resourceRules: fc.Arbitrary<PolicyRule> = fc.record({
  verbs: some(["*", "get", "list", "impersonate"]),
  apiGroups: some(["*", "", "apps"]),
  resources: some(["*", "pods", "pods/log", "*/log", "secrets"]),
  resourceNames: fc.subarray(["a", "b"]),
  nonResourceURLs: fc.constant([]),
})

const pathRules: fc.Arbitrary<PolicyRule> = fc.record({
  verbs: some(["*", "get", "post"]),
  apiGroups: fc.constant([]),
  resources: fc.constant([]),
  resourceNames: fc.constant([]),
  nonResourceURLs: some(["*", "/api", "/api/*", "/healthz"]),
})

export const rules = fc.array(fc.oneof({ arbitrary: resourceRules, weight: 3 }, pathRules), { maxLength: 4 })

export const attributes: fc.Arbitrary<AccessAttributes> = fc.oneof(
  fc.record({
    type: fc.constant("resource" as const),
    verb: fc.constantFrom("get", "list", "watch", "impersonate"),
    group: fc.constantFrom("", "apps", "batch"),
    resource: fc.constantFrom("pods", "secrets", "nodes"),
    subresource: fc.constantFrom("", "log", "status"),
    namespace: fc.constantFrom("", "one", "two"),
    name: fc.constantFrom("", "a", "b", "c"),
  }),
  fc.record({
    type: fc.constant("path" as const),
    verb: fc.constantFrom("get", "post", "put"),
    path: fc.constantFrom("/", "/api", "/api/v1", "/healthz", "/metrics"),
  }),
)

export const users: fc.Arbitrary<RequestUser> = fc.record({
  username: fc.constantFrom("ann", "bob", "system:serviceaccount:one:bot"),
  groups: fc.subarray(["staff", "guests"]),
})

/** One role bound once. Empty namespace: for the whole cluster. */
export interface Granted {
  readonly namespace: string
  readonly rules: ReadonlyArray<PolicyRule>
  readonly binding: Binding
}

export const granted: fc.Arbitrary<Granted> = fc
  .record({
    namespace: fc.constantFrom("", "one", "two"),
    rules,
    name: fc.constantFrom("x", "y", "z"),
    subjects: fc.array(
      fc.constantFrom(
        { kind: "User", name: "ann", namespace: "" },
        { kind: "Group", name: "staff", namespace: "" },
        { kind: "ServiceAccount", name: "bot", namespace: "one" },
        { kind: "ServiceAccount", name: "bot", namespace: "" },
        { kind: "Robot", name: "bob", namespace: "" },
      ),
      { maxLength: 2 },
    ),
  })
  .map(({ namespace, rules: given, name, subjects }) => ({
    namespace,
    rules: given,
    binding: { name, role: { kind: namespace === "" ? "ClusterRole" : "Role", name }, subjects },
  }))
