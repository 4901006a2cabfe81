/** Jobs and CronJobs. */

import { describe, expect, test } from "vitest"
import { kinds } from "../../../src/kube/index.ts"
import type { CronJob } from "../../../src/sandbox/workload/cron-job-controller.ts"
import { finishedAs, isTracked, type Job, trackingFinalizer } from "../../../src/sandbox/workload/job-objects.ts"
import { phaseOf } from "../../../src/sandbox/workload/pods/pods.ts"
import { type LivingCluster, livingClusters } from "./living-cluster.ts"

const start = livingClusters()

const work = (spec: object = {}, annotations: Record<string, string> = {}, restartPolicy = "Never") => ({
  ...spec,
  template: { metadata: { annotations }, spec: { restartPolicy, containers: [{ name: "work", image: "busybox" }] } },
})

const job = (name: string, spec: object) => ({ metadata: { name }, spec })

const ended = (cluster: LivingCluster, name: string) => (): boolean => {
  const found = cluster.get<Job>(kinds.jobs, name)
  return found !== undefined && finishedAs(found) !== undefined
}

describe("A Job", () => {
  test("runs as many Pods as completions, one after the other, and counts each once", async () => {
    const cluster = await start()
    await cluster.create(kinds.jobs, job("migrate", work({ completions: 3 })))
    await cluster.sees(ended(cluster, "migrate"))
    const status = cluster.get<Job>(kinds.jobs, "migrate")?.status
    expect(status).toMatchObject({ succeeded: 3, terminating: 0, ready: 0, uncountedTerminatedPods: {} })
    expect(status?.conditions?.map(({ type, reason }) => `${type} ${reason}`)).toEqual([
      "SuccessCriteriaMet CompletionsReached",
      "Complete CompletionsReached",
    ])
    const active = cluster.history<Job>("batch/v1.Job", "migrate").map((state) => state.status?.active ?? 0)
    expect(Math.max(...active)).toBe(1)
    const pods = cluster.pods()
    expect(pods.map(phaseOf)).toEqual(["Succeeded", "Succeeded", "Succeeded"])
    expect(pods.some(isTracked)).toBe(false)
    await cluster.sees(() => cluster.reasons("migrate").includes("Completed"))
    expect(cluster.reasons("migrate")).toEqual([...Array(3).fill("SuccessfulCreate"), "Completed"])
  })

  test("notes an ended Pod in the status before it releases it, and counts it afterwards", async () => {
    const cluster = await start()
    await cluster.create(kinds.jobs, job("one", work()))
    await cluster.sees(ended(cluster, "one"))
    const states = cluster
      .history<Job>("batch/v1.Job", "one")
      .map(({ status }) => [status?.uncountedTerminatedPods?.succeeded?.length ?? 0, status?.succeeded ?? 0])
    expect(states.slice(-2)).toEqual([
      [1, 0],
      [0, 1],
    ])
  })

  test("fails after backoffLimit failures, each after a longer pause", async () => {
    const cluster = await start()
    const annotations = { "sandbox.kubereel.dev/fail-after": "1s", "sandbox.kubereel.dev/exit-code": "7" }
    await cluster.create(kinds.jobs, job("bad", work({ backoffLimit: 2 }, annotations)))
    await cluster.sees(ended(cluster, "bad"))
    const found = cluster.get<Job>(kinds.jobs, "bad")
    expect(found?.status?.failed).toBe(3)
    expect(found?.status?.conditions?.map(({ type, reason }) => `${type} ${reason}`)).toEqual([
      "FailureTarget BackoffLimitExceeded",
      "Failed BackoffLimitExceeded",
    ])
    const pods = cluster.pods()
    const starts = pods.map(({ metadata }) => Date.parse(metadata.creationTimestamp ?? "")).sort((a, b) => a - b)
    expect((starts[1] ?? 0) - (starts[0] ?? 0)).toBeGreaterThanOrEqual(10_000)
    expect((starts[2] ?? 0) - (starts[1] ?? 0)).toBeGreaterThanOrEqual(20_000)
    expect(pods.map(({ status }) => status?.containerStatuses?.[0]?.state.terminated?.exitCode)).toEqual([7, 7, 7])
  })

  test("in Indexed mode gives every index one Pod and reports the completed ones", async () => {
    const cluster = await start()
    await cluster.create(kinds.jobs, job("parts", work({ completions: 4, parallelism: 2, completionMode: "Indexed" })))
    await cluster.sees(ended(cluster, "parts"))
    expect(cluster.get<Job>(kinds.jobs, "parts")?.status).toMatchObject({ succeeded: 4, completedIndexes: "0-3" })
    const pods = cluster.pods()
    expect(pods.map(({ spec }) => spec.hostname)).toEqual(["parts-0", "parts-1", "parts-2", "parts-3"])
    expect(pods[2]?.spec.containers[0]?.env?.[0]).toMatchObject({ name: "JOB_COMPLETION_INDEX" })
  })

  test("suspended has no Pods, and starts its clock when it is resumed", async () => {
    const cluster = await start()
    await cluster.create(kinds.jobs, job("later", work({ suspend: true })))
    await cluster.sees(() => cluster.get<Job>(kinds.jobs, "later")?.status?.conditions?.[0]?.reason === "JobSuspended")
    expect(cluster.pods()).toEqual([])
    await cluster.patch(kinds.jobs, "later", { spec: { suspend: false } })
    await cluster.sees(ended(cluster, "later"))
    await cluster.sees(() => cluster.reasons("later").includes("Completed"))
    expect(cluster.reasons("later")).toEqual(["Suspended", "SuccessfulCreate", "Resumed", "Completed"])
  })

  test("ends at its deadline, and its Pods with it", async () => {
    const cluster = await start()
    const annotations = { "sandbox.kubereel.dev/complete-after": "1h" }
    await cluster.create(kinds.jobs, job("slow", work({ activeDeadlineSeconds: 5 }, annotations)))
    await cluster.sees(ended(cluster, "slow"))
    expect(cluster.get<Job>(kinds.jobs, "slow")?.status?.conditions?.at(-1)).toMatchObject({
      type: "Failed",
      reason: "DeadlineExceeded",
      message: "Job was active longer than specified deadline",
    })
    await cluster.sees(() => cluster.pods().length === 0)
  })

  test("is deleted with its Pods when its time to live is over, not before", async () => {
    const cluster = await start({ lifecycle: true })
    await cluster.create(kinds.jobs, job("brief", work({ ttlSecondsAfterFinished: 3 })))
    await cluster.sees(ended(cluster, "brief"))
    expect(cluster.pods()).toHaveLength(1)
    const end = Date.parse(cluster.get<Job>(kinds.jobs, "brief")?.status?.completionTime ?? "")
    await cluster.sees(() => cluster.get(kinds.jobs, "brief") === undefined)
    expect(cluster.clock.wallMicros() / 1000 - end).toBeGreaterThanOrEqual(3000)
    await cluster.sees(() => cluster.pods().length === 0)
  })

  test("deleted while it runs is removed with its Pods, despite their tracking finalizer", async () => {
    const cluster = await start({ lifecycle: true })
    const annotations = { "sandbox.kubereel.dev/complete-after": "1h" }
    await cluster.create(kinds.jobs, job("gone", work({ parallelism: 2, completions: 2 }, annotations)))
    await cluster.sees(() => cluster.pods().length === 2)
    expect(cluster.pods()[0]?.metadata.finalizers).toEqual([trackingFinalizer])
    await cluster.api.delete(kinds.jobs, { namespace: "default", name: "gone" }, { propagationPolicy: "Background" })
    await cluster.sees(() => cluster.pods().length === 0)
    expect(cluster.get(kinds.jobs, "gone")).toBeUndefined()
  })
})

