/**
 * One recording of two namespaces of a real cluster with the rights that `reel k8s` grants for it: a Role in each, and nothing
 * cluster-wide. The reference is an observer with all rights.
 */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { afterAll, beforeAll, expect, test } from "vitest"
import { parse, stringify } from "yaml"
import { everything, RecorderProcess } from "../../recorder/recorder/recorder-command.ts"
import { kubectl } from "../command.ts"
import { compare, type Difference, type Rule } from "../compare.ts"
import { openTestCluster, type TestCluster } from "../guard.ts"
import { parseLedger } from "../ledger.ts"
import { Observer } from "../observer.ts"
import { apply, printManifests } from "./installation.ts"
import { makeOwnedPods } from "./owners.ts"

const base = `kubereel-namespaces-${process.pid}`
const shop = `${base}-shop`
const stock = `${base}-stock`
const elsewhere = `${base}-elsewhere`
const recorded = [shop, stock]
const account = "recorder"
const user = `system:serviceaccount:${shop}:${account}`

const kinds: ReadonlyArray<readonly [gvk: string, group: string, plural: string, settings: string, rule: Rule]> = [
  ["apps/v1.Deployment", "apis/apps/v1", "deployments", "{trackLifecycle: true}", { detect: "all" }],
  ["apps/v1.ReplicaSet", "apis/apps/v1", "replicasets", "{detect: spec}", { detect: "spec" }],
  ["v1.Pod", "api/v1", "pods", "{}", { detect: "all" }],
  ["v1.ConfigMap", "api/v1", "configmaps", "{detect: all}", { detect: "all" }],
]
const rules = new Map(kinds.map(([gvk, , , , rule]) => [gvk, rule]))

let cluster: TestCluster
let directory = ""
let config = ""
let kubeconfig = ""
let recorder: RecorderProcess | undefined
const observers = new Map<string, Observer>()

beforeAll(async () => {
  cluster = await openTestCluster()
  directory = await mkdtemp(join(tmpdir(), "kubereel-namespaces-"))
  config = join(directory, "config.yml")
  await writeFile(config, `trackedObjects:\n${kinds.map(([gvk, , , settings]) => `  ${gvk}: ${settings}\n`).join("")}`)
  for (const namespace of [...recorded, elsewhere]) await kubectl(cluster, "create", "namespace", namespace)
  const words = ["-c", config, "--auth", "none", "--namespace", shop, "--name", account]
  const printed = await printManifests(cluster, ...words, "--record-namespace", shop, "--record-namespace", stock)
  expect(printed.filter(({ kind }) => kind.startsWith("ClusterRole"))).toEqual([])
  const rights = printed.filter(({ kind }) => ["ServiceAccount", "Role", "RoleBinding"].includes(kind))
  // The Role for its own needs, where it runs, has another name.
  const own = rights.filter(({ metadata }) => metadata.name === account)
  expect(own.map(({ kind, metadata }) => `${kind} ${metadata.namespace}`).sort()).toEqual([
    `Role ${shop}`,
    `Role ${stock}`,
    `RoleBinding ${shop}`,
    `RoleBinding ${stock}`,
    `ServiceAccount ${shop}`,
  ])
  await apply(cluster, rights)
  kubeconfig = await kubeconfigOfAccount()
  for (const namespace of recorded) {
    const observer = await Observer.start({
      connection: cluster.connection,
      kinds: kinds.map(([gvk, group, plural]) => ({ gvk, path: `/${group}/namespaces/${namespace}/${plural}` })),
      file: ledgerOf(namespace),
      watchSeconds: 7,
    })
    observers.set(namespace, observer)
  }
})

afterAll(async () => {
  await recorder?.kill()
  for (const observer of observers.values()) await observer.stop()
  for (const namespace of [...recorded, elsewhere])
    await kubectl(cluster, "delete", "namespace", namespace, "--ignore-not-found", "--wait=false")
  await rm(directory, { recursive: true, force: true })
})

const ledgerOf = (namespace: string): string => join(directory, `ledger-${namespace}`)

