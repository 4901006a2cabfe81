/** Questions about access, with authorization. The answers are those of Kubernetes 1.34.4. */

import { describe, expect, test } from "vitest"
import { grant, rbac, withAuthorization } from "./requests.ts"

const authorization = "/apis/authorization.k8s.io/v1"
const getPods = { verb: "get", resource: "pods", namespace: "default" }

describe("A review of access", () => {
  test("says what allows it", async () => {
    const { ask } = await withAuthorization()
    await grant(ask, "bob", [{ apiGroups: [""], resources: ["pods"], verbs: ["get"] }], "default")
    const review = async (spec: object, plural = "subjectaccessreviews") =>
      (await ask(`${authorization}/${plural}`, { body: { spec } })).body.status
    const allowed = {
      allowed: true,
      reason: 'RBAC: allowed by RoleBinding "bob-default/default" of ClusterRole "bob-default" to User "bob"',
    }
    expect(await review({ user: "bob", resourceAttributes: getPods })).toEqual(allowed)
    expect(
      await review({ user: "bob", resourceAttributes: getPods }, "namespaces/default/localsubjectaccessreviews"),
    ).toEqual(allowed)
    expect(await review({ user: "bob", resourceAttributes: { ...getPods, namespace: "" } })).toEqual({ allowed: false })
    expect(await review({ user: "bob", resourceAttributes: { ...getPods, subresource: "log" } })).toEqual({
      allowed: false,
    })
    expect(await review({ groups: ["system:masters"], resourceAttributes: getPods })).toEqual({ allowed: true })
    expect(
      await review({
        user: "x",
        groups: ["system:authenticated"],
        nonResourceAttributes: { verb: "get", path: "/api/v1" },
      }),
    ).toEqual({
      allowed: true,
      reason:
        'RBAC: allowed by ClusterRoleBinding "system:discovery" of ClusterRole "system:discovery" to Group "system:authenticated"',
    })
  })

  test("of oneself is about the user who asks", async () => {
    const { ask } = await withAuthorization()
    const review = async (as?: string) =>
      (
        await ask(`${authorization}/selfsubjectaccessreviews`, {
          ...(as && { as }),
          body: { spec: { resourceAttributes: getPods } },
        })
      ).body.status
    expect([await review(), await review("bob")]).toEqual([{ allowed: true }, { allowed: false }])
  })

  test("tells of roles that are bound but missing, and of unreadable selectors", async () => {
    const { ask } = await withAuthorization()
    await grant(ask, "bob", [])
    await ask(`${rbac}/clusterroles/bob-all`, { method: "DELETE" })
    const labelSelector = { rawSelector: "a in ((" }
    const spec = { user: "bob", resourceAttributes: { ...getPods, labelSelector } }
    expect((await ask(`${authorization}/subjectaccessreviews`, { body: { spec } })).body.status).toEqual({
      allowed: false,
      reason: 'RBAC: clusterrole.rbac.authorization.k8s.io "bob-all" not found',
      evaluationError: "spec.resourceAttributes.labelSelector ignored due to parse error",
    })
  })
})

test("A review of rules lists those of the user in the namespace", async () => {
  const { ask } = await withAuthorization()
  await grant(ask, "bob", [{ apiGroups: [""], resources: ["pods"], resourceNames: ["a"], verbs: ["get"] }], "default")
  const rules = async (namespace: string) =>
    (await ask(`${authorization}/selfsubjectrulesreviews`, { as: "bob", body: { spec: { namespace } } })).body.status
  const basic = [
    {
      verbs: ["create"],
      apiGroups: ["authorization.k8s.io"],
      resources: ["selfsubjectaccessreviews", "selfsubjectrulesreviews"],
    },
    { verbs: ["create"], apiGroups: ["authentication.k8s.io"], resources: ["selfsubjectreviews"] },
  ]
  expect(await rules("other")).toMatchObject({ incomplete: false, resourceRules: basic })
  expect((await rules("default")).resourceRules).toEqual([
    ...basic,
    { verbs: ["get"], apiGroups: [""], resources: ["pods"], resourceNames: ["a"] },
  ])
  expect((await rules("default")).nonResourceRules).toContainEqual({
    verbs: ["get"],
    nonResourceURLs: ["/healthz", "/livez", "/readyz", "/version", "/version/"],
  })
})

test("A review of a token knows the users of the sandbox, and nobody else", async () => {
  const { ask } = await withAuthorization({ users: [{ token: "t", username: "jane" }] })
  const review = async (spec: object) =>
    (await ask("/apis/authentication.k8s.io/v1/tokenreviews", { body: { spec } })).body.status
  const user = { username: "jane", groups: ["system:authenticated"] }
  expect(await review({ token: "t" })).toEqual({
    authenticated: true,
    user,
    audiences: ["https://kubernetes.default.svc"],
  })
  expect(await review({ token: "t", audiences: ["x"] })).toEqual({ user: {}, error: "invalid bearer token" })
  expect(await review({ token: "u" })).toEqual({ user: {}, error: "invalid bearer token" })
})
