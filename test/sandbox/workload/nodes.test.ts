/** The scheduler, and Pods on virtual nodes. */

import { describe, expect, test } from "vitest"
import { type ApiObject, kinds, type Node, type Pod } from "../../../src/kube/index.ts"
import { conditionOf, isReady, phaseOf } from "../../../src/sandbox/workload/pods/pods.ts"
import { livingClusters } from "./living-cluster.ts"

const start = livingClusters()

const pod = (name: string, spec: object = {}, annotations: Record<string, string> = {}) => ({
  metadata: { name, annotations },
  spec: { containers: [{ name: "main", image: "busybox" }], ...spec },
})

describe("The scheduler", () => {
  test("reports why a Pod fits nowhere, and schedules it when that changes", async () => {
    const cluster = await start()
    const requests = { cpu: "100", memory: "1Gi" }
    await cluster.create(
      kinds.pods,
      pod("big", { containers: [{ name: "main", image: "x", resources: { requests } }] }),
    )
    const scheduled = () => conditionOf(cluster.get<Pod>(kinds.pods, "big")?.status?.conditions, "PodScheduled")
    await cluster.sees(() => scheduled()?.status === "False")
    expect(scheduled()).toMatchObject({
      reason: "Unschedulable",
      message: "0/2 nodes are available: 2 Insufficient cpu.",
    })
    await cluster.sees(() => cluster.reasons("big").includes("FailedScheduling"))
    const status = { allocatable: { cpu: "200" } }
    await cluster.api.patch(kinds.nodes, { name: "virtual-2" }, "merge", { status }, { subresource: "status" })
    await cluster.sees(() => isReady(cluster.get<Pod>(kinds.pods, "big") as Pod))
    expect(cluster.get<Pod>(kinds.pods, "big")?.spec.nodeName).toBe("virtual-2")
  })

  test("spreads Pods over the nodes and respects selectors and taints", async () => {
    const cluster = await start({ nodes: 3 })
    await cluster.api.patch(kinds.nodes, { name: "virtual-3" }, "merge", {
      spec: { taints: [{ key: "x", effect: "NoSchedule" }] },
    })
    for (let index = 0; index < 4; index++) await cluster.create(kinds.pods, pod(`p${index}`))
    await cluster.create(kinds.pods, pod("chosen", { nodeSelector: { "kubernetes.io/hostname": "virtual-1" } }))
    await cluster.sees(() => cluster.pods().every(({ spec }) => (spec.nodeName ?? "") !== ""))
    const nodes = cluster.pods().map(({ spec }) => spec.nodeName)
    expect(nodes.filter((node) => node === "virtual-2")).toHaveLength(2)
    expect(nodes.filter((node) => node === "virtual-3")).toHaveLength(0)
    expect(cluster.get<Pod>(kinds.pods, "chosen")?.spec.nodeName).toBe("virtual-1")
  })
})

