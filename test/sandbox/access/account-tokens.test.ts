/** Tokens of ServiceAccounts: made on request, good for requests, and bad when what they stand for is gone. */

import { describe, expect, test } from "vitest"
import { ManualClock } from "../../runtime/manual-clock.ts"
import { grant, requestToken, withAuthorization } from "./requests.ts"

const issuer = "https://kubernetes.default.svc"
const secondMicros = 1_000_000

const withAccount = async () => {
  const clock = new ManualClock()
  const { sandbox, ask } = await withAuthorization({ clock })
  const account = () => sandbox.put("v1.ServiceAccount", { metadata: { name: "bot", namespace: "default" } })
  const { uid } = account().metadata
  const review = async (token: string, audiences?: ReadonlyArray<string>) =>
    (await ask("/apis/authentication.k8s.io/v1/tokenreviews", { body: { spec: { token, audiences } } })).body.status
  return { sandbox, ask, clock, uid, account, review }
}

const claimsOf = (token: string) => JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString("utf8"))

describe("A token", () => {
  test("authenticates its ServiceAccount, which may do what is bound to it and its groups", async () => {
    const { ask, uid } = await withAccount()
    const token = await requestToken(ask, "default/bot")
    const { body } = await ask("/apis/authentication.k8s.io/v1/selfsubjectreviews", { token, body: {} })
    expect(body.status.userInfo).toEqual({
      username: "system:serviceaccount:default:bot",
      uid,
      groups: ["system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated"],
      extra: { "authentication.kubernetes.io/credential-id": [expect.stringMatching(/^JTI=[0-9a-f-]{36}$/)] },
    })
    const list = async () => (await ask("/api/v1/namespaces/default/pods", { token })).status
    expect(await list()).toBe(403)
    await grant(ask, "system:serviceaccount:default:bot", [{ apiGroups: [""], resources: ["pods"], verbs: ["list"] }])
    expect(await list()).toBe(200)
  })

  test("has the claims of the real server, and the requested lifetime", async () => {
    const { ask, uid, clock } = await withAccount()
    const token = await requestToken(ask, "default/bot", { expirationSeconds: 7200, audiences: ["a", issuer] })
    const now = Math.floor(clock.wallMicros() / secondMicros)
    expect(claimsOf(token)).toEqual({
      aud: ["a", issuer],
      exp: now + 7200,
      iat: now,
      nbf: now,
      iss: issuer,
      jti: expect.any(String),
      "kubernetes.io": { namespace: "default", serviceaccount: { name: "bot", uid } },
      sub: "system:serviceaccount:default:bot",
    })
  })

  test("expires, a minute late as clocks differ", async () => {
    const { ask, clock, review } = await withAccount()
    const token = await requestToken(ask, "default/bot", { expirationSeconds: 600 })
    const status = async () => (await ask("/api", { token })).status
    clock.advance(659_000)
    expect(await status()).toBe(200)
    clock.advance(2000)
    expect(await status()).toBe(401)
    expect((await review(token)).error).toBe("[invalid bearer token, service account token has expired]")
  })

  test("for other audiences is none of this server's, but theirs", async () => {
    const { ask, review } = await withAccount()
    const token = await requestToken(ask, "default/bot", { audiences: ["vault"] })
    expect((await ask("/api", { token })).status).toBe(401)
    expect(await review(token, ["vault", "x"])).toMatchObject({ authenticated: true, audiences: ["vault"] })
    expect(await review(token)).toEqual({
      user: {},
      error: `[invalid bearer token, token audiences ["vault"] is invalid for the target audiences ["${issuer}"]]`,
    })
  })

  test("of a ServiceAccount that was deleted is invalid, even if another of that name exists", async () => {
    const { ask, sandbox, account, uid, review } = await withAccount()
    const token = await requestToken(ask, "default/bot")
    sandbox.delete("v1.ServiceAccount", "default", "bot")
    expect((await ask("/api", { token })).status).toBe(401)
    expect((await review(token)).error).toBe('[invalid bearer token, serviceaccounts "bot" not found]')
    const next = account().metadata.uid
    expect((await review(token)).error).toBe(
      `[invalid bearer token, service account UID (${next}) does not match claim (${uid})]`,
    )
  })

  test("that was changed, or signed by another server, is invalid", async () => {
    const { ask, review } = await withAccount()
    const other = await withAccount()
    const token = await requestToken(ask, "default/bot")
    const [head, payload = "", signature] = token.split(".")
    const claims = Buffer.from(JSON.stringify({ ...claimsOf(token), exp: 9e9 })).toString("base64url")
    expect((await review(`${head}.${claims}.${signature}`)).error).toMatch(/error in cryptographic primitive/)
    await requestToken(other.ask, "default/bot")
    expect((await other.review(token)).error).toBe("[invalid bearer token, invalid signature, no keys found]")
    const unsigned = `${Buffer.from('{"alg":"none"}').toString("base64url")}.${payload}.`
    expect((await review(unsigned)).error).toBe("[invalid bearer token, invalid signature, no keys found]")
    expect((await ask("/api", { token: unsigned })).status).toBe(401)
  })

  test("bound to an object is invalid without it", async () => {
    const { ask, sandbox, review } = await withAccount()
    sandbox.put("v1.Secret", { metadata: { name: "s", namespace: "default" } })
    const boundObjectRef = { apiVersion: "v1", kind: "Secret", name: "s" }
    const token = await requestToken(ask, "default/bot", { boundObjectRef })
    expect((await ask("/api", { token })).status).toBe(200)
    sandbox.delete("v1.Secret", "default", "s")
    expect((await ask("/api", { token })).status).toBe(401)
    expect((await review(token)).error).toBe("[invalid bearer token, service account token has been invalidated]")
  })

  test("bound to a Pod names it and its node, and for the kubelet's lifetime lives for a year", async () => {
    const { ask, sandbox } = await withAccount()
    const node = sandbox.put("v1.Node", { metadata: { name: "n" } }).metadata.uid
    const spec = { serviceAccountName: "bot", nodeName: "n" }
    const { uid } = sandbox.put("v1.Pod", { metadata: { name: "p", namespace: "default" }, spec }).metadata
    const boundObjectRef = { apiVersion: "v1", kind: "Pod", name: "p" }
    const token = await requestToken(ask, "default/bot", { boundObjectRef, expirationSeconds: 3607 })
    const claims = claimsOf(token)
    expect(claims.exp - claims.iat).toBe(365 * 24 * 3600)
    expect(claims["kubernetes.io"]).toMatchObject({ warnafter: claims.iat + 3607 })
    const { body } = await ask("/apis/authentication.k8s.io/v1/selfsubjectreviews", { token, body: {} })
    expect(body.status.userInfo.extra).toMatchObject({
      "authentication.kubernetes.io/pod-name": ["p"],
      "authentication.kubernetes.io/pod-uid": [uid],
      "authentication.kubernetes.io/node-name": ["n"],
      "authentication.kubernetes.io/node-uid": [node],
    })
  })
})

