/**
 * What readers without the permission to export see of the past, according to a real API server: only what they may read now, whatever they ask.
 */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { parse, stringify } from "yaml"
import { isThorough } from "../harness/effort.ts"
import { RecorderProcess, ReelProcess } from "../recorder/recorder/recorder-command.ts"
import { kubectl } from "./command.ts"
import { openTestCluster, type TestCluster } from "./guard.ts"

const seed = Number(process.env.KUBEREEL_TEST_SEED ?? Date.now() % 1_000_000)
const [shop, bank] = [`shop-${process.pid}`, `bank-${process.pid}`]
const scoped = `kubereel-past-access-${process.pid}`
/** In every object of the other namespace, and in its name. */
const marker = "vaultcontent"
const kinds = ["v1.ConfigMap", "v1.Event", "v1.Namespace", "v1.Pod", "apps/v1.Deployment", "apps/v1.ReplicaSet"]
const accounts = ["recorder", "exporter", "shopper", "auditor", "single", "nobody"]

let cluster: TestCluster
let directory: string
let uidElsewhere = ""
let recorder: RecorderProcess
const tokens: Record<string, string> = {}

const rbac = "rbac.authorization.k8s.io"
const role = (kind: "Role" | "ClusterRole", name: string, rules: ReadonlyArray<object>) => ({
  ...{ apiVersion: `${rbac}/v1`, kind, metadata: { name, ...(kind === "Role" && { namespace: shop }) }, rules },
})
const binding = (kind: "Role" | "ClusterRole", name: string, account: string) => ({
  apiVersion: `${rbac}/v1`,
  kind: `${kind}Binding`,
  metadata: { name: `${name}-${account}`, ...(kind === "Role" && { namespace: shop }) },
  subjects: [{ kind: "ServiceAccount", name: account, namespace: shop }],
  roleRef: { apiGroup: rbac, kind, name },
})
const rule = (group: string, resources: ReadonlyArray<string>, verbs: ReadonlyArray<string>, names?: string[]) => ({
  ...{ apiGroups: [group], resources, verbs, ...(names && { resourceNames: names }) },
})
const core = ["configmaps", "events", "namespaces", "pods"]
const apps = ["deployments", "replicasets"]

const configMap = (namespace: string, name: string, data: object, metadata: object = {}) => ({
  ...{ apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace, ...metadata }, data },
})
const deployment = (namespace: string, name: string, text: string) => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name, namespace },
  spec: {
    replicas: 1,
    selector: { matchLabels: { app: name } },
    template: {
      metadata: { labels: { app: name } },
      spec: { containers: [{ name: "c", image: "registry.example.com/a:1", env: [{ name: "TEXT", value: text }] }] },
    },
  },
})

const manifests = [
  ...[shop, bank].map((name) => ({ apiVersion: "v1", kind: "Namespace", metadata: { name } })),
  ...accounts.map((name) => ({ apiVersion: "v1", kind: "ServiceAccount", metadata: { name, namespace: shop } })),
  role("ClusterRole", scoped, [
    rule("", core, ["list", "watch"]),
    rule("apps", apps, ["list", "watch"]),
    rule("authentication.k8s.io", ["tokenreviews"], ["create"]),
    rule("authorization.k8s.io", ["subjectaccessreviews"], ["create"]),
  ]),
  binding("ClusterRole", scoped, "recorder"),
  role("ClusterRole", `${scoped}-namespaces`, [rule("", ["namespaces"], ["get", "list"])]),
  binding("ClusterRole", `${scoped}-namespaces`, "auditor"),
  role("Role", "exporter", [rule("kubereel.dev", ["exports"], ["create"])]),
  binding("Role", "exporter", "exporter"),
  role("Role", "shopper", [rule("", ["configmaps", "events", "pods"], ["get", "list"]), rule("apps", apps, ["list"])]),
  binding("Role", "shopper", "shopper"),
  binding("Role", "shopper", "auditor"),
  role("Role", "single", [rule("", ["configmaps"], ["get"], ["prices"])]),
  binding("Role", "single", "single"),
  configMap(shop, "prices", { tea: "1" }),
  configMap(shop, "hours", { open: "9" }),
  configMap(bank, "prices", { tea: marker }),
  configMap(bank, marker, { a: marker }),
  deployment(shop, "web", "shop"),
  deployment(bank, "web", marker),
  deployment(bank, marker, marker),
]

