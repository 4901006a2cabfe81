/** Modules against a real API server: its RBAC, its tokens, its garbage collector. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest"
import { ApiClient, type EndpointSource, kinds, loadCredentials } from "../../../src/kube/index.ts"
import { built, toolchains } from "../../examples/host/toolchains.ts"
import { eventually } from "../../harness/eventually.ts"
import { hostWithAccounts } from "../../host/dispatcher/host-with-accounts.ts"
import { buildOddGuest } from "../../host/dispatcher/odd-guests.ts"
import { grant, keepsPods, makeAccount } from "../../host/dispatcher/simplepod-life.ts"
import { openTestCluster } from "../guard.ts"

const secrets = { gvk: { group: "", version: "v1", kind: "Secret" }, plural: "secrets", namespaced: true }
const made: string[] = []
let guests: string
let administrator: EndpointSource
let client: ApiClient

beforeAll(async () => {
  guests = mkdtempSync(join(tmpdir(), "kubereel-modules-"))
  administrator = await loadCredentials({ kubeconfig: (await openTestCluster()).kubeconfig })
  client = new ApiClient({ server: administrator, userAgent: "kubereel-test" })
})
afterAll(async () => {
  for (const name of made) await client.delete(kinds.namespaces, { name })
  client?.close()
  rmSync(guests, { recursive: true, force: true })
})

const makeNamespace = async (purpose: string): Promise<string> => {
  const name = `modules-${purpose}-${process.pid}`
  await client.create(kinds.namespaces, { apiVersion: "v1", kind: "Namespace", metadata: { name } })
  made.push(name)
  return name
}

describe.each(toolchains)("The SimplePod controller in $language", (toolchain) => {
  beforeEach((context) => {
    const missing = toolchain.missing()
    if (missing !== undefined) context.skip(missing)
  })

  test("keeps one pod per object as its ServiceAccount, and the garbage collector removes them", async () => {
    const guest = join(guests, `${toolchain.language}.wasm`)
    built(toolchain, guest)
    await keepsPods(administrator, await makeNamespace(toolchain.language), guest)
  })
})

test("A module without the right to Secrets of a namespace gets none of them, although a neighbour watches all", async () => {
  const [shop, lab] = [await makeNamespace("shop"), await makeNamespace("lab")]
  const account = { namespace: shop, name: "module" }
  await makeAccount(client, account)
  await grant(client, account, [{ apiGroups: [""], resources: ["secrets"], verbs: ["list", "watch"] }])
  const create = (namespace: string, name: string) =>
    client.create(secrets, { apiVersion: "v1", kind: "Secret", metadata: { namespace, name } })
  await create(shop, "mine")
  await create(lab, "theirs")

  const { add, hasLogged, logOf } = hostWithAccounts({ endpoints: administrator })
  const everything = buildOddGuest(guests, { kind: "Secret" })
  await add("neighbour", everything)
  await hasLogged("neighbour", /ADDED theirs/)
  await add("mine", buildOddGuest(guests, { kind: "Secret", namespace: shop }), { serviceAccount: account })
  await add("theirs", buildOddGuest(guests, { kind: "Secret", namespace: lab }), { serviceAccount: account })
  await add("all", everything, { serviceAccount: account })
  await hasLogged("mine", /ADDED mine 1/)
  // In the words of this API server.
  const asModule = {
    endpoint: async () => asAccount(await administrator.endpoint()),
    onUnauthorized: async () => undefined,
  }
  const asAccount = (endpoint: Awaited<ReturnType<EndpointSource["endpoint"]>>) => ({
    ...endpoint,
    headers: [...endpoint.headers, ["Impersonate-User", `system:serviceaccount:${shop}:module`] as const],
  })
  const own = new ApiClient({ server: asModule, userAgent: "kubereel-test" })
  try {
    for (const [module, scope] of [
      ["theirs", { namespace: lab }],
      ["all", {}],
    ] as const) {
      const refused = await own.list(secrets, scope).catch((error: unknown) => error)
      const { detail } = refused as { readonly detail: string }
      expect(detail).toMatch(/^secrets is forbidden: /)
      await eventually(() =>
        expect(logOf(module)).toContain(`"message":${JSON.stringify(detail)},"reason":"Forbidden","code":403`),
      )
    }
  } finally {
    own.close()
  }

  await create(lab, "later")
  await create(shop, "last")
  await hasLogged("neighbour", /ADDED later/)
  await hasLogged("mine", /ADDED last 2/)
  for (const module of ["theirs", "all"]) expect(logOf(module)).not.toMatch(/ADDED/)
  expect(logOf("mine")).not.toMatch(/theirs|later/)
})
