/** A replay with too few rights on a real cluster: it says which before it creates anything. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { readFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, expect, test } from "vitest"
import { parse, stringify } from "yaml"
import { exitCodes } from "../../../src/cli/command-line/exit-codes.ts"
import { type OpenTarget, openTarget } from "../../../src/cli/replay/replay-target.ts"
import { replayCommand } from "../../../src/cli/replay.ts"
import { type ApiObject, type Kind, kinds } from "../../../src/kube/index.ts"
import { capturedTerminal } from "../../cli/captured-terminal.ts"
import { patient } from "../../harness/patience.ts"
import { openTestCluster } from "../guard.ts"
import { ndjson } from "./recorded-trace.ts"

const name = `replayer-${process.pid}`
const rbac = (kind: string, plural: string): Kind => ({
  gvk: { group: "rbac.authorization.k8s.io", version: "v1", kind },
  plural,
  namespaced: false,
})
const roles = rbac("ClusterRole", "clusterroles")
const bindings = rbac("ClusterRoleBinding", "clusterrolebindings")

const shop = { name: "a", namespace: name }
let admin = ""
let folder = ""
let target: OpenTarget

/** The path of a kubeconfig for a user with these rights and no others. */
const granted = async (user: string, rules: ReadonlyArray<object>): Promise<string> => {
  const apiVersion = "rbac.authorization.k8s.io/v1"
  const metadata = { name: user }
  await target.client.create<ApiObject>(roles, { apiVersion, kind: "ClusterRole", metadata, rules })
  await target.client.create<ApiObject>(bindings, {
    apiVersion,
    kind: "ClusterRoleBinding",
    metadata,
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: user },
    subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: user }],
  })
  const config = parse(await readFile(admin, "utf8")) as { users: Array<{ user: Record<string, unknown> }> }
  for (const each of config.users) each.user.as = user
  const path = join(folder, user)
  writeFileSync(path, stringify(config))
  return path
}

const verbs = ["create", "get", "list", "patch", "delete", "watch"]
const mayWrite = (group: string, ...resources: ReadonlyArray<string>): object => ({
  apiGroups: [group],
  resources,
  verbs,
})
const mayRead = { apiGroups: ["*"], resources: ["*"], verbs: ["get", "list", "watch"] }

let few = ""
let some = ""

beforeAll(async () => {
  const { kubeconfig } = await openTestCluster()
  admin = kubeconfig
  target = await openTarget({ kubeconfig, context: undefined, concurrency: 4 })
  folder = mkdtempSync(join(tmpdir(), "kubereel-permissions-"))
  few = await granted(name, [mayWrite("", "namespaces")])
  some = await granted(`${name}-some`, [mayRead, mayWrite("", "namespaces", "pods"), mayWrite("apps", "deployments")])
})
afterAll(async () => {
  for (const user of [name, `${name}-some`]) {
    await target?.client.delete(bindings, { name: user })
    await target?.client.delete(roles, { name: user })
  }
  await target?.[Symbol.asyncDispose]()
  if (folder !== "") rmSync(folder, { recursive: true, force: true })
})

const run = async (kubeconfig: string, objects: ReadonlyArray<ApiObject>, ...words: ReadonlyArray<string>) => {
  const trace = join(folder, "trace.ndjson")
  writeFileSync(trace, ndjson(objects))
  const terminal = capturedTerminal()
  const into = ["--kubeconfig", kubeconfig, "--name", name, "--speed", "max"]
  const code = await replayCommand().run([trace, ...into, ...words], terminal)
  return { code, output: terminal.standardOutput.text(), complaints: terminal.standardError.text() }
}

test("is told what it may not do, and no namespace is created", { timeout: patient(30_000) }, async () => {
  const { code, output, complaints } = await run(few, [{ apiVersion: "v1", kind: "ConfigMap", metadata: shop }])
  expect([code, output]).toEqual([exitCodes.notPermitted, ""])
  expect(complaints).toContain(
    "the cluster cannot take this trace: these credentials may not patch configmaps; these credentials may not create configmaps",
  )
  const { items } = await target.client.list<ApiObject>(kinds.namespaces)
  const names = items.map(({ metadata }) => metadata.name)
  expect(names.filter((each) => each.includes(name))).toEqual([])
})

test("starts without the right to register a webhook, and says once that pods do not follow their recorded lives", {
  timeout: patient(60_000),
}, async () => {
  const container = { name: "main", image: "main:1" }
  const pod: ApiObject = { apiVersion: "v1", kind: "Pod", metadata: shop, spec: { containers: [container] } }
  const forecast = await run(some, [pod], "--dry-run")
  const lacks = "may not create, delete mutatingwebhookconfigurations"
  expect(forecast.output).toMatch(new RegExp(`^lacking {2}the cluster: pods will live as it decides: .*${lacks}$`, "m"))
  expect(forecast.code).toBe(exitCodes.incomplete)
  const unfollowed = await run(some, [pod], "--dry-run", "--pods", "cluster")
  expect([unfollowed.code, unfollowed.output]).toEqual([exitCodes.ok, expect.not.stringContaining("lacking")])
  const { code, complaints } = await run(some, [pod])
  expect(code, complaints).toBe(exitCodes.incomplete)
  expect(complaints.split("\n").filter((line) => line.includes("mutatingwebhookconfigurations"))).toEqual([
    expect.stringContaining("pods live as the cluster decides, because the webhook cannot be set up"),
  ])
})

test("does not start without the right to a status that it is to write", { timeout: patient(30_000) }, async () => {
  const deployment: ApiObject = { apiVersion: "apps/v1", kind: "Deployment", metadata: shop, status: { replicas: 1 } }
  const { code, complaints } = await run(some, [deployment], "--seed-status", "apps/Deployment")
  expect([code, complaints]).toEqual([
    exitCodes.notPermitted,
    expect.stringContaining("these credentials may not patch deployments/status"),
  ])
})