/** A kubeconfig with the cluster's address and an account's token. */
const kubeconfigFor = async (token: string): Promise<string> => {
  const given = parse(await readFile(cluster.kubeconfig, "utf8")) as {
    readonly clusters: ReadonlyArray<{ name: string }>
  }
  const path = join(directory, "kubeconfig")
  const context = { cluster: given.clusters[0]?.name, user: "recorder", namespace: shop }
  const users = [{ name: "recorder", user: { token } }]
  const contexts = [{ name: "recorder", context }]
  const config = { apiVersion: "v1", kind: "Config", clusters: given.clusters, users, contexts }
  await writeFile(path, stringify({ ...config, "current-context": "recorder" }))
  return path
}

const apply = async (...objects: ReadonlyArray<object>): Promise<void> => {
  const file = join(directory, "manifests.yml")
  await writeFile(file, objects.map((each) => stringify(each)).join("---\n"))
  await kubectl(cluster, "apply", "-f", file)
}

beforeAll(async () => {
  cluster = await openTestCluster()
  directory = await mkdtemp(join(tmpdir(), "kubereel-past-access-"))
  await apply(...manifests)
  // Owned by the shop's Namespace, but in the other one: a neighbour in an owner tree.
  const uid = (await kubectl(cluster, "get", "namespace", shop, "-o", "jsonpath={.metadata.uid}")).trim()
  const ownerReferences = [{ apiVersion: "v1", kind: "Namespace", name: shop, uid }]
  await apply(configMap(bank, "owned", { a: marker }, { ownerReferences }))
  for (const account of accounts)
    tokens[account] = (await kubectl(cluster, "-n", shop, "create", "token", account)).trim()
  const config = join(directory, "config.yml")
  await writeFile(config, stringify({ trackedObjects: Object.fromEntries(kinds.map((gvk) => [gvk, {}])) }))
  const words = ["record", "-c", config, "--kubeconfig", await kubeconfigFor(tokens.recorder ?? "")]
  recorder = new RecorderProcess(
    [...words, "--listen", "0", "-d", join(directory, "data"), "--auth", "kubernetes", "--log-format", "json"],
    {},
  )
  await recorder.ready(60_000)
  await apply(configMap(shop, "prices", { tea: "2" }), configMap(bank, "prices", { tea: `${marker}-2` }))
  const owned = ["-n", bank, "get", "configmap", "owned", "-o", "jsonpath={.metadata.uid}"]
  uidElsewhere = (await kubectl(cluster, ...owned)).trim()
  await kubectl(cluster, "-n", bank, "delete", "configmap", marker)
  await until(async () => {
    const { items } = await ask("exporter", `/v1/changes?kind=configmaps&namespace=${bank}`)
    return items.some(({ type }) => type === "deleted")
  })
}, 120_000)

afterAll(async () => {
  await recorder?.kill()
  const roles = [`clusterrole/${scoped}`, `clusterrole/${scoped}-namespaces`]
  const bindings = [`clusterrolebinding/${scoped}-recorder`, `clusterrolebinding/${scoped}-namespaces-auditor`]
  await kubectl(cluster, "delete", ...roles, ...bindings, "--ignore-not-found")
  await kubectl(cluster, "delete", "namespace", shop, bank, "--ignore-not-found", "--wait=false")
  await rm(directory, { recursive: true, force: true })
}, 60_000)

const until = async (isSo: () => Promise<boolean>): Promise<void> => {
  while (!(await isSo())) await new Promise((resolve) => setTimeout(resolve, 200))
}

interface Answer {
  readonly status: number
  readonly text: string
  readonly items: ReadonlyArray<Readonly<Record<string, unknown>>>
  readonly end: Readonly<Record<string, unknown>>
}

const ask = async (account: string, path: string): Promise<Answer> => {
  const response = await fetch((await recorder.listening()) + path, {
    headers: { "Kubereel-Authorization": `Bearer ${tokens[account]}` },
  })
  const text = await response.text()
  const { items = [], ...end } = response.ok ? (JSON.parse(text) as Partial<Answer>) : {}
  return { status: response.status, text, items, end }
}

