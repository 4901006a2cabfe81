/** Pods of a replay lead their recorded lives on the nodes of a real kwok with our stages, told by the webhook of a real API server. */
import { setTimeout as sleep } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import { afterAll, beforeAll, expect, test } from "vitest"
import { type OpenTarget, openTarget } from "../../../src/cli/replay/replay-target.ts"
import { type ApiObject, kinds, NotFoundError } from "../../../src/kube/index.ts"
import { webhookConfigurations } from "../../../src/simulation/webhook/pod-webhook.ts"
import type { TraceItem } from "../../../src/trace/index.ts"
import {
  ended,
  type Followed,
  followedReplay,
  type LivedPod,
  msBetween,
  simkubeTrace,
  until,
} from "../../simulation/pods/followed-replay.ts"
import { event, type PodState, pod, start } from "../../simulation/pods/recorded-pod.ts"
import { type Kwok, kwokNode, startKwok } from "../clients/kwok.ts"
import { openTestCluster } from "../guard.ts"

const id = String(process.pid)
const type = `lives-${id}`
const speed = 20
let target: OpenTarget
let kwok: Kwok

beforeAll(async () => {
  const { kubeconfig } = await openTestCluster()
  target = await openTarget({ kubeconfig, context: undefined, concurrency: 16 })
  const stages = fileURLToPath(new URL("../../../k8s/kwok/pod-stages.yaml", import.meta.url))
  kwok = await startKwok(kubeconfig, { stages, nodes: type })
  await target.client.create(kinds.nodes, kwokNode(type, type, type) as ApiObject)
})
afterAll(async () => {
  await target?.client.delete(kinds.nodes, { name: type })
  await kwok?.stop()
  await target?.[Symbol.asyncDispose]()
})

const replay = (
  name: string,
  items: ReadonlyArray<TraceItem>,
  isFollowed = true,
  during?: (pods: ReadonlyMap<string, LivedPod>) => Promise<void>,
): Promise<Followed> =>
  followedReplay(
    [target.client, target.podsClient],
    `${name}-${id}`,
    items,
    {
      speed,
      isFollowed,
      namespacePrefix: `${name}-${id}`,
      placement: { nodeSelector: { type }, taintKey: "kwok-provider" },
    },
    during,
  )

const container = { name: "main", image: "main:1" }
const barePod = { spec: { containers: [container], restartPolicy: "Never" } }
const job = {
  spec: { completions: 3, parallelism: 3, template: { spec: { containers: [container], restartPolicy: "Never" } } },
}
const labels = { app: "web" }
const deployment = {
  spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec: { containers: [container] } } },
}

test.concurrent("a pod that was recorded with 37 s ends 37 s / speed after it runs, and without the webhook it does not", async () => {
  const items = simkubeTrace(80, [["v1.Pod", "bare", barePod]], [["v1.Pod", "bare", 37]])
  const [followed, plain] = await Promise.all([replay("with", items), replay("without", items, false)])
  expect(followed.problems).toEqual([])
  const bare = followed.pods.get("bare") as LivedPod
  expect(Math.abs(msBetween(bare, "Running", "Succeeded") - 37_000 / speed)).toBeLessThan(1000)
  expect(bare.pod.metadata.annotations).toMatchObject({ "kubereel.dev/run-time": "37000ms" })
  expect([...(plain.pods.get("bare")?.phases.keys() ?? [])].at(-1)).toBe("Running")
  await expect(target.client.get(webhookConfigurations, { name: `kubereel-replay-with-${id}` })).rejects.toBeInstanceOf(
    NotFoundError,
  )
})

