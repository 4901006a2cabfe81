/** Parts from which the objects of the cases are composed. */

import type { Fields } from "../../../src/sandbox/rules/kind-rules.ts"

export const pods = "v1/pods"
export const deployments = "apps/v1/deployments"
export const jobs = "batch/v1/jobs"
export const cronJobs = "batch/v1/cronjobs"
export const services = "v1/services"
export const definitions = "apiextensions.k8s.io/v1/customresourcedefinitions"
export const app = { app: "web" }
export const containers = [{ name: "app", image: "nginx" }]
export const template = { metadata: { labels: app }, spec: { containers } }
export const selector = { matchLabels: app }
export const pod = (spec: Fields = {}): Fields => ({ spec: { containers, ...spec } })
export const oneContainer = (container: Fields): Fields =>
  pod({ containers: [{ name: "app", image: "nginx", ...container }] })
export const workload = (spec: Fields = {}): Fields => ({ spec: { selector, template, ...spec } })
export const withPod = (spec: Fields): Fields =>
  workload({ template: { metadata: { labels: app }, spec: { containers, ...spec } } })
export const endingPod = { spec: { restartPolicy: "Never", containers } }
export const job = (spec: Fields = {}): Fields => ({ spec: { template: endingPod, ...spec } })
export const cronJob = (spec: Fields = {}): Fields => ({
  spec: { schedule: "*/5 * * * *", jobTemplate: job(), ...spec },
})
export const port = { port: 80 }
export const service = (spec: Fields = {}): Fields => ({ spec: { ports: [port], selector: app, ...spec } })
export const widgets = {
  group: "rules.kubereel.dev",
  names: { plural: "widgets", kind: "Widget" },
  scope: "Namespaced",
  versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object" } } }],
}
export const crd = (spec: Fields, name = "widgets.rules.kubereel.dev"): Fields => ({
  metadata: { name },
  spec: { ...widgets, ...spec },
})
