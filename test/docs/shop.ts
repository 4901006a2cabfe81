/** What there is in the cluster of a page's reader: a Deployment with its pods, and a ConfigMap. */
import type { LocalCluster } from "../../src/sandbox/index.ts"

const metadata = (name: string) => ({ namespace: "default", name })

const objects = {
  "/api/v1/namespaces/default/configmaps": {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: metadata("settings"),
    data: { banner: "open" },
  },
  "/apis/apps/v1/namespaces/default/deployments": {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: metadata("web"),
    spec: {
      replicas: 2,
      selector: { matchLabels: { app: "web" } },
      template: {
        metadata: { labels: { app: "web" } },
        spec: { containers: [{ name: "web", image: "example.com/web:1" }] },
      },
    },
  },
}

export const openShop = async ({ sandbox }: LocalCluster): Promise<void> => {
  for (const [path, body] of Object.entries(objects)) {
    const { status, text } = await sandbox.request({ method: "POST", path, body })
    if (status !== 201) throw new Error(`${path}: ${text}`)
  }
}