/** Every question that there is, with every parameter that could reach an object elsewhere. */
const everyQuestion = (): ReadonlyArray<string> => {
  const names = ["prices", "web", marker, "owned", bank, shop, undefined]
  const places = [shop, bank, "", undefined]
  const trees = ["", "&owned=true", "&owners=true", "&owned=true&owners=true"]
  const filters = ["", "&labels=app%3Dweb", `&fields=metadata.namespace%3D${bank}`, "&objects=true", "&field=data.tea"]
  const orders = ["&order=change", "&limit=1", `&uid=${uidElsewhere}`]
  const given = (name: string, value: string | undefined): string => (value === undefined ? "" : `&${name}=${value}`)
  return ["/v1/objects", "/v1/changes", "/v1/differences", "/v1/kinds"].flatMap((path) =>
    path === "/v1/kinds"
      ? [path]
      : [undefined, ...kinds, "configmaps", "secrets"].flatMap((kind) =>
          places.flatMap((namespace) =>
            names.flatMap((name) =>
              (path === "/v1/changes" ? trees : [""]).flatMap((tree) =>
                (tree === "" ? [...filters, ...orders] : [""])
                  .filter((filter) => path !== "/v1/objects" || !/^&(objects|field)=/.test(filter))
                  .filter((filter) => path === "/v1/objects" || !/^&(order|limit)=/.test(filter))
                  .filter((filter) => path === "/v1/changes" || !filter.includes("field="))
                  .map(
                    (filter) =>
                      `${path}?${[given("kind", kind), given("namespace", namespace), given("name", name), tree, filter].join("").slice(1)}`,
                  ),
              ),
            ),
          ),
        ),
  )
}

/** A sixth of them, another one in each run; all of them if thorough. */
const questions = (): ReadonlyArray<string> => {
  if (isThorough()) return everyQuestion()
  console.log(`past access: KUBEREEL_TEST_SEED=${seed}`)
  return everyQuestion().filter((path, index) => path === "/v1/kinds" || (index + seed) % 6 === 0)
}

/** Pages that go on where those of someone who may see everything ended: the place is in them, and no right. */
const nextPages = async (): Promise<ReadonlyArray<string>> => {
  const pages: string[] = []
  for (const question of [
    `/v1/objects?kind=configmaps&namespace=${bank}&limit=1`,
    "/v1/objects?kind=configmaps&limit=1",
  ]) {
    const { continue: next } = (await ask("exporter", question)).end
    if (typeof next !== "string") throw new Error(`${question} has one page`)
    pages.push(`${question}&continue=${encodeURIComponent(next)}`)
  }
  return pages
}