test.concurrent("pods of a Job and of a Deployment get the lives of their owner's pods, one after the other", async () => {
  const { pods, problems } = await replay(
    "owned",
    simkubeTrace(
      120,
      [
        ["batch/v1.Job", "nightly", job],
        ["apps/v1.Deployment", "web", deployment],
      ],
      [
        ["batch/v1.Job", "nightly", 20, 40, 60],
        ["apps/v1.Deployment", "web", 30],
      ],
    ),
  )
  expect(problems).toEqual([])
  const nightly = [...pods.values()].filter(({ owner }) => owner === "Job")
  const inOrder = nightly.toSorted((left, right) => ended(left) - ended(right))
  expect(inOrder.map(({ pod: { metadata } }) => metadata.annotations?.["kubereel.dev/run-time"])).toEqual([
    "20000ms",
    "40000ms",
    "60000ms",
  ])
  expect(inOrder.map(ended).every(Number.isFinite)).toBe(true)
  const web = [...pods.values()].filter(({ owner }) => owner === "ReplicaSet")
  expect(Math.abs(msBetween(web[0] as LivedPod, "Running", "Succeeded") - 30_000 / speed)).toBeLessThan(1000)
  // The controller replaces a pod that ended, with the next life.
  expect(web.length).toBeGreaterThan(1)
})

test.concurrent("a pod starts, is ready and ends as it was recorded, with its exit code and restarts", async () => {
  const times = { scheduled: 0, started: 30, ready: 50 }
  const states: ReadonlyArray<readonly [number, PodState]> = [
    [0.1, {}],
    [0.2, { scheduled: 0 }],
    [30.2, { scheduled: 0, started: 30 }],
    [50.2, times],
    [90.2, { ...times, ended: 90, exitCode: 3, restarts: 2, phase: "Failed" }],
  ]
  const window = { start, end: start + 160_000_000 }
  const { pods, problems } = await replay("recorded", [
    { type: "header", window, cut: 1, kinds: ["v1.Pod"], incomplete: [] },
    ...states.map(([seconds, state]): TraceItem => {
      return { type: "event", isSnapshot: false, event: event(seconds, "v1.Pod", "p", pod(state)) }
    }),
  ])
  expect(problems).toEqual([])
  const lived = pods.get("p") as LivedPod
  expect(Math.abs(msBetween(lived, "Pending", "Running") - 30_000 / speed)).toBeLessThan(1000)
  expect(Math.abs((lived.readyAt ?? 0) - (lived.phases.get("Running") ?? 0) - 20_000 / speed)).toBeLessThan(1000)
  expect(Math.abs(msBetween(lived, "Running", "Failed") - 60_000 / speed)).toBeLessThan(1000)
  expect(lived.pod.status?.containerStatuses).toMatchObject([
    { restartCount: 2, state: { terminated: { exitCode: 3 } } },
  ])
})

test.concurrent("a bare pod that is evicted is created again, until the trace deletes it (W-48)", async () => {
  const spec = { spec: { containers: [container] } }
  const deletion = { ...event(120, "v1.Pod", "bare", {}, "deleted"), uid: "" }
  const items = [
    ...simkubeTrace(120, [["v1.Pod", "bare", spec]], []),
    { type: "event" as const, isSnapshot: false, event: deletion },
    { type: "batch" as const, time: start + 180_000_000 },
  ]
  const namespace = `evicted-${id}-shop`
  const isRunning = (pods: ReadonlyMap<string, LivedPod>, name: string) =>
    pods.get(name)?.phases.has("Running") === true
  let left: ReadonlyArray<string> = []
  const { pods, problems } = await replay("evicted", items, true, async (seen) => {
    for (const name of ["bare", "bare-clone-1"]) {
      await until(() => isRunning(seen, name))
      const eviction = { apiVersion: "policy/v1", kind: "Eviction", metadata: { name, namespace } }
      await target.client.createSubresource(kinds.pods, { namespace, name }, "eviction", eviction)
    }
    await until(() => isRunning(seen, "bare-clone-2"))
    const deletedMs = Date.now() + 120_000 / speed
    while (Date.now() < deletedMs) await sleep(100)
    left = (await target.client.list(kinds.pods, { namespace })).items.map(({ metadata }) => metadata.name)
  })
  expect(problems).toEqual([])
  expect([...pods.keys()].toSorted()).toEqual(["bare", "bare-clone-1", "bare-clone-2"])
  expect(pods.get("bare-clone-1")?.pod.metadata.annotations).toMatchObject({
    "static.simkube.io/original-owner": "bare",
  })
  expect(left).toEqual([])
})
