/**
 * A sandbox with controllers that was recorded by our recorder, and what an observer of the sandbox saw meanwhile: all objects at five moments, and every
 * event of the watches in between.
 */
import { readRecordingFacts } from "../../src/archive/index.ts"
import { LocalCluster } from "../../src/sandbox/index.ts"
import { type RecorderProcess, Workplace } from "../recorder/recorder/recorder-command.ts"
import { type ApiObject, get, getJson, Watch } from "../sandbox/client.ts"

/** By the path of its lists. */
export const observedKinds: Readonly<Record<string, string>> = {
  "/api/v1/pods": "v1.Pod",
  "/api/v1/configmaps": "v1.ConfigMap",
  "/api/v1/events": "v1.Event",
  "/api/v1/nodes": "v1.Node",
  "/api/v1/services": "v1.Service",
  "/apis/apps/v1/deployments": "apps/v1.Deployment",
  "/apis/apps/v1/replicasets": "apps/v1.ReplicaSet",
  "/apis/apiextensions.k8s.io/v1/customresourcedefinitions": "apiextensions.k8s.io/v1.CustomResourceDefinition",
  "/apis/example.com/v1/gadgets": "example.com/v1.Gadget",
}

export const paths = Object.keys(observedKinds)

export interface Observation {
  /** µs since the Unix epoch. */
  readonly time: number
  /** By path, the response to a list. */
  readonly lists: ReadonlyMap<string, ApiObject>
  /** What `look` returned. */
  readonly looked: unknown
}

export interface RecordedCluster {
  readonly dataDir: string
  readonly observations: ReadonlyArray<Observation>
  /** By path, every line of the watches from the first observation to the last. */
  readonly lines: ReadonlyMap<string, ReadonlyArray<string>>
  readonly close: () => Promise<void>
}

export interface RecordedClusterOptions {
  /** Called at each moment, while nothing happens in the sandbox. */
  readonly look?: (url: string) => Promise<unknown>
}

const gadgets = {
  metadata: { name: "gadgets.example.com" },
  spec: {
    ...{ group: "example.com", scope: "Namespaced" },
    names: { plural: "gadgets", singular: "gadget", kind: "Gadget", listKind: "GadgetList", shortNames: ["gd"] },
    versions: [
      {
        ...{ name: "v1", served: true, storage: true },
        schema: {
          openAPIV3Schema: {
            type: "object",
            properties: {
              spec: { type: "object", properties: { size: { type: "integer", description: "how big it is" } } },
            },
          },
        },
        additionalPrinterColumns: [{ name: "Size", type: "integer", jsonPath: ".spec.size" }],
      },
    ],
  },
}

const web = (replicas: number, image: string) => ({
  metadata: { name: "web", namespace: "default", labels: { app: "web" } },
  spec: {
    replicas,
    selector: { matchLabels: { app: "web" } },
    template: { metadata: { labels: { app: "web" } }, spec: { containers: [{ name: "web", image }] } },
  },
})

/** What happens between two observations. */
const stages: ReadonlyArray<(cluster: LocalCluster) => unknown> = [
  () => undefined,
  ({ sandbox }) => sandbox.put("apps/v1.Deployment", web(2, "web:1")),
  ({ sandbox }) => {
    sandbox.put("apps/v1.Deployment", web(3, "web:1"))
    sandbox.put("v1.ConfigMap", { metadata: { name: "settings", namespace: "default" }, data: { open: "yes" } })
    sandbox.put("example.com/v1.Gadget", { metadata: { name: "big", namespace: "default" }, spec: { size: 7 } })
  },
  ({ sandbox }) => {
    sandbox.put("apps/v1.Deployment", web(3, "web:2"))
    sandbox.put("v1.ConfigMap", { metadata: { name: "settings", namespace: "default" }, data: { open: "no" } })
  },
  ({ sandbox }) => {
    sandbox.delete("v1.ConfigMap", "default", "settings")
    sandbox.put("apps/v1.Deployment", web(1, "web:2"))
    sandbox.put("example.com/v1.Gadget", { metadata: { name: "big", namespace: "default" }, spec: { size: 9 } })
  },
]