describe("a reader with rights to one namespace", () => {
  test("sees nothing of others, whatever it asks", async () => {
    const seen = new Map<number, number>()
    const readers = ["shopper", "auditor", "single", "nobody"]
    for (const path of [...questions(), ...(await nextPages())])
      await Promise.all(
        readers.map(async (account) => {
          const { status, text, items } = await ask(account, path)
          seen.set(status, (seen.get(status) ?? 0) + 1)
          // What it asked for is in a refusal.
          const told = status === 200 || !path.includes(marker) ? text : text.replaceAll(marker, "")
          expect([account, path, told]).toEqual([account, path, expect.not.stringContaining(marker)])
          const places = new Set(items.map(({ namespace }) => namespace))
          expect([account, path, places.has(bank)]).toEqual([account, path, false])
          if (account === "nobody" && path !== "/v1/kinds") expect([path, items]).toEqual([path, []])
        }),
      )
    expect(seen.get(200)).toBeGreaterThan(100)
    expect(seen.get(403)).toBeGreaterThan(100)
    expect([...seen.keys()].sort()).toEqual([200, 400, 403, 404])
  }, 300_000)

  test("sees its own, with all of the past", async () => {
    const objects = await ask("shopper", `/v1/objects?kind=configmaps&namespace=${shop}`)
    expect(objects.items.map(({ name }) => name)).toEqual(expect.arrayContaining(["hours", "prices"]))
    expect(objects.end).toMatchObject({ isComplete: true, isRestricted: true })
    const changes = await ask("shopper", `/v1/changes?kind=configmaps&namespace=${shop}&name=prices`)
    expect(changes.items.map(({ type }) => type)).toEqual(["created", "changed"])
    const tree = await ask("shopper", `/v1/changes?kind=deployments&namespace=${shop}&name=web&owned=true`)
    expect(new Set(tree.items.map(({ gvk }) => gvk))).toEqual(
      new Set(["apps/v1.Deployment", "apps/v1.ReplicaSet", "v1.Pod", "v1.Event"]),
    )
    const all = await ask("shopper", `/v1/changes?namespace=${shop}`)
    expect(all.items.map(({ gvk }) => gvk)).not.toContain("v1.Namespace")
  })

  test("is told which right it lacks for what it named", async () => {
    const inAll = await ask("shopper", "/v1/objects?kind=pods")
    expect([inAll.status, inAll.text]).toEqual([403, expect.stringContaining("may not list pods in all namespaces")])
    const elsewhere = await ask("shopper", `/v1/changes?kind=deployments&namespace=${bank}`)
    expect(elsewhere.text).toContain(`may not list deployments.apps in namespace ${bank}`)
  })

  test("who may get one object sees the past of that object", async () => {
    const prices = await ask("single", `/v1/changes?kind=configmaps&namespace=${shop}&name=prices`)
    expect(prices.items).toHaveLength(2)
    expect((await ask("single", `/v1/changes?kind=configmaps&namespace=${shop}&name=hours`)).status).toBe(403)
  })

  test("an owner tree leaves out neighbours elsewhere", async () => {
    const path = `/v1/changes?kind=namespaces&name=${shop}&owned=true`
    const places = ({ items }: Answer) => new Set(items.map(({ gvk, namespace }) => `${gvk} ${namespace}`))
    expect(places(await ask("exporter", path))).toContain(`v1.ConfigMap ${bank}`)
    expect(places(await ask("auditor", path))).toEqual(new Set(["v1.Namespace "]))
  })

  test("sees its own with kubectl as it was, through reel serve and its token", async () => {
    const kubeconfig = join(directory, "history.kubeconfig")
    const words = ["serve", await recorder.listening(), "-n", shop, "--listen", "0", "--kubeconfig-out", kubeconfig]
    const served = new ReelProcess(words, { env: { ...process.env, KUBEREEL_TOKEN: tokens.shopper ?? "" } })
    try {
      await served.says(/Press Ctrl-C/, 30_000)
      const past = { ...cluster, kubeconfig }
      const names = await kubectl(past, "get", "configmaps", "-A", "-o", "name", "--cache-dir", directory)
      expect(names.split("\n")).toEqual(expect.arrayContaining(["configmap/hours", "configmap/prices"]))
      expect(
        await kubectl(past, "get", "deployments,pods", "-A", "-o", "yaml", "--cache-dir", directory),
      ).not.toContain(bank)
      // A kind that it may not read is none.
      await expect(kubectl(past, "get", "namespaces", "--cache-dir", directory)).rejects.toThrow(/resource type/)
    } finally {
      await served.kill()
    }
  }, 60_000)

  test("follows only its own, and loses that and all else within seconds of its right", async () => {
    const response = await fetch(`${await recorder.listening()}/v1/events?after=0`, {
      headers: { "Kubereel-Authorization": `Bearer ${tokens.shopper}` },
    })
    expect(response.status).toBe(200)
    await response.body?.cancel()
    const { status, text } = await ask("shopper", `/v1/events?kind=configmaps&namespace=${bank}`)
    expect([status, text]).toEqual([403, expect.stringContaining(`may not list configmaps in namespace ${bank}`)])
    const following = await fetch(`${await recorder.listening()}/v1/events?after=0&namespace=${shop}`, {
      headers: { "Kubereel-Authorization": `Bearer ${tokens.shopper}` },
    })
    await kubectl(cluster, "-n", bank, "patch", "configmap", "prices", "-p", '{"data":{"more":"1"}}')
    await apply(configMap(shop, "prices", { tea: "3" }))
    await kubectl(cluster, "-n", shop, "delete", "rolebinding", "shopper-shopper")
    let followed = ""
    // It ends when the recorder has seen that the right is gone.
    const decoder = new TextDecoder()
    for await (const piece of following.body ?? []) followed += decoder.decode(piece, { stream: true })
    expect(followed).toMatch(/{"type":"end","reason":"rights-changed","sequence":\d+}\n$/)
    expect(followed).toContain('"tea":"3"')
    expect(followed).not.toContain(marker)
    await until(async () => (await ask("shopper", `/v1/objects?kind=pods&namespace=${shop}`)).status === 403)
    expect((await ask("auditor", `/v1/objects?kind=pods&namespace=${shop}`)).status).toBe(200)
  }, 60_000)
})

test("who may export sees everything", async () => {
  const { text, end } = await ask("exporter", "/v1/changes?objects=true")
  expect(text).toContain(marker)
  expect(end).not.toHaveProperty("isRestricted")
})
