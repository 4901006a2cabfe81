/** What a sandbox with RBAC lets whom do, over HTTP. The texts are those of Kubernetes 1.34.4. */

import { describe, expect, test } from "vitest"
import { Sandbox } from "../../../src/library/sandbox.ts"
import { get } from "../client.ts"
import { grant, rbac, withAuthorization } from "./requests.ts"

describe("Without credentials", () => {
  test("a request is anonymous: it sees the version and the health, and nothing else", async () => {
    const { ask } = await withAuthorization()
    const status = async (path: string) => (await ask(path, { token: "" })).status
    expect([await status("/version"), await status("/healthz"), await status("/readyz")]).toEqual([200, 200, 200])
    expect([await status("/api"), await status("/apis"), await status("/nowhere")]).toEqual([403, 403, 403])
    const { body } = await ask("/api/v1/pods", { token: "" })
    expect(body).toEqual({
      kind: "Status",
      apiVersion: "v1",
      metadata: {},
      status: "Failure",
      message:
        'pods is forbidden: User "system:anonymous" cannot list resource "pods" in API group "" at the cluster scope',
      reason: "Forbidden",
      details: { kind: "pods" },
      code: 403,
    })
  })

  test("basic credentials count as none, and a wrong token is a 401", async () => {
    const { ask } = await withAuthorization()
    const basic = await ask("/api/v1/pods", { token: "", headers: { Authorization: "Basic YTpi" } })
    expect([basic.status, (await ask("/api/v1/pods", { token: "wrong" })).body]).toEqual([
      403,
      {
        kind: "Status",
        apiVersion: "v1",
        metadata: {},
        status: "Failure",
        message: "Unauthorized",
        reason: "Unauthorized",
        code: 401,
      },
    ])
  })
})