export const recordCluster = async ({ look }: RecordedClusterOptions = {}): Promise<RecordedCluster> => {
  const place = new Workplace()
  const cluster = await LocalCluster.start({ nodes: 2 })
  const { sandbox } = cluster
  const watches = new Map<string, Watch>()
  const close = async (): Promise<void> => {
    for (const watch of watches.values()) watch.close()
    await place.close()
    await cluster.close()
  }
  try {
    await cluster.client.create(
      {
        gvk: { group: "apiextensions.k8s.io", version: "v1", kind: "CustomResourceDefinition" },
        plural: "customresourcedefinitions",
        namespaced: false,
      },
      { apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition", ...gadgets },
    )
    const recorder = place.record({
      cluster: { server: sandbox.url },
      kinds: {
        ...Object.fromEntries(
          Object.values(observedKinds).map((gvk) => [gvk, "{detect: all, keepManagedFields: true}"]),
        ),
        "batch/v1.Job": "{detect: content}",
      },
    })
    await recorder.ready()
    const observations: Observation[] = []
    for (const stage of stages) {
      stage(cluster)
      const observation = await observe(cluster, recorder, look)
      observations.push(observation)
      if (watches.size > 0) continue
      for (const [path, { metadata }] of observation.lists)
        watches.set(path, await Watch.open(`${sandbox.url}${path}?watch=1&resourceVersion=${metadata.resourceVersion}`))
    }
    // The recording ends where anything was last heard of: at a bookmark after the last observation.
    const last = observations.at(-1)?.time ?? 0
    await recorder.until(() => {
      sandbox.bookmarkNow()
      return readRecordingFacts(place.path("data")).lastTime > last
    }, "a bookmark in the recording")
    const lines = new Map([...watches].map(([path, watch]) => [path, [...watch.lines]]))
    await recorder.stop()
    return { dataDir: place.path("data"), observations, lines, close }
  } catch (error) {
    await close()
    throw error
  }
}

/** A moment at which the cluster is at rest and everything has been recorded. */
const observe = async (
  { sandbox }: LocalCluster,
  recorder: RecorderProcess,
  look: RecordedClusterOptions["look"],
): Promise<Observation> => {
  let observation: Observation | undefined
  await recorder.until(
    async () => {
      const lists = await listsOf(sandbox.url)
      if (!isAtRest(lists) || !isRecorded(lists, await recorder.exported())) return false
      const time = Date.now() * 1000
      const looked = await look?.(sandbox.url)
      const after = await listsOf(sandbox.url)
      // Events of the cluster may still have happened meanwhile.
      if (paths.some((path) => versionsIn(lists.get(path)) !== versionsIn(after.get(path)))) return false
      observation = { time, lists, looked }
      return true
    },
    "a recorded moment at which nothing happens",
    60_000,
  )
  return observation as Observation
}

const listsOf = async (url: string): Promise<ReadonlyMap<string, ApiObject>> =>
  new Map(await Promise.all(paths.map(async (path) => [path, await getJson(url + path)] as const)))

const versionsIn = (list: ApiObject | undefined): string =>
  (list?.items ?? []).map(({ metadata }) => `${metadata.name}@${metadata.resourceVersion}`).join()

const isAtRest = (lists: ReadonlyMap<string, ApiObject>): boolean => {
  const deployments = (lists.get("/apis/apps/v1/deployments")?.items ?? []) as ReadonlyArray<
    ApiObject & { readonly status?: { readonly availableReplicas?: number; readonly replicas?: number } }
  >
  const pods = (lists.get("/api/v1/pods")?.items ?? []).length
  return deployments.every(({ spec, status }) => {
    const { replicas } = spec as { readonly replicas: number }
    return status?.availableReplicas === replicas && status.replicas === replicas && pods === replicas
  })
}

type Exported = Awaited<ReturnType<RecorderProcess["exported"]>>

/** Whether the last recorded state of everything is what the lists have. */
const isRecorded = (lists: ReadonlyMap<string, ApiObject>, lines: Exported): boolean => {
  const last = new Map<string, string>()
  for (const line of lines) {
    const { gvk, action, name, namespace = "", resourceVersion } = line as typeof line & { readonly namespace?: string }
    const key = `${gvk} ${namespace}/${name}`
    if (action === "applied") last.set(key, resourceVersion)
    else last.delete(key)
  }
  const there = paths.flatMap((path) =>
    (lists.get(path)?.items ?? []).map(({ metadata: { namespace = "", name, resourceVersion } }) => ({
      key: `${observedKinds[path]} ${namespace}/${name}`,
      resourceVersion,
    })),
  )
  return last.size === there.length && there.every(({ key, resourceVersion }) => last.get(key) === resourceVersion)
}

export const bodyOf = async (url: string, headers: Record<string, string> = {}): Promise<string> =>
  (await get(url, headers)).text
