/** Credentials of a ServiceAccount from a sandbox with RBAC, over real HTTP, on a clock that the test advances. */

import { describe, expect, onTestFinished, test } from "vitest"
import { TokenSource } from "../../../src/host/identity/token-source.ts"
import { ApiClient, type ApiObject, ForbiddenError, kinds } from "../../../src/kube/index.ts"
import { account, impersonate, makeTokens, type Rule, read, start } from "./as-account.ts"

const selfReviews = {
  gvk: { group: "authentication.k8s.io", version: "v1", kind: "SelfSubjectReview" },
  plural: "selfsubjectreviews",
  namespaced: false,
}
const secrets = { gvk: { group: "", version: "v1", kind: "Secret" }, plural: "secrets", namespaced: true }
const hourMs = 3_600_000

const withSource = async (hostRules: ReadonlyArray<Rule>) => {
  const started = await start(hostRules)
  const { clock, client, host } = started
  const troubles: Array<string | undefined> = []
  const source = new TokenSource({
    account,
    host,
    client,
    clock,
    random: () => 0,
    onTrouble: (problem) => troubles.push(problem?.message),
  })
  const own = new ApiClient({ server: source, userAgent: "kubereel/module" })
  onTestFinished(() => own.close())
  const whoAmI = async (): Promise<string> => {
    const review = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview", metadata: { name: "" } }
    const { status } = (await own.create<ApiObject>(selfReviews, review)) as {
      readonly status?: { readonly userInfo: { readonly username: string } }
    }
    return status?.userInfo.username ?? ""
  }
  const tokenNow = async () => (await source.endpoint()).headers.find(([name]) => name === "Authorization")?.[1]
  return { ...started, source, own, whoAmI, tokenNow, troubles }
}

const bot = "system:serviceaccount:default:bot"

describe("With a token", () => {
  test("a connection has the rights of the ServiceAccount, and not the host's", async () => {
    const { own, client, whoAmI, grant, tokenRequests, sandbox } = await withSource([makeTokens, read("secrets")])
    sandbox.put("v1.ConfigMap", { metadata: { name: "m", namespace: "default" } })
    grant([read("configmaps")], "default")
    expect(await whoAmI()).toBe(bot)
    expect((await own.list(kinds.configMaps, { namespace: "default" })).items).toHaveLength(1)
    await expect(own.list(secrets)).rejects.toBeInstanceOf(ForbiddenError)
    expect((await client.list(secrets)).items).toEqual([])
    expect(tokenRequests()).toBe(1)
  })

  test("the endpoint is the same object until the host's or the token changes", async () => {
    const { source, host, tokenRequests } = await withSource([makeTokens])
    const [first, second] = await Promise.all([source.endpoint(), source.endpoint()])
    expect(second).toBe(first)
    host.renew()
    expect(await source.endpoint()).not.toBe(first)
    expect(await source.endpoint()).toEqual(first)
    expect(tokenRequests()).toBe(1)
  })

  test("it is renewed at 80 % of its life, while requests go on with the old one", async () => {
    const { clock, tokenNow, tokenRequests, whoAmI } = await withSource([makeTokens])
    const first = await tokenNow()
    clock.advance(0.8 * hourMs - 1)
    expect([await tokenNow(), tokenRequests()]).toEqual([first, 1])
    clock.advance(1)
    expect(await tokenNow()).toBe(first)
    await expect.poll(tokenNow).not.toBe(first)
    expect(tokenRequests()).toBe(2)
    expect(await whoAmI()).toBe(bot)
  })

  test("renewals of many modules are spread over a tenth of its life", async () => {
    const { client, host, clock, tokenRequests } = await start([makeTokens])
    const sources = [0, 0.5, 0.999].map((at) => new TokenSource({ account, host, client, clock, random: () => at }))
    const ask = () => Promise.all(sources.map((source) => source.endpoint()))
    await ask()
    const requestsAt: number[] = []
    for (const part of [0.7, 0.75, 0.8]) {
      clock.advance(part * hourMs + 10_000 - clock.monotonicMs())
      await ask()
      await expect.poll(tokenRequests).toBe(3 + requestsAt.length + 1)
      requestsAt.push(part)
    }
  })

  test("a renewal that fails is told and repeated after a back-off, and the token serves until its end", async () => {
    const { clock, sandbox, tokenNow, tokenRequests, source, troubles } = await withSource([makeTokens])
    const first = await tokenNow()
    sandbox.faults.respond("serviceaccounts", 500, { times: 3 })
    clock.advance(0.8 * hourMs)
    expect(await tokenNow()).toBe(first)
    await expect.poll(() => source.problem?.failure).toBe("other")
    expect(await tokenNow()).toBe(first)
    expect([tokenRequests(), troubles.length]).toEqual([2, 1])
    clock.advance(1000)
    await tokenNow()
    await expect.poll(tokenRequests).toBe(3)
    // The last of the failures happens when the old token is too old.
    clock.advance(0.2 * hourMs - 10_000)
    await expect(tokenNow()).rejects.toThrow(/^no token for ServiceAccount default\/bot: /)
    clock.advance(60_000)
    expect(await tokenNow()).not.toBe(first)
    expect([troubles.at(-1), source.problem]).toEqual([undefined, undefined])
  })
})

