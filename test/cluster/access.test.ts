/**
 * Who may export, according to a real API server: the recorder runs as its own account, with only the rights to list, watch and
 * review; tokens are made by `kubectl create token`.
 */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { parse, stringify } from "yaml"
import { RecorderProcess, ReelProcess } from "../recorder/recorder/recorder-command.ts"
import { kubectl } from "./command.ts"
import { openTestCluster, type TestCluster } from "./guard.ts"

const namespace = `access-${process.pid}`
/** Cluster-scoped objects of this test. */
const scoped = `kubereel-access-${process.pid}`
const reviewing = `${scoped}-reviews`

let cluster: TestCluster
let directory: string
let recorder: RecorderProcess
const tokens: Record<string, string> = {}

const manifests = [
  { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } },
  ...["recorder", "exporter", "looker", "nobody"].map((name) => ({
    apiVersion: "v1",
    kind: "ServiceAccount",
    metadata: { name, namespace },
  })),
  role("exporter", ["create", "get"]),
  binding("exporter"),
  role("looker", ["get"]),
  binding("looker"),
  {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRole",
    metadata: { name: scoped },
    rules: [{ apiGroups: [""], resources: ["configmaps"], verbs: ["list", "watch"] }],
  },
  {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRole",
    metadata: { name: reviewing },
    rules: [
      { apiGroups: ["authentication.k8s.io"], resources: ["tokenreviews"], verbs: ["create"] },
      { apiGroups: ["authorization.k8s.io"], resources: ["subjectaccessreviews"], verbs: ["create"] },
    ],
  },
  {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRole",
    metadata: { name: `${scoped}-metrics` },
    rules: [{ nonResourceURLs: ["/metrics"], verbs: ["get"] }],
  },
  clusterBinding(scoped, "recorder"),
  clusterBinding(reviewing, "recorder"),
  clusterBinding(`${scoped}-metrics`, "looker"),
]

function role(name: string, verbs: readonly string[]) {
  return {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "Role",
    metadata: { name, namespace },
    rules: [{ apiGroups: ["kubereel.dev"], resources: ["exports"], verbs }],
  }
}

function binding(name: string) {
  return {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "RoleBinding",
    metadata: { name, namespace },
    subjects: [{ kind: "ServiceAccount", name, namespace }],
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name },
  }
}

function clusterBinding(name: string, account: string) {
  return {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRoleBinding",
    metadata: { name },
    subjects: [{ kind: "ServiceAccount", name: account, namespace }],
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name },
  }
}

const createToken = async (account: string, ...more: string[]): Promise<string> =>
  (await kubectl(cluster, "-n", namespace, "create", "token", account, ...more)).trim()

/** A kubeconfig with the cluster's address, an account's token, and this namespace. */
const kubeconfigFor = async (token: string): Promise<string> => {
  const given = parse(await readFile(cluster.kubeconfig, "utf8")) as {
    readonly clusters: ReadonlyArray<{ name: string }>
  }
  const path = join(directory, "kubeconfig")
  const context = { cluster: given.clusters[0]?.name, user: "recorder", namespace }
  await writeFile(
    path,
    stringify({
      apiVersion: "v1",
      kind: "Config",
      clusters: given.clusters,
      users: [{ name: "recorder", user: { token } }],
      contexts: [{ name: "recorder", context }],
      "current-context": "recorder",
    }),
  )
  return path
}

beforeAll(async () => {
  cluster = await openTestCluster()
  directory = await mkdtemp(join(tmpdir(), "kubereel-access-"))
  const file = join(directory, "manifests.yml")
  await writeFile(file, manifests.map((each) => stringify(each)).join("---\n"))
  await kubectl(cluster, "apply", "-f", file)
  for (const account of ["recorder", "exporter", "looker", "nobody"]) tokens[account] = await createToken(account)
  tokens.elsewhere = await createToken("exporter", "--audience", "somebody-else")
  const config = join(directory, "config.yml")
  await writeFile(config, "trackedObjects:\n  v1.ConfigMap: {}\n")
  const kubeconfig = await kubeconfigFor(tokens.recorder ?? "")
  const words = ["record", "-c", config, "--kubeconfig", kubeconfig, "--listen", "0", "-d", join(directory, "data")]
  recorder = new RecorderProcess([...words, "--auth", "kubernetes", "--log-format", "json"], {})
  await recorder.ready(60_000)
}, 120_000)

