/**
 * Fifteen seconds in the life of a cluster: objects are created, scaled, rolled out, broken, healed and deleted.
 *
 * Steps are ordinary client requests; the controllers do the rest.
 */

import type { Clock } from "../../clock.ts"
import type { ApiClient } from "../../kube/client/api-client.ts"
import { kinds } from "../../kube/client/kinds.ts"
import { agent, database, migration, namespace, rollout, settings, shopNamespace, web } from "./shop-objects.ts"

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

export interface DemoOptions {
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