describe("A CronJob", () => {
  const cron = (spec: object) => ({
    metadata: { name: "tick" },
    spec: { schedule: "* * * * *", jobTemplate: { spec: work() }, ...spec },
  })
  const jobs = (cluster: LivingCluster): ReadonlyArray<Job> => cluster.list<Job>(kinds.jobs)

  test("starts a Job named for each minute, and keeps three that succeeded", async () => {
    const cluster = await start({ lifecycle: true })
    await cluster.create(kinds.cronJobs, cron({}))
    await cluster.passes(6 * 60_000)
    const kept = jobs(cluster)
    // Jobs beyond the limit were deleted with their Pods.
    await cluster.sees(() => {
      const owners = new Set(jobs(cluster).map(({ metadata }) => metadata.name))
      return cluster.pods().every(({ metadata }) => owners.has(metadata.ownerReferences?.[0]?.name ?? ""))
    })
    expect(kept.length).toBeGreaterThanOrEqual(3)
    expect(kept.length).toBeLessThanOrEqual(4)
    for (const { metadata } of kept) {
      const scheduled = Date.parse(metadata.annotations?.["batch.kubernetes.io/cronjob-scheduled-timestamp"] ?? "")
      expect(metadata.name).toBe(`tick-${scheduled / 60_000}`)
    }
    const status = cluster.get<CronJob>(kinds.cronJobs, "tick")?.status
    expect(status?.lastSuccessfulTime).toBeDefined()
    expect(new Set(cluster.reasons("tick"))).toEqual(
      new Set(["SuccessfulCreate", "SawCompletedJob", "SuccessfulDelete"]),
    )
  })

  test("with Forbid starts none while one runs; with Replace the new one takes its place", async () => {
    const slow = { spec: work({}, { "sandbox.kubereel.dev/complete-after": "1h" }) }
    for (const concurrencyPolicy of ["Forbid", "Replace"]) {
      const cluster = await start({ lifecycle: true })
      await cluster.create(kinds.cronJobs, cron({ concurrencyPolicy, jobTemplate: slow }))
      await cluster.sees(() => jobs(cluster).length === 1)
      const [first] = jobs(cluster)
      await cluster.passes(90_000)
      const running = jobs(cluster)
      expect(running).toHaveLength(1)
      expect(running[0]?.metadata.uid === first?.metadata.uid).toBe(concurrencyPolicy === "Forbid")
      await cluster.sees(() => {
        const owners = cluster.pods().map(({ metadata }) => metadata.ownerReferences?.[0]?.name ?? "")
        const names = jobs(cluster).map(({ metadata }) => metadata.name)
        return owners.length > 0 && owners.every((each) => names.includes(each))
      })
    }
  })

  test("suspended starts nothing", async () => {
    const cluster = await start()
    await cluster.create(kinds.cronJobs, cron({ suspend: true }))
    await cluster.passes(150_000)
    expect(jobs(cluster)).toEqual([])
  })
})