describe("A 401", () => {
  test("is answered with another token: a ServiceAccount that was replaced goes on", async () => {
    const { sandbox, createAccount, whoAmI, tokenRequests, clock } = await withSource([makeTokens])
    expect(await whoAmI()).toBe(bot)
    sandbox.delete("v1.ServiceAccount", "default", "bot")
    createAccount()
    clock.advance(1)
    expect(await whoAmI()).toBe(bot)
    expect(tokenRequests()).toBe(2)
  })

  test("again and again asks for a token every ten seconds at most", async () => {
    const { sandbox, whoAmI, tokenRequests, clock } = await withSource([makeTokens])
    await whoAmI()
    sandbox.faults.respond("selfsubjectreviews", 401)
    for (let round = 0; round < 5; round++) await expect(whoAmI()).rejects.toThrow(/Unauthorized/)
    expect(tokenRequests()).toBe(2)
    clock.advance(10_000)
    await expect(whoAmI()).rejects.toThrow(/Unauthorized/)
    expect(tokenRequests()).toBe(3)
  })
})

describe("Without the right to make tokens", () => {
  test("requests impersonate the ServiceAccount, and the reason is told", async () => {
    const { whoAmI, source, troubles, own, grant, host } = await withSource([impersonate, read("secrets")])
    expect(await whoAmI()).toBe(bot)
    expect(source.isImpersonating).toBe(true)
    expect(troubles).toEqual([
      expect.stringMatching(
        /^no token for ServiceAccount default\/bot: .*cannot create resource "serviceaccounts\/token".*; the host needs the right to create serviceaccounts\/token there$/,
      ),
    ])
    await expect(own.list(secrets)).rejects.toBeInstanceOf(ForbiddenError)
    grant([read("configmaps")], "default")
    expect((await own.list(kinds.configMaps, { namespace: "default" })).items).toEqual([])
    await source.onUnauthorized()
    expect(host.unauthorized).toBe(1)
  })

  test("it is tried again every five minutes, and a token then takes the place", async () => {
    const { whoAmI, source, setHostRules, clock, tokenRequests } = await withSource([impersonate])
    await whoAmI()
    setHostRules([makeTokens])
    await source.endpoint()
    expect([source.isImpersonating, tokenRequests()]).toEqual([true, 1])
    clock.advance(300_000)
    await source.endpoint()
    await expect.poll(() => source.isImpersonating).toBe(false)
    expect([await whoAmI(), source.problem]).toEqual([bot, undefined])
  })

  test("and without the right to impersonate, the refusal is the request's", async () => {
    const { whoAmI } = await withSource([])
    await expect(whoAmI()).rejects.toThrow(/User "host" cannot impersonate resource "serviceaccounts"/)
  })
})

test("A ServiceAccount that does not exist is not impersonated: requests fail until it is created", async () => {
  const { sandbox, whoAmI, createAccount, clock, tokenRequests } = await withSource([makeTokens, impersonate])
  sandbox.delete("v1.ServiceAccount", "default", "bot")
  const message =
    /no token for ServiceAccount default\/bot: serviceaccounts "bot" not found; create it, or name another/
  await expect(whoAmI()).rejects.toThrow(message)
  await expect(whoAmI()).rejects.toThrow(message)
  expect(tokenRequests()).toBe(1)
  createAccount()
  clock.advance(1000)
  expect(await whoAmI()).toBe(bot)
})

test("A certificate and an impersonation of the host's are not lent", async () => {
  const { client, clock } = await start([makeTokens])
  const given = {
    server: "https://host",
    certificateAuthority: "CA",
    clientCertificate: "CERTIFICATE",
    clientKey: "KEY",
    headers: [
      ["authorization", "Bearer host"],
      ["Impersonate-User", "admin"],
      ["X-Other", "kept"],
    ],
  } as const
  const host = { endpoint: () => Promise.resolve(given), onUnauthorized: () => Promise.resolve() }
  const source = new TokenSource({ account, host, client, clock, random: Math.random })
  expect(await source.endpoint()).toEqual({
    server: "https://host",
    certificateAuthority: "CA",
    headers: [
      ["X-Other", "kept"],
      ["Authorization", expect.stringMatching(/^Bearer ey/)],
    ],
  })
})
