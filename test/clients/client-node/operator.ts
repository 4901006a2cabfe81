/**
 * An operator on @kubernetes/client-node: for every ConfigMap with the label app it applies a Deployment, keeps it, and notes on the
 * ConfigMap how many replicas are ready. Two informers, one queue.
 */

import {
  AppsV1Api,
  CoreV1Api,
  type Informer,
  KubeConfig,
  type KubernetesObject,
  makeInformer,
  PatchStrategy,
  setHeaderOptions,
  type V1ConfigMap,
  type V1Deployment,
} from "@kubernetes/client-node"

const namespace = "default"
const config = new KubeConfig()
config.loadFromDefault()
const core = config.makeApiClient(CoreV1Api)
const apps = config.makeApiClient(AppsV1Api)

const configs = makeInformer<V1ConfigMap>(
  config,
  `/api/v1/namespaces/${namespace}/configmaps`,
  () => core.listNamespacedConfigMap({ namespace, labelSelector: "app" }),
  "app",
)
const deployments = makeInformer<V1Deployment>(config, `/apis/apps/v1/namespaces/${namespace}/deployments`, () =>
  apps.listNamespacedDeployment({ namespace }),
)

/** Makes the Deployment as the ConfigMap wants it. */
const apply = async (name: string, wanted: V1ConfigMap): Promise<void> => {
  const labels = { app: name }
  const owner = { apiVersion: "v1", kind: "ConfigMap", name, uid: wanted.metadata?.uid ?? "", controller: true }
  const body: V1Deployment = {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name, ownerReferences: [owner] },
    spec: {
      replicas: Number(wanted.data?.replicas),
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: "app", image: "app" }] } },
    },
  }
  const options = setHeaderOptions("Content-Type", PatchStrategy.ServerSideApply)
  await apps.patchNamespacedDeployment({ name, namespace, body, fieldManager: "operator", force: true }, options)
}

/** Notes how many replicas are ready, once they are as many as wanted. */
const note = async (name: string, wanted: V1ConfigMap): Promise<void> => {
  const ready = deployments.get(name, namespace)?.status?.readyReplicas
  const noted = wanted.metadata?.annotations?.["example.com/ready"]
  if (ready !== Number(wanted.data?.replicas) || noted === String(ready)) return
  const body = { metadata: { annotations: { "example.com/ready": String(ready) } } }
  const options = setHeaderOptions("Content-Type", PatchStrategy.MergePatch)
  await core.patchNamespacedConfigMap({ name, namespace, body }, options)
}

const queue = new Set<string>()
let isWorking = false

const work = async (): Promise<void> => {
  if (isWorking) return
  isWorking = true
  for (const name of queue) {
    queue.delete(name)
    const wanted = configs.get(name, namespace)
    if (wanted === undefined) continue
    await apply(name, wanted)
    await note(name, wanted)
  }
  isWorking = false
}

/** What goes wrong ends the operator, with its reason: nothing may go wrong here. */
const run = (promise: Promise<void>): void => {
  promise.catch((error: unknown) => {
    console.error(error)
    process.exit(1)
  })
}

const follow = <Kind extends KubernetesObject>(informer: Informer<Kind>): Promise<void> => {
  for (const verb of ["add", "update", "delete"] as const)
    informer.on(verb, ({ metadata }: KubernetesObject) => {
      queue.add(metadata?.name ?? "")
      run(work())
    })
  informer.on("error", (error: unknown) => run(Promise.reject(error)))
  return informer.start()
}

await Promise.all([follow(configs), follow(deployments)])