describe("A user's request", () => {
  test.each([
    ["GET", "/api/v1/namespaces/a/pods", 'list resource "pods" in API group "" in the namespace "a"'],
    ["GET", "/api/v1/pods?watch=1", 'watch resource "pods" in API group "" at the cluster scope'],
    ["GET", "/api/v1/pods?watch=0", 'list resource "pods" in API group "" at the cluster scope'],
    ["GET", "/api/v1/watch/pods", 'watch resource "pods" in API group "" at the cluster scope'],
    ["GET", "/api/v1/watch/namespaces/a/pods/p", 'watch resource "pods" in API group "" in the namespace "a"'],
    ["GET", "/api/v1/namespaces/a/pods/p?watch=1", 'get resource "pods" in API group "" in the namespace "a"'],
    ["HEAD", "/api/v1/namespaces/a/pods/p", undefined],
    ["GET", "/api/v1/namespaces/a/pods/p/log", 'get resource "pods/log" in API group "" in the namespace "a"'],
    ["GET", "/api/v1/nodes/n/proxy/a/b", 'get resource "nodes/proxy" in API group "" at the cluster scope'],
    ["GET", "/api/v1/namespaces/a", 'get resource "namespaces" in API group "" in the namespace "a"'],
    [
      "PUT",
      "/api/v1/namespaces/a/finalize",
      'update resource "namespaces/finalize" in API group "" in the namespace "a"',
    ],
    [
      "POST",
      "/apis/apps/v1/namespaces/a/deployments",
      'create resource "deployments" in API group "apps" in the namespace "a"',
    ],
    [
      "PUT",
      "/apis/apps/v1/namespaces/a/deployments/d/scale",
      'update resource "deployments/scale" in API group "apps" in the namespace "a"',
    ],
    [
      "PATCH",
      "/apis/apps/v1/namespaces/a/deployments/d",
      'patch resource "deployments" in API group "apps" in the namespace "a"',
    ],
    [
      "DELETE",
      "/apis/apps/v1/namespaces/a/deployments/d",
      'delete resource "deployments" in API group "apps" in the namespace "a"',
    ],
    [
      "DELETE",
      "/apis/apps/v1/namespaces/a/deployments",
      'deletecollection resource "deployments" in API group "apps" in the namespace "a"',
    ],
    ["GET", "/apis/unknown/v1/things", 'list resource "things" in API group "unknown" at the cluster scope'],
    ["GET", "/metrics", 'get path "/metrics"'],
    ["POST", "/api", 'post path "/api"'],
    ["GET", "/a%3Cb", 'get path "/a&lt;b"'],
  ])("%s %s needs the right to %s", async (method, path, right) => {
    const { ask } = await withAuthorization()
    const answer = await ask(path, { as: "bob", method })
    expect(answer.status).toBe(403)
    if (right !== undefined) expect(answer.body.message).toMatch(new RegExp(`User "bob" cannot ${escaped(right)}$`))
  })

  const escaped = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\/]/g, "\\$&")

  test("for objects of one name needs a rule with that name only", async () => {
    const { ask, sandbox } = await withAuthorization()
    for (const name of ["a", "b"]) sandbox.put("v1.Secret", { metadata: { name, namespace: "default" } })
    await grant(ask, "bob", [{ apiGroups: [""], resources: ["secrets"], resourceNames: ["a"], verbs: ["get", "list"] }])
    const status = async (path: string) =>
      (await ask(`/api/v1/namespaces/default/secrets${path}`, { as: "bob" })).status
    expect([await status("/a"), await status("/b"), await status("")]).toEqual([200, 403, 403])
    expect(await status("?fieldSelector=metadata.name%3Da")).toBe(200)
    expect(await status("?fieldSelector=metadata.name%3Da&watch=1")).toBe(403)
    expect(await status("?fieldSelector=metadata.name!%3Da")).toBe(403)
  })

  test("is allowed where a binding says so, from the next request on, reads as well as writes", async () => {
    const { ask, sandbox } = await withAuthorization()
    const maps = (namespace: string) => `/api/v1/namespaces/${namespace}/configmaps`
    const statuses = async (namespace: string) => [
      (await ask(maps(namespace), { as: "bob" })).status,
      (await ask(`${maps(namespace)}?watch=1`, { as: "bob" })).status,
      (await ask(maps(namespace), { as: "bob", body: { metadata: { generateName: "m-" } } })).status,
      (await ask(maps(namespace), { as: "bob", method: "DELETE" })).status,
    ]
    expect(await statuses("default")).toEqual([403, 403, 403, 403])
    await grant(
      ask,
      "bob",
      [{ apiGroups: [""], resources: ["configmaps"], verbs: ["list", "watch", "create"] }],
      "default",
    )
    expect(await statuses("default")).toEqual([200, 200, 201, 403])
    expect(await statuses("kube-system")).toEqual([403, 403, 403, 403])
    sandbox.delete("rbac.authorization.k8s.io/v1.RoleBinding", "default", "bob-default")
    expect(await statuses("default")).toEqual([403, 403, 403, 403])
  })

  test("that creates by an update or an apply needs the right to create", async () => {
    const { ask } = await withAuthorization()
    const lease = "/apis/coordination.k8s.io/v1/namespaces/default/leases/l"
    const rules = (...verbs: string[]) => [{ apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs }]
    await grant(ask, "eve", rules("update", "patch"))
    await grant(ask, "ann", rules("update", "create"))
    const body = { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata: { name: "l" }, spec: {} }
    const put = { method: "PUT", body }
    const apply = { method: "PATCH", body, contentType: "application/apply-patch+yaml" }
    const refused = [
      await ask(lease, { as: "eve", ...put }),
      await ask(`${lease}?fieldManager=x`, { as: "eve", ...apply }),
    ]
    expect(refused.map((answer) => answer.body.message)).toEqual(
      Array(2).fill(
        'leases.coordination.k8s.io "l" is forbidden: User "eve" cannot create resource "leases" in API group "coordination.k8s.io" in the namespace "default"',
      ),
    )
    expect((await ask(lease, { as: "ann", ...put })).status).toBe(201)
    expect((await ask(`${lease}?fieldManager=x`, { as: "eve", ...apply })).status).toBe(200)
  })
})

