/**
 * The real kwok, a Go program on client-go, runs the pods of a sandbox: its nodes, its leases, its stages. Everything else
 * (controllers, scheduler, garbage collection) is the sandbox's.
 */

import { spawn } from "node:child_process"
import { afterAll, beforeAll, expect, test } from "vitest"
import { kubectl, kubectlJson } from "../command.ts"
import { at, type Json, textAt } from "../exact-json.ts"
import type { TestCluster } from "../guard.ts"
import { type Kwok, kwokNode, startKwok } from "./kwok.ts"
import { type SandboxCluster, startSandboxCluster } from "./sandbox-cluster.ts"

let cluster: TestCluster
let started: SandboxCluster | undefined
let kwok: Kwok | undefined

beforeAll(async () => {
  started = await startSandboxCluster()
  ;({ cluster } = started)
  kwok = await startKwok(cluster.kubeconfig)
  for (const name of ["kwok-1", "kwok-2"]) await create(kwokNode(name))
})
afterAll(async () => {
  await kwok?.stop()
  await started?.close()
})

const create = (object: object): Promise<void> =>
  new Promise((resolve, reject) => {
    const child = spawn(cluster.kubectl, ["--kubeconfig", cluster.kubeconfig, "create", "-f", "-"], {
      stdio: ["pipe", "ignore", "inherit"],
    })
    child.on("error", reject)
    child.on("close", (code) => (code === 0 ? resolve() : reject(new Error(`kubectl create ended with ${code}`))))
    child.stdin.end(JSON.stringify(object))
  })

const run = (...words: string[]): Promise<string> => kubectl(cluster, ...words)
const itemsOf = (list: Json): readonly Json[] => {
  const items = at(list, "items")
  return Array.isArray(items) ? items : []
}

test("nodes become ready, lose their taint and are leased", async () => {
  await run("wait", "node", "--all", "--for=condition=Ready", "--timeout=60s")
  const taints = async () =>
    itemsOf(await kubectlJson(cluster, "get", "nodes")).flatMap((node) => at(node, "spec", "taints") ?? [])
  // Shortly after the condition; otherwise the test's time limit ends this.
  while ((await taints()).length > 0) await run("get", "nodes")
  const leases = async () => itemsOf(await kubectlJson(cluster, "-n", "kube-node-lease", "get", "leases"))
  await run("-n", "kube-node-lease", "wait", "lease/kwok-1", "lease/kwok-2", "--for=create", "--timeout=60s")
  expect((await leases()).map((lease) => textAt(lease, "metadata", "name"))).toEqual(["kwok-1", "kwok-2"])
})

test("pods of a Deployment run, are replaced in a roll-out, and are deleted with it", async () => {
  await run("create", "deployment", "web", "--image=nginx", "--replicas=3")
  await run("rollout", "status", "deployment/web", "--timeout=60s")
  const pods = itemsOf(await kubectlJson(cluster, "get", "pods", "-l", "app=web"))
  expect(pods.map((pod) => textAt(pod, "status", "phase"))).toEqual(["Running", "Running", "Running"])
  expect(pods.every((pod) => textAt(pod, "spec", "nodeName").startsWith("kwok-"))).toBe(true)
  await run("set", "image", "deployment/web", "nginx=nginx:1.27")
  await run("rollout", "status", "deployment/web", "--timeout=60s")
  await run("delete", "deployment", "web", "--cascade=foreground", "--timeout=60s")
  expect(itemsOf(await kubectlJson(cluster, "get", "pods", "-l", "app=web"))).toEqual([])
})

test("a Job's pods end and complete it", async () => {
  await run("create", "job", "migrate", "--image=busybox", "--", "true")
  await run("wait", "job/migrate", "--for=condition=Complete", "--timeout=60s")
  const [pod] = itemsOf(await kubectlJson(cluster, "get", "pods", "-l", "batch.kubernetes.io/job-name=migrate"))
  expect(pod === undefined ? "none" : textAt(pod, "status", "phase")).toBe("Succeeded")
})

test("kwok was refused nothing", () => {
  const refused = started?.sandbox.requests.entries().filter(({ userAgent, status }) => {
    return userAgent.startsWith("kwok") && status >= 400 && status !== 404 && status !== 409
  })
  expect(refused).toEqual([])
  const errors = kwok?.log().match(/"level":"ERROR".*/g) ?? []
  // It logs that against a real server too: it deletes a pod again when it sees that its grace period is over.
  expect(errors.filter((line) => !/"err":"failed to delete pod [\w-]+: pods .* not found"/.test(line))).toEqual([])
})