afterAll(async () => {
  await recorder?.kill()
  const roles = [scoped, reviewing, `${scoped}-metrics`]
  await kubectl(cluster, "delete", "clusterrolebinding,clusterrole", ...roles, "--ignore-not-found")
  await kubectl(cluster, "delete", "namespace", namespace, "--ignore-not-found", "--wait=false")
  await rm(directory, { recursive: true, force: true })
}, 60_000)

const ask = async (path: string, token: string | undefined) => {
  const request = {
    start_ts: 0,
    end_ts: 1,
    export_path: "file:///a",
    filters: { excluded_namespaces: [], excluded_labels: [] },
  }
  const answer = await fetch((await recorder.listening()) + path, {
    ...(path === "/export" && { method: "POST", body: JSON.stringify({ ...request, format: "ndjson" }) }),
    headers: token === undefined ? {} : { "Kubereel-Authorization": `Bearer ${token}` },
  })
  return { status: answer.status, text: await answer.text() }
}

test("a Role in the recorder's namespace decides who may export and who may read", async () => {
  const statuses = async (token: string | undefined) => {
    const found: number[] = []
    for (const path of ["/export", "/v1/coverage", "/metrics", "/readyz"]) found.push((await ask(path, token)).status)
    return found
  }
  expect(await statuses(tokens.exporter)).toEqual([200, 200, 403, 200])
  expect(await statuses(tokens.looker)).toEqual([403, 200, 200, 200])
  expect(await statuses(tokens.nobody)).toEqual([403, 403, 403, 200])
  expect(await statuses(undefined)).toEqual([401, 401, 401, 200])
  expect(await statuses(tokens.elsewhere)).toEqual([401, 401, 401, 200])
  expect(await statuses("not-a-token")).toEqual([401, 401, 401, 200])
})

test("a missing right is named with the rule that grants it, and that rule grants it", async () => {
  const { text } = await ask("/export", tokens.nobody)
  expect(text).toBe(
    `system:serviceaccount:${namespace}:nobody may not create exports.kubereel.dev in namespace ${namespace}. A Role there, bound to ` +
      'this user, needs the rule {apiGroups: ["kubereel.dev"], resources: ["exports"], verbs: ["create"]}\n',
  )
  const rule = parse(/needs the rule (\{.*\})/.exec(text)?.[1] ?? "") as { readonly verbs: readonly string[] }
  const file = join(directory, "nobody.yml")
  const granted = { ...role("nobody", []), rules: [rule] }
  await writeFile(file, [granted, binding("nobody")].map((each) => stringify(each)).join("---\n"))
  await kubectl(cluster, "apply", "-f", file)
  await recorder.until(async () => (await ask("/export", tokens.nobody)).status === 200, "the right to export", 30_000)
})

test("reel export takes the token from its environment, and the log names the user, never the token", async () => {
  const exporting = (token: string, to: string) =>
    recorder.listening().then(
      (url) =>
        new ReelProcess(["export", "-s", url, "--start", "0", "-o", join(directory, to)], {
          env: { ...process.env, KUBEREEL_TOKEN: token },
        }),
    )
  const permitted = await exporting(tokens.exporter ?? "", "a.ndjson")
  expect([(await permitted.ended).code, permitted.log]).toEqual([0, expect.stringContaining("a.ndjson: ")])
  const refused = await exporting(tokens.looker ?? "", "b.ndjson")
  expect([(await refused.ended).code, refused.log]).toEqual([
    4,
    expect.stringContaining(`system:serviceaccount:${namespace}:looker may not create exports.kubereel.dev`),
  ])
  await recorder.until(() => recorder.log.includes(`"who":"system:serviceaccount:${namespace}:exporter"`), "the line")
  for (const token of Object.values(tokens)) expect(recorder.log).not.toContain(token)
})

describe("when the recorder's account may not create reviews", () => {
  test("all requests are refused, and response and log state the missing right", async () => {
    await kubectl(cluster, "delete", "clusterrolebinding", reviewing)
    // A token that is not in any cache.
    const refusal = async () => ask("/export", await createToken("exporter"))
    await recorder.until(async () => (await refusal()).status === 503, "the refusal", 30_000)
    expect((await refusal()).text).toMatch(/needs a ClusterRole with create on tokenreviews\.authentication\.k8s\.io/)
    expect(recorder.log).toMatch(/requests cannot be authorised: TokenReview: HTTP 403: tokenreviews.* is forbidden/)
    expect((await ask("/healthz", undefined)).status).toBe(200)
  })
})