describe("A Pod on a virtual node", () => {
  test("is created, started and ready with a kubelet's conditions, times and Events", async () => {
    const cluster = await start()
    await cluster.create(kinds.pods, pod("bare"))
    await cluster.sees(() => isReady(cluster.get<Pod>(kinds.pods, "bare") as Pod))
    const states = cluster.history<Pod>("v1.Pod", "bare").map(({ status }) => status)
    expect([
      ...new Set(states.map((state) => `${state?.phase} ${Object.keys(state?.containerStatuses?.[0]?.state ?? {})}`)),
    ]).toEqual(["Pending ", "Pending waiting", "Running running"])
    const { status } = cluster.get<Pod>(kinds.pods, "bare") as Pod
    expect(status?.conditions?.map(({ type, status: value }) => `${type}=${value}`)).toEqual([
      "PodReadyToStartContainers=True",
      "Initialized=True",
      "Ready=True",
      "ContainersReady=True",
      "PodScheduled=True",
    ])
    expect(status?.podIP).toMatch(/^10\.1(2[89]|\d\d)\./)
    await cluster.sees(() => cluster.reasons("bare").length === 4)
    expect(cluster.reasons("bare")).toEqual(expect.arrayContaining(["Scheduled", "Pulled", "Created", "Started"]))
  })

  test("that crashes is restarted after growing pauses", async () => {
    const cluster = await start()
    await cluster.create(kinds.pods, pod("crash", {}, { "sandbox.kubereel.dev/fail-after": "1s" }))
    const container = () => cluster.get<Pod>(kinds.pods, "crash")?.status?.containerStatuses?.[0]
    await cluster.sees(() => container()?.restartCount === 3)
    const waits = cluster
      .history<Pod>("v1.Pod", "crash")
      .flatMap(({ status }) => status?.containerStatuses?.[0]?.state.waiting ?? [])
      .filter(({ reason }) => reason === "CrashLoopBackOff")
    expect(new Set(waits.map(({ message }) => message?.slice(0, 12)))).toEqual(
      new Set(["back-off 10s", "back-off 20s"]),
    )
    expect(container()?.lastState.terminated).toMatchObject({ exitCode: 1, reason: "Error" })
    expect(cluster.reasons("crash")).toContain("BackOff")
  })

  test("ends according to its annotations", async () => {
    const cluster = await start()
    await cluster.create(
      kinds.pods,
      pod("fine", { restartPolicy: "Never" }, { "sandbox.kubereel.dev/complete-after": "3s" }),
    )
    await cluster.create(
      kinds.pods,
      pod(
        "fails",
        { restartPolicy: "Never" },
        { "sandbox.kubereel.dev/fail-after": "2s", "sandbox.kubereel.dev/exit-code": "42" },
      ),
    )
    await cluster.sees(() => cluster.pods().map(phaseOf).join() === "Failed,Succeeded")
    const [fails, fine] = cluster.pods()
    const times = fine?.status?.containerStatuses?.[0]?.state.terminated
    expect(Date.parse(times?.finishedAt ?? "") - Date.parse(times?.startedAt ?? "")).toBe(3000)
    expect(fails?.status?.containerStatuses?.[0]?.state.terminated?.exitCode).toBe(42)
  })

  test("starts and is ready according to kwok's annotations, whose jitter is the upper limit of a delay", async () => {
    const cluster = await start()
    const delays = {
      "simkube.io/kwok-stage-create-delay": "4s",
      "simkube.io/kwok-stage-create-delay-jitter": "4s",
      "simkube.io/kwok-stage-ready-delay": "7000ms",
      "simkube.io/kwok-stage-ready-delay-jitter": "2s",
    }
    await cluster.create(kinds.pods, pod("slow", {}, delays))
    await cluster.sees(() => isReady(cluster.get<Pod>(kinds.pods, "slow") as Pod))
    const { status } = cluster.get<Pod>(kinds.pods, "slow") as Pod
    const since = (type: string) => Date.parse(conditionOf(status?.conditions, type)?.lastTransitionTime ?? "")
    const started = Date.parse(status?.containerStatuses?.[0]?.state.running?.startedAt ?? "")
    expect(Math.abs(started - since("PodScheduled") - 4000)).toBeLessThanOrEqual(1000)
    expect(Math.abs(since("Ready") - started - 2000)).toBeLessThanOrEqual(1000)
  })

  test.each(["Always", "OnFailure", "Never"])(
    "ends for good at the time in its annotations, with restart policy %s, and not before it is known",
    async (restartPolicy) => {
      const cluster = await start()
      await cluster.create(kinds.pods, pod("run", { restartPolicy }, { "kubereel.dev/run-time": "37s" }))
      const running = () => cluster.get<Pod>(kinds.pods, "run")?.status?.containerStatuses?.[0]?.state.running
      await cluster.sees(() => running() !== undefined)
      const startedMs = Date.parse(running()?.startedAt ?? "")
      await cluster.sees(() => cluster.clock.wallMicros() / 1000 > startedMs + 10_000)
      expect(phaseOf(cluster.get<Pod>(kinds.pods, "run") as Pod)).toBe("Running")
      const annotations = {
        "simkube.io/kwok-stage-complete-time": new Date(startedMs + 37_000).toISOString(),
        "kubereel.dev/exit-code": "3",
        "kubereel.dev/restarts": "2",
      }
      await cluster.patch(kinds.pods, "run", {
        metadata: { labels: { "simkube.io/kwok-stage-complete": "true" }, annotations },
      })
      await cluster.sees(() => phaseOf(cluster.get<Pod>(kinds.pods, "run") as Pod) === "Failed")
      const [status] = (cluster.get<Pod>(kinds.pods, "run") as Pod).status?.containerStatuses ?? []
      expect(status).toMatchObject({ restartCount: 2, state: { terminated: { exitCode: 3 } } })
      expect(Date.parse(status?.state.terminated?.finishedAt ?? "") - startedMs).toBe(37_000)
    },
  )

  test("that is deleted is killed, reported as ended, and only then gone", async () => {
    const cluster = await start()
    await cluster.create(kinds.pods, pod("bare"))
    await cluster.sees(() => isReady(cluster.get<Pod>(kinds.pods, "bare") as Pod))
    await cluster.api.delete(kinds.pods, { namespace: "default", name: "bare" })
    await cluster.sees(() => cluster.get(kinds.pods, "bare") === undefined)
    const states = cluster
      .history<Pod>("v1.Pod", "bare")
      .filter(({ metadata }) => metadata.deletionTimestamp !== undefined)
    expect(phaseOf(states[0] as Pod)).toBe("Running")
    expect(states.at(-1)?.status?.containerStatuses?.[0]?.state.terminated).toMatchObject({ exitCode: 143 })
    await cluster.sees(() => cluster.reasons("bare").includes("Killing"))
  })
})

describe("A virtual node", () => {
  test("renews its Lease every 10 s", async () => {
    const cluster = await start({ nodes: 1 })
    type Lease = ApiObject & { readonly spec: { readonly renewTime: string; readonly holderIdentity: string } }
    const lease = (): Lease | undefined =>
      cluster.sandbox.get("coordination.k8s.io/v1.Lease", "kube-node-lease", "virtual-1") as Lease | undefined
    await cluster.sees(() => lease() !== undefined)
    const first = lease()?.spec.renewTime ?? ""
    expect(first).toMatch(/\.\d{6}Z$/)
    await cluster.sees(() => lease()?.spec.renewTime !== first)
    expect(Date.parse(lease()?.spec.renewTime ?? "") - Date.parse(first)).toBeGreaterThanOrEqual(9_990)
    expect(conditionOf(cluster.get<Node>(kinds.nodes, "virtual-1")?.status?.conditions, "Ready")?.status).toBe("True")
  })
})
