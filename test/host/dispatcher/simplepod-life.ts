/**
 * What the SimplePod examples must do in the real host, on any API server: reconcile with the token and the rights of a ServiceAccount, from
 * before their custom resource exists until the garbage collector has removed everything.
 */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { expect, onTestFinished, vi } from "vitest"
import { parse } from "yaml"
import type { ModuleFile } from "../../../src/host/modules/module-file.ts"
import { ApiClient, type ApiObject, type EndpointSource, type Kind, kinds, type Pod } from "../../../src/kube/index.ts"
import { examples } from "../../examples/host/toolchains.ts"
import { eventually } from "../../harness/eventually.ts"
import { patient } from "../../harness/patience.ts"
import { hostWithAccounts } from "./host-with-accounts.ts"

const kindOf = (group: string, kind: string, plural: string, namespaced = true): Kind => ({
  gvk: { group, version: "v1", kind },
  plural,
  namespaced,
})
const rbac = "rbac.authorization.k8s.io"
const roles = kindOf(rbac, "Role", "roles")
const bindings = kindOf(rbac, "RoleBinding", "rolebindings")
const definitions = kindOf("apiextensions.k8s.io", "CustomResourceDefinition", "customresourcedefinitions", false)
const simplePods = kindOf("slinky.dev", "SimplePod", "simplepods")

interface AccountName {
  readonly namespace: string
  readonly name: string
}

export const makeAccount = (client: ApiClient, metadata: AccountName) =>
  client.create(kinds.serviceAccounts, { apiVersion: "v1", kind: "ServiceAccount", metadata })

/** Gives a ServiceAccount rights in its namespace. */
export const grant = async (client: ApiClient, account: AccountName, rules: ReadonlyArray<object>): Promise<void> => {
  const metadata = account
  await client.create(roles, { apiVersion: `${rbac}/v1`, kind: "Role", metadata, rules } as ApiObject)
  await client.create(bindings, {
    apiVersion: `${rbac}/v1`,
    kind: "RoleBinding",
    metadata,
    roleRef: { apiGroup: rbac, kind: "Role", name: account.name },
    subjects: [{ kind: "ServiceAccount", ...account }],
  } as ApiObject)
}

/** The rights that examples/host/README.md names. */
const rules = [
  { apiGroups: ["slinky.dev"], resources: ["simplepods"], verbs: ["list", "watch"] },
  { apiGroups: [""], resources: ["pods"], verbs: ["list", "watch", "create", "delete"] },
]

interface GuestOptions {
  readonly limits?: ModuleFile["limits"]
  /** More than those that all examples need. */
  readonly furtherRules?: ReadonlyArray<object>
  /** Whether the kind and the rights are there before it starts. */
  readonly isPrepared?: boolean
  /** While one of its objects, `web`, has its pod. */
  readonly meanwhile?: (client: ApiClient) => Promise<void>
}

/**
 * `administrator`: may do everything, and is the host. `namespace` exists; the kind SimplePod does not, neither before nor after. `guest`: the
 * path of a built example.
 */
export const keepsPods = async (
  administrator: EndpointSource,
  namespace: string,
  guest: string,
  { limits = {}, furtherRules = [], isPrepared = false, meanwhile }: GuestOptions = {},
): Promise<void> => {
  const client = new ApiClient({ server: administrator, userAgent: "kubereel-test" })
  onTestFinished(() => client.close())
  const place = (name: string) => ({ namespace, name })
  const create = (name: string) =>
    client.create<ApiObject>(simplePods, {
      apiVersion: "slinky.dev/v1",
      kind: "SimplePod",
      metadata: place(name),
      spec: { image: "nginx:1.27" },
    } as ApiObject)
  const pods = async () => {
    const { items } = await client.list<Pod>(kinds.pods, { namespace })
    return new Map(items.map((pod) => [pod.metadata.name, pod]))
  }
  const images = async () =>
    Object.fromEntries([...(await pods())].map(([name, { spec }]) => [name, spec.containers[0]?.image]))
  const deleteNow = (name: string) => client.delete(kinds.pods, place(name), { gracePeriodSeconds: 0 })

  const serviceAccount = place("simplepods")
  await makeAccount(client, serviceAccount)
  const { host, add, hasLogged, logOf, notes } = hostWithAccounts({ endpoints: administrator })
  const start = () => add("example", guest, { serviceAccount, limits, env: [{ name: "NAMESPACE", value: namespace }] })
  if (!isPrepared) {
    await start()
    await hasLogged("example", new RegExp(`403.*system:serviceaccount:${namespace}:simplepods`))
  }
  await grant(client, serviceAccount, [...rules, ...furtherRules])
  if (!isPrepared) await hasLogged("example", /404/)

  const definition = parse(readFileSync(join(examples, "simplepod-crd.yaml"), "utf8")) as ApiObject
  await client.create(definitions, definition)
  onTestFinished(async () => void (await client.delete(definitions, definition.metadata)))
  if (isPrepared) {
    await eventually(() => client.list(simplePods, { namespace }))
    await start()
    await hasLogged("example", /Starting workers/)
  }
  // A definition takes a moment to be served.
  const { metadata } = await eventually(() => create("web"))
  await create("shop")
  await eventually(async () =>
    expect(await images(), logOf("example")).toEqual({ web: "nginx:1.27", shop: "nginx:1.27" }),
  )
  const first = (await pods()).get("web")
  expect(first?.metadata.ownerReferences).toMatchObject([
    { apiVersion: "slinky.dev/v1", kind: "SimplePod", name: "web", uid: metadata.uid, controller: true },
  ])
  await meanwhile?.(client)

  await deleteNow("web")
  await eventually(async () => {
    const again = (await pods()).get("web")
    expect(again, logOf("example")).toBeDefined()
    expect(again?.metadata.uid).not.toBe(first?.metadata.uid)
  })
  await client.patch(simplePods, place("shop"), "merge", { spec: { image: "nginx:1.28" } })
  await eventually(async () => expect(await images()).toEqual({ web: "nginx:1.27", shop: "nginx:1.28" }))

  // While no watch is open.
  await host.kill("hub")
  await deleteNow("web")
  await create("late")
  const all = { web: "nginx:1.27", shop: "nginx:1.28", late: "nginx:1.27" }
  await eventually(async () => expect(await images(), logOf("example")).toEqual(all))

  for (const name of Object.keys(all)) await client.delete(simplePods, place(name))
  // A real garbage collector looks for new kinds twice a minute.
  const removed = { timeout: patient(40_000), interval: 100 }
  await vi.waitFor(async () => expect(await images()).toEqual({}), removed)
  const [status] = await host.statistics()
  expect(status, notes.join("\n")).toMatchObject({ phase: "running", restarts: 0 })
  await host.remove("example")
}
