/**
 * Ten writes a minute, to objects of two kinds: each kind is silent for 6 to 18 s at a time, and its next change is a creation, a merge, a label,
 * an annotation, a scaling or a deletion. Scaling also makes and removes a pod.
 */
import { randomBytes } from "node:crypto"
import { setTimeout as sleep } from "node:timers/promises"
import { type ApiClient, kinds } from "../../src/kube/index.ts"

/** ms between two writes. */
const pauseMs = 6000

const namespace = `calm-${randomBytes(3).toString("hex")}`
const labels = { app: "calm" }
const settings = { namespace, name: "settings" }
const web = { namespace, name: "web" }

const deployment = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: web,
  spec: {
    replicas: 0,
    selector: { matchLabels: labels },
    template: { metadata: { labels }, spec: { containers: [{ name: "web", image: "shop/web:1.0" }] } },
  },
}

const configMap = { apiVersion: "v1", kind: "ConfigMap", metadata: settings, data: { a: "1" } }

/** The writes of one round, which ends with the Deployment alone, as it began. */
const round: ReadonlyArray<(client: ApiClient, number: number) => Promise<unknown>> = [
  (client) => client.create(kinds.configMaps, configMap),
  (client) => client.patch(kinds.configMaps, settings, "merge", { data: { a: "2" } }),
  (client, number) =>
    client.patch(kinds.deployments, web, "merge", { metadata: { annotations: { round: `${number}` } } }),
  (client) => client.patch(kinds.configMaps, settings, "merge", { metadata: { labels } }),
  (client, number) => client.patch(kinds.deployments, web, "merge", { spec: { replicas: 1 - (number % 2) } }),
  (client) => client.delete(kinds.configMaps, settings),
]

/** Writes for so long, and resolves with the number of writes. Rejects with the error of one that fails. */
export const calmLife = async (client: ApiClient, lengthMs: number): Promise<number> => {
  const end = performance.now() + lengthMs
  await client.create(kinds.namespaces, { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } })
  await client.create(kinds.deployments, deployment)
  for (let count = 0; ; count++) {
    await sleep(pauseMs)
    if (performance.now() >= end) return count + 2
    await round[count % round.length]?.(client, Math.floor(count / round.length))
  }
}