describe("A request for a token is refused", () => {
  const path = "/api/v1/namespaces/default/serviceaccounts/bot/token"

  test.each([
    [
      { metadata: { name: "x" } },
      422,
      /^TokenRequest\.authentication\.k8s\.io "bot" is invalid: metadata\.name: Invalid value: "x"/,
    ],
    [{ metadata: { namespace: "x" } }, 400, /does not match the namespace sent on the request/],
    [
      { metadata: { uid: "x" } },
      409,
      /the UID in the token request \(x\) does not match the UID of the service account/,
    ],
    [{ spec: { expirationSeconds: 5 } }, 422, /may not specify a duration less than 10 minutes/],
    [{ spec: { boundObjectRef: { apiVersion: "v1", kind: "Pod", name: "p" } } }, 404, /^pods "p" not found$/],
    [
      { spec: { boundObjectRef: { apiVersion: "apps/v1", kind: "Deployment", name: "p" } } },
      400,
      /^cannot bind token to object of type apps\/v1, Kind=Deployment$/,
    ],
  ])("%j: %i", async (body, status, message) => {
    const { ask } = await withAccount()
    const answer = await ask(path, { body })
    expect([answer.status, answer.body.message]).toEqual([status, expect.stringMatching(message)])
  })

  test("for a Pod of another ServiceAccount, and for an object that was replaced", async () => {
    const { ask, sandbox } = await withAccount()
    sandbox.put("v1.Pod", { metadata: { name: "p", namespace: "default" }, spec: { serviceAccountName: "other" } })
    sandbox.put("v1.Secret", { metadata: { name: "s", namespace: "default" } })
    const bind = async (kind: string, name: string, uid?: string) => {
      const { status, body } = await ask(path, {
        body: { spec: { boundObjectRef: { apiVersion: "v1", kind, name, uid } } },
      })
      return [status, body.message]
    }
    expect(await bind("Pod", "p")).toEqual([
      400,
      'cannot bind token for serviceaccount "bot" to pod running with different serviceaccount name.',
    ])
    expect(await bind("Secret", "s", "x")).toEqual([
      409,
      'Operation cannot be fulfilled on Secret "s": the UID in the bound object reference (x) does not match the UID in record. ' +
        "The object might have been deleted and then recreated",
    ])
  })

  test("without the right to create serviceaccounts/token", async () => {
    const { ask } = await withAccount()
    expect((await ask(path, { as: "bob", body: {} })).body.message).toMatch(
      /cannot create resource "serviceaccounts\/token" in API group "" in the namespace "default"$/,
    )
  })
})
