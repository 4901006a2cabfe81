/**
 * A ServiceAccount without the right to Secrets, on a real API server: a module that runs as it gets none, whatever the host may
 * see; and the host knows that beforehand.
 */

import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { systemClock } from "../../../src/clock.ts"
import { userOfAccount } from "../../../src/host/identity/service-account.ts"
import { AccessReviewer, TokenSource } from "../../../src/host/index.ts"
import {
  ApiClient,
  type ApiObject,
  type EndpointSource,
  ForbiddenError,
  impersonating,
  kinds,
  loadCredentials,
  Reviews,
} from "../../../src/kube/index.ts"
import { eventually } from "../../harness/eventually.ts"
import { openTestCluster } from "../guard.ts"

const namespace = `identity-${process.pid}`
const rbac = "rbac.authorization.k8s.io"
const account = { namespace, name: "module" }
const bot = userOfAccount(account)
const hostName = `${namespace}-host`

const secrets = { gvk: { group: "", version: "v1", kind: "Secret" }, plural: "secrets", namespaced: true }
const roles = { gvk: { group: rbac, version: "v1", kind: "Role" }, plural: "roles", namespaced: true }
const bindings = { gvk: { group: rbac, version: "v1", kind: "RoleBinding" }, plural: "rolebindings", namespaced: true }
const selfReviews = {
  gvk: { group: "authentication.k8s.io", version: "v1", kind: "SelfSubjectReview" },
  plural: "selfsubjectreviews",
  namespaced: false,
}

let admin: EndpointSource
let client: ApiClient
let reviews: Reviews

const object = (apiVersion: string, kind: string, name: string, more: object = {}): ApiObject => ({
  apiVersion,
  kind,
  metadata: { name, namespace },
  ...more,
})

const grant = async (name: string, subject: object, ...rules: ReadonlyArray<object>): Promise<void> => {
  await client.create(roles, object(`${rbac}/v1`, "Role", name, { rules }))
  const roleRef = { apiGroup: rbac, kind: "Role", name }
  await client.create(bindings, object(`${rbac}/v1`, "RoleBinding", name, { roleRef, subjects: [subject] }))
}

beforeAll(async () => {
  const { kubeconfig } = await openTestCluster()
  admin = await loadCredentials({ kubeconfig })
  client = new ApiClient({ server: admin, userAgent: "kubereel/host" })
  reviews = new Reviews(admin, "kubereel/host")
  await client.create(kinds.namespaces, { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } })
  await client.create(kinds.serviceAccounts, object("v1", "ServiceAccount", account.name))
  await client.create(secrets, object("v1", "Secret", "hidden"))
  await grant(
    "module",
    { kind: "ServiceAccount", ...account },
    { apiGroups: [""], resources: ["configmaps"], verbs: ["get", "list", "watch"] },
  )
})

afterAll(async () => {
  await client?.delete(kinds.namespaces, { name: namespace })
  client?.close()
  reviews?.close()
})

const sourceWith = (host: EndpointSource, own: ApiClient): TokenSource =>
  new TokenSource({ account, host, client: own, clock: systemClock, random: Math.random, expirationSeconds: 600 })

const whoAmI = async (module: ApiClient): Promise<unknown> => {
  const review = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview", metadata: { name: "" } }
  const { status } = await module.create<ApiObject>(selfReviews, review)
  return (status as { readonly userInfo: { readonly username: string } }).userInfo.username
}

describe("A module's connection", () => {
  test("has the rights of its ServiceAccount, with a token of its own", async () => {
    const source = sourceWith(admin, client)
    const module = new ApiClient({ server: source, userAgent: "kubereel/module" })
    try {
      expect(await whoAmI(module)).toBe(bot.username)
      expect(source.isImpersonating).toBe(false)
      await eventually(() => module.list(kinds.configMaps, { namespace }))
      await expect(module.list(secrets, { namespace })).rejects.toBeInstanceOf(ForbiddenError)
      expect((await client.list(secrets, { namespace })).items).toHaveLength(1)
    } finally {
      module.close()
    }
  })

  test("impersonates it if a host may make no tokens", async () => {
    const host = impersonating(admin, { user: hostName, uid: undefined, groups: [], extra: [] })
    const own = new ApiClient({ server: host, userAgent: "kubereel/host" })
    // Nobody impersonates twice: only the refused request for a token is this host's, the module's are the administrator's.
    const source = sourceWith(admin, own)
    const module = new ApiClient({ server: source, userAgent: "kubereel/module" })
    try {
      expect(await whoAmI(module)).toBe(bot.username)
      expect([source.isImpersonating, source.problem?.failure]).toEqual([true, "forbidden"])
      await expect(module.list(secrets, { namespace })).rejects.toBeInstanceOf(ForbiddenError)
      await eventually(() => module.list(kinds.configMaps, { namespace }))
    } finally {
      module.close()
      own.close()
    }
  })
})

test("What a module may not see is known beforehand", async () => {
  const reviewer = new AccessReviewer({ reviews, clock: systemClock, refusedMs: 0 })
  await eventually(async () => expect(await reviewer.answer(bot, "list", kinds.configMaps, namespace)).toBe(true))
  expect(await reviewer.answer(bot, "list", secrets, namespace)).toBe(false)
  expect(await reviewer.answer(bot, "list", kinds.configMaps, "default")).toBe(false)
})
