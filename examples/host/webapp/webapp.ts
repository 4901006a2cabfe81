/**
 * Keeps a Deployment, a Service and a ConfigMap for each WebApp, rolls its pods when settings change that several share, and enters it in the ConfigMap
 * `webapp-routes` of its namespace, from which a finalizer takes it out.
 */
import { createHash } from "node:crypto"
import { defineController, type NewObject, setCondition, setControllerReference } from "kubereel/host"
import type { ConfigMap, Deployment } from "kubereel/kinds"
import type { WebApp } from "./webapp-types.ts"

const routesOf = (namespace: string | undefined) => ({ name: "webapp-routes", namespace })

export default defineController<WebApp>({
  name: "webapp",
  for: "example.com/v1.WebApp",
  owns: ["apps/v1.Deployment", "v1.Service", "v1.ConfigMap"],
  watches: [
    {
      kind: "v1.ConfigMap",
      map: ({ metadata: { namespace, name } }: ConfigMap, reads) => {
        const apps = reads.cached<WebApp>("example.com/v1.WebApp").list({ namespace })
        return apps.filter(({ spec }) => spec.sharedSettings === name).map(({ metadata }) => metadata)
      },
    },
  ],
  finalizer: {
    name: "example.com/routes",
    cleanUp: async ({ object: { metadata }, cluster }) => {
      const routes = cluster.cached<ConfigMap>("v1.ConfigMap").get(routesOf(metadata.namespace))
      if (routes?.data?.[metadata.name] === undefined) return
      await cluster.patch(routes, "merge", { data: { [metadata.name]: null } })
    },
  },
  writes: ["apps/v1.Deployment", "v1.Service", "v1.ConfigMap", "example.com/v1.WebApp", "example.com/v1.WebApp/status"],
  reconcile: async ({ object, cluster }) => {
    if (object === undefined) return
    const { name, namespace, generation } = object.metadata
    const { image, replicas = 1, port = 8080, settings = {}, sharedSettings } = object.spec
    const configMaps = cluster.cached<ConfigMap>("v1.ConfigMap")
    const shared = sharedSettings === undefined ? { data: {} } : configMaps.get({ namespace, name: sharedSettings })

    const labels = { "app.kubernetes.io/name": name, "app.kubernetes.io/managed-by": "webapp" }
    const metadata = { name, namespace, labels }
    const ours = (given: Readonly<Record<string, unknown>> & Pick<NewObject, "apiVersion" | "kind">): NewObject =>
      setControllerReference(object, { ...given, metadata })
    await cluster.apply(ours({ apiVersion: "v1", kind: "ConfigMap", data: settings }))
    await cluster.apply(ours({ apiVersion: "v1", kind: "Service", spec: { selector: labels, ports: [{ port }] } }))
    const hash = createHash("sha256")
      .update(JSON.stringify([settings, shared?.data]))
      .digest("hex")
      .slice(0, 16)
    const envFrom = [name, ...(sharedSettings === undefined ? [] : [sharedSettings])]
    const containers = [
      {
        name: "web",
        image,
        ports: [{ containerPort: port }],
        envFrom: envFrom.map((of) => ({ configMapRef: { name: of } })),
      },
    ]
    const template = { metadata: { labels, annotations: { "example.com/settings": hash } }, spec: { containers } }
    const spec = { replicas, selector: { matchLabels: labels }, template }
    const { status } = await cluster.apply<Deployment>(ours({ apiVersion: "apps/v1", kind: "Deployment", spec }))

    // Several WebApps write into it, so none of them decides what it is as a whole: no apply.
    const routes = configMaps.get(routesOf(namespace))
    const data = { [name]: `${name}:${port}` }
    if (routes === undefined)
      await cluster.create({ apiVersion: "v1", kind: "ConfigMap", metadata: routesOf(namespace), data })
    else if (routes.data?.[name] !== data[name]) await cluster.patch(routes, "merge", { data })

    const readyReplicas = status?.readyReplicas ?? 0
    const isReady = shared !== undefined && readyReplicas >= replicas
    const reason = shared === undefined ? "SettingsMissing" : isReady ? "AllReady" : "ReplicasNotReady"
    const message =
      shared === undefined
        ? `there is no ConfigMap ${sharedSettings}`
        : `${readyReplicas} of ${replicas} replicas are ready`
    const before = object.status?.conditions
    const ready = {
      type: "Ready",
      status: isReady ? "True" : "False",
      reason,
      message,
      observedGeneration: generation,
    } as const
    const conditions = setCondition(before, ready, cluster.now())
    await cluster.patchStatus(object, { observedGeneration: generation, readyReplicas, conditions })
    if (before?.find(({ type }) => type === "Ready")?.reason !== reason)
      cluster.event(object, isReady ? "Normal" : "Warning", reason, message)
  },
})
