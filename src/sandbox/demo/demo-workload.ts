/**
 * Fifteen seconds in the life of a cluster: objects are created, scaled, rolled out, broken, healed and deleted.
 *
 * Steps are ordinary client requests; the controllers do the rest.
 */

import type { Clock } from "../../clock.ts"
import { type ApiClient, type ApiObject, kinds } from "../../kube/index.ts"

// The objects of the demo: a small shop. Images are names only; annotations set how long a container runs.

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

const namespace: ApiObject = { apiVersion: "v1", kind: "Namespace", metadata: { name: shopNamespace } }

const settings = (banner: string): ApiObject => inShop("v1", "ConfigMap", "settings", { data: { banner } })

const web: ApiObject = inShop("apps/v1", "Deployment", "web", {
  spec: {
    replicas: 3,
    selector: { matchLabels: { app: "web" } },
    template: podTemplate("web", "shop/web:1.0", quick),
  },
})

const database: ApiObject = inShop("apps/v1", "StatefulSet", "db", {
  spec: {
    replicas: 2,
    serviceName: "db",
    selector: { matchLabels: { app: "db" } },
    template: podTemplate("db", "postgres:17", quick),
  },
})

const agent: ApiObject = inShop("apps/v1", "DaemonSet", "agent", {
  spec: { selector: { matchLabels: { app: "agent" } }, template: podTemplate("agent", "shop/agent:1.0", quick) },
})

const migration: ApiObject = inShop("batch/v1", "Job", "migrate", {
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
const rollout = (image: string, crashes = false) => ({
  spec: {
    template: {
      metadata: { annotations: { "sandbox.kubereel.dev/fail-after": crashes ? "300ms" : null } },
      spec: { containers: [{ name: "web", image }] },
    },
  },
})

/** One moment of the demo. */
export interface DemoStep {
  /** ms after the start. */
  readonly at: number
  /** The description shown to the user. */
  readonly title: string
  readonly run: (client: ApiClient) => Promise<unknown>
}

const webPlace = { namespace: shopNamespace, name: "web" }

const scaleWeb = (replicas: number) => (client: ApiClient) =>
  client.patch(kinds.deployments, webPlace, "merge", { spec: { replicas } })

const rollWeb =
  (image: string, crashes = false) =>
  (client: ApiClient) =>
    client.patch(kinds.deployments, webPlace, "strategic-merge", rollout(image, crashes))

export const demoSteps: ReadonlyArray<DemoStep> = [
  {
    at: 0,
    title: "a shop opens: web, db, agents on every node, and a migration job",
    run: async (client) => {
      await client.create(kinds.namespaces, namespace)
      await client.create(kinds.configMaps, settings("opening day"))
      await client.create(kinds.statefulSets, database)
      await client.create(kinds.daemonSets, agent)
      await client.create(kinds.deployments, web)
      await client.create(kinds.jobs, migration)
    },
  },
  { at: 3000, title: "visitors come: web scales from 3 to 6", run: scaleWeb(6) },
  { at: 5000, title: "web 1.1 rolls out", run: rollWeb("shop/web:1.1") },
  { at: 8000, title: "web 1.2 rolls out, and its containers crash", run: rollWeb("shop/web:1.2", true) },
  { at: 11_000, title: "web goes back to 1.1 and heals", run: rollWeb("shop/web:1.1") },
  {
    at: 12_500,
    title: "quiet returns: web scales to 2, the banner changes, the job is cleaned up",
    run: async (client) => {
      await scaleWeb(2)(client)
      await client.patch(kinds.configMaps, { namespace: shopNamespace, name: "settings" }, "merge", {
        data: { banner: "see you tomorrow" },
      })
      await client.delete(
        kinds.jobs,
        { namespace: shopNamespace, name: "migrate" },
        { propagationPolicy: "Background" },
      )
    },
  },
  {
    at: 13_500,
    title: "the database is deleted",
    run: (client) => client.delete(kinds.statefulSets, { namespace: shopNamespace, name: "db" }),
  },
]

/** ms from the first step until the consequences of the last one are complete. */
export const demoLengthMs = 15_000

interface DemoOptions {
  readonly client: ApiClient
  readonly clock: Clock
  /** Called before each step. */
  readonly announce: (step: DemoStep) => void
  /** Stops the demo before the next step. */
  readonly signal?: AbortSignal
}

/** Plays the steps at their times; resolves {@link demoLengthMs} after the first. Rejects with the error of a failing step. */
export const playDemo = async ({ client, clock, announce, signal }: DemoOptions): Promise<void> => {
  const began = clock.monotonicMs()
  for (const step of demoSteps) {
    await until(clock, began + step.at, signal)
    if (signal?.aborted === true) return
    announce(step)
    await step.run(client)
  }
  await until(clock, began + demoLengthMs, signal)
}

/** Removes what the demo created; resolves when the request is accepted. */
export const cleanUpDemo = (client: ApiClient): Promise<unknown> =>
  client.delete(kinds.namespaces, { name: shopNamespace })

const until = (clock: Clock, moment: number, signal: AbortSignal | undefined): Promise<void> =>
  new Promise((resolve) => {
    const done = (): void => {
      timer.cancel()
      signal?.removeEventListener("abort", done)
      resolve()
    }
    const timer = clock.after(Math.max(0, moment - clock.monotonicMs()), done)
    signal?.addEventListener("abort", done, { once: true })
    if (signal?.aborted === true) done()
  })