/** A kubeconfig with the account's token and nothing else. */
const kubeconfigOfAccount = async (): Promise<string> => {
  const token = (await kubectl(cluster, "-n", shop, "create", "token", account)).trim()
  const { clusters } = parse(await readFile(cluster.kubeconfig, "utf8")) as {
    readonly clusters: ReadonlyArray<{ readonly name: string }>
  }
  const path = join(directory, "kubeconfig")
  const contexts = [{ name: account, context: { cluster: clusters[0]?.name, user: account, namespace: shop } }]
  const users = [{ name: account, user: { token } }]
  const content = { apiVersion: "v1", kind: "Config", clusters, users, contexts, "current-context": account }
  await writeFile(path, stringify(content))
  return path
}

const start = async (dataDir: string): Promise<RecorderProcess> => {
  const words = ["record", "-c", config, "--kubeconfig", kubeconfig, "--listen", "0", "-d", join(directory, dataDir)]
  const started = new RecorderProcess([...words, "--namespace", recorded.join(",")], {})
  await started.ready(60_000)
  return started
}

/** `yes` or `no`, the API server's decision for the account. @param scope `-n NAMESPACE`, or `--all-namespaces`. */
const mayAccount = async (verb: string, resource: string, ...scope: string[]): Promise<string> =>
  // kubectl exits with code 1 for "no", and prints it on standard output.
  kubectl(cluster, "auth", "can-i", verb, resource, "--as", user, ...scope).then(
    (answer) => answer.trim(),
    (error: { readonly stdout?: string }) => (error.stdout ?? "").trim(),
  )

/** Some changes in all three namespaces at once; different ones each time. */
const live = async (round: number): Promise<void> => {
  const web = `web-${round}`
  const steps: ReadonlyArray<ReadonlyArray<string>> = [
    ["create", "deployment", web, "--image=nothing", "--replicas=2"],
    ["create", "configmap", `settings-${round}`, "--from-literal=a=1"],
    ["create", "configmap", "twice", "--from-literal=n=1"],
    ["delete", "configmap", "twice"],
    ["create", "configmap", "twice", "--from-literal=n=2"],
    ["scale", "deployment", web, "--replicas=4"],
    ["set", "image", `deployment/${web}`, "nothing=nothing:2"],
    ["label", "deployment", web, "tier=edge"],
    ["patch", "configmap", `settings-${round}`, "-p", '{"data":{"a":"2"}}'],
    ["delete", "deployment", web],
    ["delete", "configmap", "twice"],
  ]
  await Promise.all(
    [...recorded, elsewhere].map(async (namespace) => {
      for (const words of steps) await kubectl(cluster, "-n", namespace, ...words)
    }),
  )
}

const exportOf = async (namespaces: ReadonlyArray<string>): Promise<string> => {
  const filters = { ...everything("ndjson").filters, namespaces }
  const response = await recorder?.post({ ...everything("ndjson"), filters })
  const text = (await response?.text()) ?? ""
  if (response?.status !== 200) throw new Error(`the export failed with ${response?.status}: ${text}`)
  return text
}

/** Of one namespace, once its ledger has reached the present; the recorder gets ten seconds, as it shares the machine. */
const differences = async (namespace: string): Promise<ReadonlyArray<Difference>> => {
  const deadline = performance.now() + 10_000
  for (;;) {
    await observers.get(namespace)?.settle()
    const ledger = parseLedger(await readFile(ledgerOf(namespace), "utf8"))
    const found = compare(await exportOf([namespace]), ledger, rules)
    if (found.length === 0 || performance.now() > deadline) return found
    await sleep(100)
  }
}

