/** The objects of the demo: a small shop. Images are names only; annotations set how long a container runs. */
import type { ApiObject } from "../../kube/client/objects.ts"

/** The namespace of all the demo's objects. */
export const shopNamespace = "shop"

const inShop = (
  apiVersion: string,
  kind: string,
  name: string,
  rest: Readonly<Record<string, unknown>>,
): ApiObject => ({
  apiVersion,
  kind,
  metadata: { name, namespace: shopNamespace, labels: { app: name } },
  ...rest,
})

const podTemplate = (app: string, image: string, annotations: Readonly<Record<string, string>> = {}) => ({
  metadata: { labels: { app }, annotations },
  spec: {
    containers: [{ name: app, image, resources: { requests: { cpu: "50m", memory: "32Mi" } } }],
    terminationGracePeriodSeconds: 1,
  },
})

const quick = { "sandbox.kubereel.dev/create-after": "200ms", "sandbox.kubereel.dev/ready-after": "300ms" }

export const namespace: ApiObject = { apiVersion: "v1", kind: "Namespace", metadata: { name: shopNamespace } }

export const settings = (banner: string): ApiObject => inShop("v1", "ConfigMap", "settings", { data: { banner } })

export const web: ApiObject = inShop("apps/v1", "Deployment", "web", {
  spec: {
    replicas: 3,
    selector: { matchLabels: { app: "web" } },
    template: podTemplate("web", "shop/web:1.0", quick),
  },
})

export const database: ApiObject = inShop("apps/v1", "StatefulSet", "db", {
  spec: {
    replicas: 2,
    serviceName: "db",
    selector: { matchLabels: { app: "db" } },
    template: podTemplate("db", "postgres:17", quick),
  },
})

export const agent: ApiObject = inShop("apps/v1", "DaemonSet", "agent", {
  spec: { selector: { matchLabels: { app: "agent" } }, template: podTemplate("agent", "shop/agent:1.0", quick) },
})

export const migration: ApiObject = inShop("batch/v1", "Job", "migrate", {
  spec: {
    completions: 2,
    parallelism: 1,
    template: {
      metadata: { annotations: { ...quick, "sandbox.kubereel.dev/complete-after": "1s" } },
      spec: { ...podTemplate("migrate", "shop/migrate:1.0").spec, restartPolicy: "Never" },
    },
  },
})

/** A rollout to an image; with `crashes`, its container exits soon after every start. */
export const rollout = (image: string, crashes = false) => ({
  spec: {
    template: {
      metadata: { annotations: { "sandbox.kubereel.dev/fail-after": crashes ? "300ms" : null } },
      spec: { containers: [{ name: "web", image }] },
    },
  },
})
