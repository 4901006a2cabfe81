/** Reviews; the responses are those of Kubernetes 1.34.4 to a member of system:masters. */

import { describe, expect, test } from "vitest"
import { openForFile } from "../opened-sandbox.ts"

const sandbox = await openForFile()

const authorization = "/apis/authorization.k8s.io/v1"
const authentication = "/apis/authentication.k8s.io/v1"

const ask = async (path: string, body: object) => {
  const { status, text } = await sandbox.request({ method: "POST", path, body, userAgent: "probe/1.0" })
  return { status, body: JSON.parse(text) as Record<string, unknown> & { message?: string } }
}

const pods = { verb: "get", resource: "pods", namespace: "default" }

describe("access", () => {
  test("is allowed, and the response is the review with a status, including its managed fields", async () => {
    const { status, body } = await ask(`${authorization}/selfsubjectaccessreviews`, {
      spec: { resourceAttributes: pods },
    })
    expect(status).toBe(201)
    expect(body).toEqual({
      kind: "SelfSubjectAccessReview",
      apiVersion: "authorization.k8s.io/v1",
      metadata: {
        managedFields: [
          {
            manager: "probe",
            operation: "Update",
            apiVersion: "authorization.k8s.io/v1",
            time: expect.any(String),
            fieldsType: "FieldsV1",
            fieldsV1: {
              "f:spec": { "f:resourceAttributes": { ".": {}, "f:namespace": {}, "f:resource": {}, "f:verb": {} } },
            },
          },
        ],
      },
      spec: { resourceAttributes: pods },
      status: { allowed: true },
    })
  })

  test.each([
    ["subjectaccessreviews", { spec: { user: "jane", resourceAttributes: pods } }],
    ["subjectaccessreviews", { spec: { groups: ["a"], nonResourceAttributes: { verb: "get", path: "/healthz" } } }],
    ["namespaces/default/localsubjectaccessreviews", { spec: { user: "jane", resourceAttributes: pods } }],
  ])("of others is allowed too: %s", async (path, question) => {
    expect(await ask(`${authorization}/${path}`, question)).toMatchObject({
      status: 201,
      body: { status: { allowed: true } },
    })
  })

  test.each([
    ["selfsubjectaccessreviews", { spec: {} }, "spec.resourceAttributes"],
    [
      "selfsubjectaccessreviews",
      { spec: { resourceAttributes: pods, nonResourceAttributes: { verb: "get", path: "/healthz" } } },
      "spec.nonResourceAttributes",
    ],
    ["subjectaccessreviews", { spec: { resourceAttributes: pods } }, "spec.user"],
    [
      "namespaces/default/localsubjectaccessreviews",
      { spec: { user: "jane", resourceAttributes: { ...pods, namespace: "other" } } },
      "spec.resourceAttributes.namespace",
    ],
  ])("is refused: %s %j for %s", async (path, question, field) => {
    expect(await ask(`${authorization}/${path}`, question)).toMatchObject({
      status: 422,
      body: { details: { group: "authorization.k8s.io", causes: [{ reason: "FieldValueInvalid", field }] } },
    })
  })

  test("is reviewed by objects without a name", async () => {
    const question = { metadata: { name: "x" }, spec: { resourceAttributes: pods } }
    const { status, body } = await ask(`${authorization}/selfsubjectaccessreviews`, question)
    expect(status).toBe(422)
    expect(body.details).toMatchObject({ causes: [{ reason: "FieldValueInvalid", field: "metadata" }] })
  })

  test("has rules: everything", async () => {
    const path = `${authorization}/selfsubjectrulesreviews`
    expect(await ask(path, { spec: { namespace: "default" } })).toMatchObject({
      status: 201,
      body: {
        metadata: {},
        spec: {},
        status: { resourceRules: [{ verbs: ["*"], apiGroups: ["*"], resources: ["*"] }], incomplete: false },
      },
    })
    expect(await ask(path, { spec: {} })).toMatchObject({ status: 400, body: { message: "no namespace on request" } })
  })
})

describe("tokens", () => {
  const path = `${authentication}/tokenreviews`
  const issuer = "https://kubernetes.default.svc"

  test("are all valid, for the server itself", async () => {
    expect(await ask(path, { spec: { token: "any" } })).toMatchObject({
      status: 201,
      body: { spec: { token: "any" }, status: { authenticated: true, audiences: [issuer] } },
    })
    const elsewhere = await ask(path, { spec: { token: "any", audiences: ["elsewhere"] } })
    expect(elsewhere.body.status).toEqual({ user: {}, error: "invalid bearer token" })
  })

  test("of ServiceAccounts are theirs, for the audiences that they were made for", async () => {
    const uid = sandbox.put("v1.ServiceAccount", { metadata: { name: "bot", namespace: "default" } }).metadata.uid
    const made = await ask("/api/v1/namespaces/default/serviceaccounts/bot/token", {
      spec: { audiences: [issuer, "other"] },
    })
    const { token } = (made.body as unknown as { status: { token: string } }).status
    const user = {
      username: "system:serviceaccount:default:bot",
      uid,
      groups: ["system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated"],
      extra: { "authentication.kubernetes.io/credential-id": [expect.stringMatching(/^JTI=[0-9a-f-]{36}$/)] },
    }
    const status = async (audiences?: ReadonlyArray<string>) =>
      (await ask(path, { spec: { token, audiences } })).body.status
    expect(await status()).toEqual({ authenticated: true, user, audiences: [issuer] })
    expect(await status(["other", "third"])).toEqual({ authenticated: true, user, audiences: ["other"] })
    expect(await status(["third"])).toEqual({
      user: {},
      error:
        '[invalid bearer token, token audiences ["https://kubernetes.default.svc" "other"] is invalid for the target audiences ["third"]]',
    })
  })

  test("are required", async () => {
    expect(await ask(path, { spec: {} })).toMatchObject({
      status: 400,
      body: { message: "token is required for TokenReview in authentication" },
    })
  })

  test("identify the user", async () => {
    const { body } = await ask(`${authentication}/selfsubjectreviews`, {})
    expect(body).toMatchObject({
      kind: "SelfSubjectReview",
      status: { userInfo: { groups: ["system:masters", "system:authenticated"] } },
    })
    expect(Object.keys(body.metadata as object)).toEqual(["creationTimestamp"])
  })
})

test("reviews are not stored: there is nothing to read, and no other method", async () => {
  const before = sandbox.resourceVersion
  await ask(`${authorization}/selfsubjectaccessreviews`, { spec: { resourceAttributes: pods } })
  expect(sandbox.resourceVersion).toBe(before)
  const path = `${authorization}/selfsubjectaccessreviews/x`
  expect((await sandbox.request({ method: "DELETE", path })).status).toBeGreaterThanOrEqual(404)
  expect((await sandbox.request({ method: "GET", path })).status).toBeGreaterThanOrEqual(404)
})