const namespacesIn = (text: string): ReadonlySet<string> =>
  new Set([...text.matchAll(/^\{"sequence":.*?"namespace":"([^"]*)"/gm)].map(([, namespace = ""]) => namespace))

test("the account may list and watch in two namespaces, but nothing cluster-wide or in a third one", async () => {
  for (const [, , plural] of kinds) {
    for (const verb of ["list", "watch"]) {
      for (const namespace of recorded) expect(await mayAccount(verb, plural, "-n", namespace)).toBe("yes")
      expect(await mayAccount(verb, plural, "-n", elsewhere)).toBe("no")
      expect(await mayAccount(verb, plural, "--all-namespaces")).toBe("no")
    }
  }
  expect(await mayAccount("get", "namespaces/kube-system")).toBe("no")
  const all = await kubectl(cluster, "auth", "can-i", "--list", "--as", user, "-n", elsewhere)
  for (const [, , plural] of kinds) expect(all).not.toMatch(new RegExp(`^${plural}\\b`, "m"))
})

test("changes in both are recorded as an observer sees them, even through a kill, and nothing of the third", async () => {
  recorder = await start("data")
  const { text: readiness } = await recorder.get("/readyz?verbose")
  for (const [gvk] of kinds)
    expect(readiness).toMatch(new RegExp(`^\\[\\+\\]${gvk} watching: ${shop} from version \\d+, ${stock} from`, "m"))
  await live(1)
  for (const namespace of recorded) expect([namespace, await differences(namespace)]).toEqual([namespace, []])
  const living = live(2)
  await sleep(500)
  recorder.child.kill("SIGKILL")
  await recorder.ended
  recorder = await start("data")
  await living
  for (const namespace of recorded) expect([namespace, await differences(namespace)]).toEqual([namespace, []])
  const whole = await exportOf([])
  expect(namespacesIn(whole)).toEqual(new Set(recorded))
  expect(whole.includes(elsewhere)).toBe(false)
  // Agreement on empty recordings would be worthless.
  expect(kinds.filter(([gvk]) => !whole.includes(`"gvk":"${gvk}"`))).toEqual([])
  const answer = await recorder.post(everything("ndjson"))
  expect([answer.status, answer.headers.get("kubereel-incomplete")]).toEqual([200, null])
  await answer.arrayBuffer()

  // Owners that are not recorded are looked up in their namespace, where a Role grants it.
  for (const namespace of recorded) await makeOwnedPods(cluster, namespace, ["replicationcontrollers"])
  for (const namespace of recorded) expect([namespace, await differences(namespace)]).toEqual([namespace, []])
  expect(
    [...(await exportOf([])).matchAll(/"gvk":"v1.Pod".*"name":"of-replicationcontrollers"/g)].length,
  ).toBeGreaterThan(1)
  const filters = { ...everything("ndjson").filters, excluded_owned: true }
  const unowned = await recorder.post({ ...everything("ndjson"), filters })
  expect([unowned.status, unowned.headers.get("kubereel-unknown-owners")]).toEqual([200, null])
  await unowned.arrayBuffer()
  expect(recorder.log).not.toContain("cannot be looked up")

  const { code } = await recorder.stop()
  recorder = undefined
  expect(code).toBe(0)
})

test("without the Role in one of them the other is recorded, and the log states what to grant where", async () => {
  await kubectl(cluster, "-n", stock, "delete", "rolebinding", account)
  recorder = await start("other-data")
  await live(3)
  await recorder.inState("v1.ConfigMap", new RegExp(`forbidden: namespace ${stock} forbidden: `))
  const { text: readiness } = await recorder.get("/readyz?verbose")
  for (const [gvk, group, plural] of kinds) {
    const rule = `{apiGroups: ["${group === "api/v1" ? "" : "apps"}"], resources: ["${plural}"], verbs: ["get", "list", "watch"]}`
    const line = readiness.split("\n").find((each) => each.startsWith(`[!]${gvk} `))
    expect(line).toContain(`forbidden: namespace ${stock} forbidden: `)
    expect(line).toContain(`; add to a Role of this user in ${stock}: ${rule}`)
    expect(line).toContain("1 of 2 namespaces is watched")
  }
  // One message for all kinds, a second after the first; those that are refused later are in the next one.
  const refusals = (): string => (recorder?.log.match(/(?:\S+|kinds are) forbidden[: ].*/g) ?? []).join("\n")
  const all = kinds.flatMap(([gvk, , plural]) => [gvk, `"${plural}"`])
  await recorder.until(() => all.every((name) => refusals().includes(name)), "the refusals in the log")
  expect(refusals()).toContain(`add to a Role of this user in ${stock}: {apiGroups: `)
  const names = async () => [...(await exportOf([])).matchAll(/"name":"settings-3"/g)].length
  await recorder.until(async () => (await names()) > 0, "what happened in the other namespace")
  expect(namespacesIn(await exportOf([]))).toEqual(new Set([shop]))
  const answer = await recorder.post(everything("ndjson"))
  expect(answer.headers.get("kubereel-incomplete")).toBe(
    kinds.map(([gvk]) => `${gvk} in ${stock}=forbidden`).join(", "),
  )
  const healthy = await recorder.post({
    ...everything("ndjson"),
    filters: { ...everything("ndjson").filters, namespaces: [shop] },
  })
  expect([healthy.status, healthy.headers.get("kubereel-incomplete")]).toEqual([200, null])
  await healthy.arrayBuffer()
  await answer.arrayBuffer()
})