describe("The default roles", () => {
  test("let every user discover and review themselves", async () => {
    const { ask } = await withAuthorization()
    for (const path of ["/api", "/api/v1", "/apis/apps/v1", "/openapi/v3"])
      expect([path, (await ask(path, { as: "bob" })).status]).toEqual([path, 200])
    const spec = { resourceAttributes: { verb: "get", resource: "pods" } }
    const review = await ask("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", { as: "bob", body: { spec } })
    expect([review.status, review.body.status]).toEqual([201, { allowed: false }])
    const others = await ask("/apis/authorization.k8s.io/v1/subjectaccessreviews", { as: "bob", body: { spec } })
    expect(others.status).toBe(403)
  })

  test("admin, edit and view hold what is aggregated into them, and take over new rules", async () => {
    const { ask } = await withAuthorization()
    const role = async (name: string) => (await ask(`${rbac}/clusterroles/${name}`)).body
    const [admin, edit, view] = [await role("admin"), await role("edit"), await role("view")]
    expect(edit.rules).toEqual(expect.arrayContaining(view.rules))
    expect(admin.rules).toEqual(expect.arrayContaining(edit.rules))
    expect(JSON.stringify(view.rules)).not.toContain("secrets")
    const metadata = { name: "crons", labels: { "rbac.authorization.k8s.io/aggregate-to-view": "true" } }
    const rule = { apiGroups: ["stable.example.com"], resources: ["crontabs"], verbs: ["get"] }
    await ask(`${rbac}/clusterroles`, { body: { metadata, rules: [rule] } })
    await expect.poll(async () => (await role("admin")).rules).toContainEqual(rule)
    await ask(`${rbac}/clusterroles/crons`, { method: "DELETE" })
    await expect.poll(async () => (await role("admin")).rules).toEqual(admin.rules)
  })

  test("are there again after a restart with another history", async () => {
    const { ask, sandbox } = await withAuthorization()
    await grant(ask, "bob", [{ apiGroups: [""], resources: ["pods"], verbs: ["list"] }])
    expect((await ask("/api/v1/pods", { as: "bob" })).status).toBe(200)
    sandbox.faults.restart({ revision: "new" })
    expect((await ask("/api/v1/pods", { as: "bob" })).status).toBe(403)
    expect((await ask("/version", { token: "" })).status).toBe(200)
    expect((await ask(`${rbac}/clusterroles/cluster-admin`)).status).toBe(200)
  })
})

describe("Users", () => {
  test("are known by their tokens, with their groups, UID and extra values", async () => {
    const users = [{ token: "t", username: "jane", uid: "7", groups: ["staff"], extra: { scopes: ["a", "b"] } }]
    const { ask } = await withAuthorization({ users })
    const path = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
    expect((await ask(path, { token: "t", body: {} })).body.status.userInfo).toEqual({
      username: "jane",
      uid: "7",
      groups: ["staff", "system:authenticated"],
      extra: { scopes: ["a", "b"] },
    })
    expect((await ask("/api/v1/pods", { token: "t" })).status).toBe(403)
  })

  test("the sandbox's own token may do everything until it is replaced", async () => {
    const { ask, sandbox } = await withAuthorization({ token: "first" })
    expect((await ask("/api/v1/secrets", { token: "first" })).status).toBe(200)
    expect(sandbox.endpoint.headers).toEqual([["Authorization", "Bearer first"]])
    sandbox.setToken("second")
    expect((await ask("/api/v1/secrets", { token: "first" })).status).toBe(401)
    expect((await ask("/api/v1/secrets", { token: "second" })).status).toBe(200)
  })
})

test("Without authorization there are no default roles, and whoever connects may do everything", async () => {
  await using sandbox = await Sandbox.start()
  const { text } = await get(`${sandbox.url}${rbac}/clusterroles`, { "Impersonate-User": "bob" })
  expect(JSON.parse(text).items).toEqual([])
  expect((await get(`${sandbox.url}/api/v1/secrets`, { Authorization: "Bearer anything" })).status).toBe(200)
})
