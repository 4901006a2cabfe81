/** An hour of a shop, and what the ten views say about it, whichever engine is asked. */
import { core, type Described, event, header, timeText } from "../trace/views/items.ts"

export const template = (image: string) => ({
  spec: { containers: [{ name: "web", image, resources: { requests: { cpu: "2", memory: "1Gi" } } }] },
})
export const web = (version: number, replicas: number, image: string): Described => ({
  ...{ apiVersion: "apps/v1", kind: "Deployment" },
  metadata: {
    ...{ name: "web", namespace: "shop", uid: "d", resourceVersion: `${version}`, creationTimestamp: timeText(1) },
    managedFields: [{ manager: "kubectl", operation: "Update", time: timeText(version), fieldsV1: { "f:spec": {} } }],
  },
  spec: { replicas, template: template(image) },
})
const node = (version: number, status: string): Described =>
  core(
    "Node",
    { name: "n1", uid: "n1", resourceVersion: `${version}` },
    { status: { conditions: [{ type: "Ready", status, reason: "Kubelet" }] } },
  )
const pod = (version: number, status: object): Described =>
  core(
    "Pod",
    {
      ...{ name: "web-1", namespace: "shop", uid: "p", resourceVersion: `${version}`, creationTimestamp: timeText(10) },
      ownerReferences: [{ apiVersion: "apps/v1", kind: "ReplicaSet", name: "web-5c", uid: "r", controller: true }],
    },
    { spec: { nodeName: "n1", ...template("web:1").spec }, status },
  )
const state = (name: "running" | "waiting" | "terminated", facts: object, restartCount: number) => ({
  phase: "Running",
  containerStatuses: [{ name: "web", state: { [name]: facts }, restartCount }],
})
const killed = { reason: "OOMKilled", finishedAt: timeText(20), exitCode: 137 }

/** An hour of a shop. */
export const hour = [
  header(0, 7200, { clusterUid: "cluster-1", kinds: ["apps/v1.Deployment", "v1.Node", "v1.Pod"] }),
  event("applied", 1, web(1, 2, "web:1")),
  event("applied", 2, node(2, "True")),
  event("applied", 10, pod(10, { phase: "Pending" })),
  event("applied", 11, pod(11, state("running", {}, 0))),
  event("applied", 20, pod(20, state("terminated", killed, 0))),
  event("applied", 21, pod(21, state("waiting", { reason: "CrashLoopBackOff" }, 0))),
  event("applied", 3621, pod(22, state("running", {}, 1))),
  event("applied", 3700, web(3700, 3, "web:1")),
  event("applied", 3800, web(3800, 3, "web:2")),
  event("applied", 3900, node(31, "Unknown")),
  event("applied", 4000, node(32, "False")),
  event("applied", 4100, node(33, "True")),
  event(
    "applied",
    4200,
    pod(40, {
      ...state("running", {}, 1),
      conditions: [{ type: "DisruptionTarget", status: "True", reason: "EvictionByEvictionAPI" }],
    }),
  ),
  event("deleted", 4201.000001, pod(41, state("running", {}, 1))),
]

type Row = Readonly<Record<string, unknown>>

const place = { cluster: "prod", namespace: "shop" }
const deployment = { ...place, kind: "Deployment", name: "web" }
const thePod = { ...place, kind: "Pod", name: "web-1" }
const owner = "ReplicaSet/web-5c"
const onNode = { node: "n1", owner }
const by = { manager: "kubectl", username: null }
const moment = (text: string): string => `2025-11-21T${text}Z`
const notReady = { cluster: "prod", name: "n1", reason: "Kubelet", seconds: 100 }
const byKubectl = { cluster: "prod", who: "kubectl", kind: "Deployment" }
const wasted = { ...place, owner, pods: 1 }

/** All rows of each view, of the cluster prod. */
export const answers: Readonly<Record<string, ReadonlyArray<Row>>> = {
  image_changes: [{ ...deployment, time: moment("01:03:20"), before: ["web:1"], after: ["web:2"], ...by }],
  deploys: [
    { ...deployment, time: moment("00:00:01"), operation: "created", images: ["web:1"], ...by },
    { ...deployment, time: moment("01:03:20"), operation: "changed", images: ["web:2"], ...by },
  ],
  scaling: [{ ...deployment, time: moment("01:01:40"), before: 2, after: 3, owner: null, ...by }],
  restarts: [{ ...thePod, time: moment("01:00:21"), added: 1, restarts: 1, reason: "OOMKilled", ...onNode }],
  oom_kills: [{ ...thePod, time: moment("00:00:20"), requested: 2 ** 30, ...onNode }],
  evictions: [{ ...thePod, time: moment("01:10:00"), reason: "EvictionByEvictionAPI", ...onNode }],
  node_not_ready: [
    { ...notReady, time: moment("01:05:00"), phase: "Unknown", until: moment("01:06:40") },
    { ...notReady, time: moment("01:06:40"), phase: "NotReady", until: moment("01:08:20") },
  ],
  deletions: [{ ...thePod, time: moment("01:10:01.000001"), operation: "deleted", owner, username: null }],
  who: [
    { ...byKubectl, operation: "changed", changes: 2, since: moment("01:01:40"), until: moment("01:03:20") },
    { ...byKubectl, operation: "created", changes: 1, since: moment("00:00:01"), until: moment("00:00:01") },
  ],
  waste: [
    { ...wasted, why: "CrashLoopBackOff", pod_hours: 1, cpu_hours: 2, memory_gib_hours: 1 },
    { ...wasted, why: "Pending", pod_hours: 1 / 3600, cpu_hours: 2 / 3600, memory_gib_hours: 1 / 3600 },
  ],
}

/** Rows in an order of their own, with times as `reel` writes them and numbers up to what engines round differently. */
export const comparable = (rows: ReadonlyArray<Row>): ReadonlyArray<string> =>
  rows
    .map((row) =>
      JSON.stringify(
        Object.entries(row)
          .toSorted(([one], [other]) => (one < other ? -1 : 1))
          .map(([name, value]) => [name, typeof value === "number" ? Number(value.toPrecision(12)) : value]),
      ),
    )
    .toSorted()
