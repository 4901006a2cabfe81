/** Nobody grants rights that they do not have. The texts are those of Kubernetes 1.34.4. */

import { describe, expect, test } from "vitest"
import { type Ask, grant, rbac, withAuthorization } from "./requests.ts"

const group = "rbac.authorization.k8s.io"
const writing = {
  apiGroups: [group],
  resources: ["roles", "rolebindings", "clusterroles", "clusterrolebindings"],
  verbs: ["create", "update", "patch", "get"],
}
const pods = { apiGroups: [""], resources: ["pods"], verbs: ["get"] }
const secrets = { apiGroups: [""], resources: ["secrets"], verbs: ["get", "list"] }
const roles = `${rbac}/namespaces/default/roles`
const bindings = `${rbac}/namespaces/default/rolebindings`

const writer = async (...more: object[]): Promise<Ask> => {
  const { ask } = await withAuthorization()
  await grant(ask, "bob", [writing, pods, ...more])
  return (path, asked) => ask(path, { as: "bob", ...asked })
}

const outcome = async (ask: Ask, path: string, body: object, method = "POST"): Promise<unknown> => {
  const answer = await ask(path, { body, method, headers: { "Impersonate-Group": "z" } })
  return answer.status < 300 ? answer.status : answer.body.message
}

const grantsMore =
  'user "bob" (groups=["z" "system:authenticated"]) is attempting to grant RBAC permissions not currently held:'

describe("A role", () => {
  test("may hold what its writer may do, and nothing else", async () => {
    const ask = await writer()
    expect(await outcome(ask, roles, { metadata: { name: "r" }, rules: [pods] })).toBe(201)
    expect(await outcome(ask, roles, { metadata: { name: "s" }, rules: [pods, secrets] })).toBe(
      `roles.${group} "s" is forbidden: ${grantsMore}\n{APIGroups:[""], Resources:["secrets"], Verbs:["get" "list"]}`,
    )
    expect(await outcome(ask, `${roles}/r`, { metadata: { name: "r" }, rules: [secrets] }, "PUT")).toMatch(
      /^roles\.rbac\.authorization\.k8s\.io "r" is forbidden: user "bob"/,
    )
    expect(
      await outcome(ask, `${rbac}/clusterroles`, {
        metadata: { name: "c" },
        rules: [{ nonResourceURLs: ["/x"], verbs: ["get"] }],
      }),
    ).toBe(`clusterroles.${group} "c" is forbidden: ${grantsMore}\n{NonResourceURLs:["/x"], Verbs:["get"]}`)
  })

  test("may hold anything if its writer may escalate it", async () => {
    const ask = await writer({ apiGroups: [group], resources: ["roles"], verbs: ["escalate"] })
    expect(await outcome(ask, roles, { metadata: { name: "s" }, rules: [secrets] })).toBe(201)
    expect(await outcome(ask, `${rbac}/clusterroles`, { metadata: { name: "s" }, rules: [secrets] })).toMatch(
      /forbidden/,
    )
  })

  test("may gather others' rules only if its writer may do everything", async () => {
    const ask = await writer()
    const aggregationRule = { clusterRoleSelectors: [{ matchLabels: { a: "b" } }] }
    expect(await outcome(ask, `${rbac}/clusterroles`, { metadata: { name: "c" }, aggregationRule })).toBe(
      `clusterroles.${group} "c" is forbidden: must have cluster-admin privileges to use the aggregationRule`,
    )
  })

  test("with too many rights may still lose its finalizers", async () => {
    const ask = await writer()
    const role = { metadata: { name: "big", finalizers: ["a.example.com/b"] }, rules: [secrets] }
    const { status, body } = await ask(roles, {
      as: "root",
      headers: { "Impersonate-Group": "system:masters" },
      body: role,
    })
    expect(status).toBe(201)
    const without = { ...body, metadata: { ...body.metadata, finalizers: [] } }
    expect(await outcome(ask, `${roles}/big`, without, "PUT")).toBe(200)
    const changed = { ...without, metadata: { ...without.metadata, resourceVersion: "", labels: { a: "b" } } }
    expect(await outcome(ask, `${roles}/big`, changed, "PUT")).toMatch(/not currently held/)
  })
})

describe("A binding", () => {
  const toRole = (kind: string, name: string) => ({
    metadata: { name: `to-${name.replaceAll(":", "-")}` },
    roleRef: { apiGroup: group, kind, name },
    subjects: [{ kind: "User", name: "eve" }],
  })

  test("may refer to a role that allows no more than its writer may do", async () => {
    const ask = await writer()
    expect(await outcome(ask, bindings, toRole("ClusterRole", "system:basic-user"))).toBe(201)
    expect(await outcome(ask, bindings, toRole("ClusterRole", "view"))).toMatch(
      /^rolebindings\.rbac\.authorization\.k8s\.io "to-view" is forbidden: user "bob" .* not currently held:\n\{APIGroups:\[""\], Resources:\["bindings"\], Verbs:\["get" "list" "watch"\]\}/,
    )
  })

  test("needs an existing role, unless its writer may bind it", async () => {
    const ask = await writer({
      apiGroups: [group],
      resources: ["clusterroles"],
      resourceNames: ["later", "view"],
      verbs: ["bind"],
    })
    expect(await outcome(ask, bindings, toRole("Role", "nope"))).toBe(`rolebindings.${group} "nope" not found`)
    expect(await outcome(ask, bindings, toRole("ClusterRole", "later"))).toBe(201)
    expect(await outcome(ask, `${rbac}/clusterrolebindings`, toRole("ClusterRole", "view"))).toBe(201)
    expect(await outcome(ask, bindings, toRole("ClusterRole", "edit"))).toMatch(/not currently held/)
  })
})
