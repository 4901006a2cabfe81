/**
 * The baseline: `makeInformer` of @kubernetes/client-node, one for each kind, with a list function and call-backs as its
 * documentation shows them. The call-backs only count; the library itself keeps the objects.
 *
 * Arguments: the port, then kinds (`apps/v1.Deployment`). Spoken with as counting-subject.ts says.
 */
import { createInterface } from "node:readline"
import * as k8s from "@kubernetes/client-node"

const [port = "", ...kinds] = process.argv.slice(2)

const kubeConfig = new k8s.KubeConfig()
kubeConfig.loadFromClusterAndUser(
  { name: "bench", server: `http://127.0.0.1:${port}`, skipTLSVerify: true },
  { name: "bench" },
)
const apps = kubeConfig.makeApiClient(k8s.AppsV1Api)
const core = kubeConfig.makeApiClient(k8s.CoreV1Api)

/** Path and list function of the kinds that the library has typed clients for. */
const informers: Readonly<Record<string, () => k8s.Informer<k8s.KubernetesObject>>> = {
  "apps/v1.Deployment": () =>
    k8s.makeInformer(kubeConfig, "/apis/apps/v1/deployments", () => apps.listDeploymentForAllNamespaces()),
  "apps/v1.ReplicaSet": () =>
    k8s.makeInformer(kubeConfig, "/apis/apps/v1/replicasets", () => apps.listReplicaSetForAllNamespaces()),
  "v1.Pod": () => k8s.makeInformer(kubeConfig, "/api/v1/pods", () => core.listPodForAllNamespaces()),
}

let updates = 0
let others = 0
let until = Number.POSITIVE_INFINITY

const say = (line: object): void => {
  process.stdout.write(`${JSON.stringify(line)}\n`)
}

const check = (): void => {
  if (updates < until) return
  until = Number.POSITIVE_INFINITY
  say({ taken: updates })
}

createInterface(process.stdin)
  .on("line", (line) => {
    until = (JSON.parse(line) as { until: number }).until
    check()
  })
  .on("close", () => process.exit(0))

for (const kind of kinds) {
  const informer = informers[kind]?.()
  if (informer === undefined) throw new Error(`no informer for ${kind}: there are ${Object.keys(informers).join(", ")}`)
  informer.on("add", () => others++)
  informer.on("delete", () => others++)
  informer.on("update", () => {
    updates++
    check()
  })
  informer.on("error", (cause) => {
    console.error(cause)
    process.exit(1)
  })
  await informer.start()
}
say({ listed: true, objects: others })
