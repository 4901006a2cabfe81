/**
 * `reel replay` as users run it, killed with SIGKILL while it writes, and `reel replay --clean`: what is left in the cluster, by discovery of
 * every kind. Knows nothing of how the removal works.
 */
import type { ApiObject } from "../../src/kube/index.ts"
import { ndjson, state } from "../cluster/simulation/recorded-trace.ts"
import { until, type Workplace } from "../recorder/recorder/recorder-command.ts"

/** Reads a path of the API server as JSON; `undefined` after a 404. */
export type Read = (path: string) => Promise<unknown>

export interface KillOptions {
  readonly place: Workplace
  readonly read: Read
  /** Path of the target's. */
  readonly kubeconfig: string
  /** Part of the names of everything, for a cluster that others use too. */
  readonly id: string
}

/** More than can be written before the test looks. */
const objects = 1500

const object = (
  apiVersion: string,
  kind: string,
  namespace: string,
  name: string,
  members: object = {},
): ApiObject => ({
  apiVersion,
  kind,
  metadata: namespace === "" ? { name } : { namespace, name },
  ...members,
})

/** A kind of its own, which has to go with its objects. */
const definition = (id: string): ApiObject =>
  object("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", `gadgets.k${id}.example.com`, {
    spec: {
      group: `k${id}.example.com`,
      scope: "Cluster",
      names: { plural: "gadgets", singular: "gadget", kind: "Gadget", listKind: "GadgetList" },
      versions: [
        {
          name: "v1",
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } },
        },
      ],
    },
  })

/** Objects of many sorts: cluster-scoped, custom, with dependents, in two namespaces. */
const varied = (id: string): ReadonlyArray<ApiObject> => {
  const template = { metadata: { labels: { app: "web" } }, spec: { containers: [{ name: "web", image: "web" }] } }
  const spec = { replicas: 2, selector: { matchLabels: { app: "web" } }, template }
  return [
    definition(id),
    object("scheduling.k8s.io/v1", "PriorityClass", "", `fast-${id}`, { value: 10 }),
    object("v1", "Namespace", "", `killed-${id}`),
    object("apps/v1", "Deployment", `killed-${id}`, "web", { spec }),
    object("v1", "ConfigMap", `other-${id}`, "alone", { data: {} }),
  ]
}

const settings = (id: string, index: number): ApiObject =>
  object("v1", "ConfigMap", `killed-${id}`, `settings-${index}`, { data: { index: String(index) } })

/** When the replay is killed. */
export type Phase = "seeding" | "replaying"

const traceOf = (id: string, phase: Phase): Uint8Array => {
  const many = Array.from({ length: objects }, (_, index) => settings(id, index))
  const gadget = object(`k${id}.example.com/v1`, "Gadget", "", "wheel", { spec: { turns: 1 } })
  return phase === "seeding"
    ? ndjson([...varied(id), gadget, ...many])
    : ndjson(
        [...varied(id), gadget],
        many.map((each, index) => state(each, (index + 1) / 100)),
      )
}

/** Starts a replay, kills it in that phase, and cleans up. Returns what exists before and after the clean-up. */
export const killAndClean = async ({ place, read, kubeconfig, id }: KillOptions, phase: Phase) => {
  const name = `killed-${phase}-${id}`
  const trace = place.write(`${name}.ndjson`, traceOf(id, phase))
  const target = ["--kubeconfig", kubeconfig]
  const replay = place.reel("replay", trace, ...target, "--name", name, "--concurrency", "2")
  const written = async (): Promise<number> => {
    const path = `/api/v1/namespaces/virtual-killed-${id}/configmaps?limit=1000`
    const list = (await read(path)) as { readonly items: ReadonlyArray<{ metadata: { name: string } }> } | undefined
    return list?.items.filter(({ metadata }) => metadata.name.startsWith("settings-")).length ?? 0
  }
  await until(
    async () => replay.ending !== undefined || (await written()) >= 20,
    () => `20 objects of the replay:\n${replay.said}`,
  )
  await replay.kill()
  const { signal } = await replay.ended
  const atDeath = await written()
  const left = await leftOf(read, name)
  const clean = place.reel("replay", "--clean", name, ...target)
  const { code } = await clean.ended
  return { name, signal, atDeath, objects, left, code, said: clean.said, leftAfterwards: await leftOf(read, name) }
}

interface Resource {
  readonly name: string
  readonly verbs: ReadonlyArray<string>
}

interface Found {
  readonly metadata: {
    readonly name: string
    readonly namespace?: string
    readonly labels?: Readonly<Record<string, string>>
    readonly ownerReferences?: ReadonlyArray<{ readonly kind: string; readonly name: string }>
  }
}

/** Every object of any kind that has the replay's label or its root as an owner, and the root itself: `deployments virtual-shop/web`. */
export const leftOf = async (read: Read, replay: string): Promise<ReadonlyArray<string>> => {
  const root = `kubereel-replay-${replay}`
  const { groups } = (await read("/apis")) as {
    groups: ReadonlyArray<{ versions: ReadonlyArray<{ groupVersion: string }> }>
  }
  const paths = groups.flatMap(({ versions }) => versions.map(({ groupVersion }) => `/apis/${groupVersion}`))
  const found = new Set<string>()
  for (const path of ["/api/v1", ...paths]) {
    // A custom kind may go between two requests.
    const { resources = [] } = ((await read(path)) ?? {}) as { readonly resources?: ReadonlyArray<Resource> }
    for (const { name: plural, verbs } of resources)
      if (!plural.includes("/") && verbs.includes("list")) {
        const { items } = ((await read(`${path}/${plural}`)) ?? { items: [] }) as { items: ReadonlyArray<Found> | null }
        for (const { metadata } of items ?? []) {
          const isOurs =
            metadata.labels?.["kubereel.dev/replay"] === replay ||
            metadata.ownerReferences?.some((owner) => owner.name === root) ||
            metadata.name === root ||
            metadata.namespace === root
          if (isOurs) found.add(`${plural} ${metadata.namespace ?? ""}/${metadata.name}`)
        }
      }
  }
  return [...found].toSorted()
}
