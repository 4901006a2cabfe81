/**
 * Look-ups never block ingest: while the API server delays every read of a single object, and hundreds of look-ups are open, changes
 * continue to be recorded, acknowledged and exported. Once the server responds, nothing is missing.
 */
import { expect, test } from "vitest"
import { defaultLookUpLimits } from "../../../src/actors/index.ts"
import type { StoredObject } from "../../../src/apiserver/index.ts"
import { alike, load } from "../../harness/effort.ts"
import { patient } from "../../harness/patience.ts"
import { until } from "../recorder/recorder-command.ts"
import { OwnerRecorder, ownedBy, podThat } from "./owner-recorder.ts"
import { describeChanges, differences, ledgerOf } from "./recorded-sandbox.ts"

const deployment = "apps/v1.Deployment"
const replicaSet = "apps/v1.ReplicaSet"
const pod = "v1.Pod"
const deployments = 20
const questions = 640
/** In each, every Deployment changes once and two pods appear. */
const rounds = load(500)
const newPodsEach = 2
const changes = rounds * deployments
const newPods = rounds * newPodsEach
/** ms that the export may wait for owners. */
const ownerDeadlineMs = 200

const namespace = "shop"
const settings = "{trackLifecycle: true, detect: all}"

test.each(
  alike([
    ["are recorded too", { [deployment]: settings, [pod]: "{}" }],
    ["are followed alone", { [deployment]: settings }],
  ] as const),
)(`${questions} owners are unknown and pods %s`, { timeout: patient(180_000) }, async (_, kinds) => {
  const recorder = await OwnerRecorder.start(kinds)
  const { sandbox } = recorder
  const change = (index: number, round: number): StoredObject =>
    sandbox.put(deployment, { metadata: { namespace, name: `web-${index}` }, spec: { replicas: round } })
  const run = (name: string, owner: StoredObject, start: number): void => {
    sandbox.put(pod, { metadata: { namespace, name, ...ownedBy(owner) }, ...podThat({ start }) })
  }
  try {
    sandbox.faults.holdGets()
    const owners = Array.from({ length: deployments }, (__, index) => change(index, 0))
    const between = Array.from({ length: questions }, (__, index) => {
      const owner = owners[index % deployments] as StoredObject
      const metadata = { namespace, name: `rs-${index}`, ...ownedBy(owner) }
      return sandbox.put(replicaSet, { metadata, spec: {} })
    })
    for (const [index, owner] of between.entries()) run(`first-${index}`, owner, 100 + index)
    await until(
      async () => (await recorder.statistics()).pending === questions,
      "the questions about all owners",
      20_000,
    )

    for (let round = 1; round <= rounds; round++) {
      for (let index = 0; index < deployments; index++) change(index, round)
      for (let each = 0; each < newPodsEach; each++) {
        const index = (round - 1) * newPodsEach + each
        run(`second-${index}`, between[index % questions] as StoredObject, 10_000 + index)
      }
      // As in an API server: written bytes are sent while more is being written.
      await new Promise(setImmediate)
    }
    await recorder.recorded()
    await until(async () => (await unacknowledged(recorder)) === 0, "the acknowledgement of all frames", 20_000)
    const everything = await recorder.changes()
    expect(describeChanges(everything, deployment)).toHaveLength(deployments + changes)
    for (const gvk of Object.keys(kinds)) {
      expect(differences(everything, ledgerOf(sandbox, gvk), gvk)).toEqual({})
    }

    const askedAt = performance.now()
    const early = await recorder.trace({ owner_deadline_ms: ownerDeadlineMs })
    const tookMs = performance.now() - askedAt
    // Any end distinguishes it from an export that waits for its look-ups, which never complete here.
    expect(tookMs).toBeGreaterThanOrEqual(ownerDeadlineMs)
    expect(tookMs).toBeLessThan(patient(2500))
    expect(early.unknownOwners).toMatch(
      new RegExp(`^${questions} \\((${replicaSet} ${namespace}/rs-\\d+, ){20}\\.\\.\\.\\)$`),
    )
    expect(early.objects.filter((line) => line.startsWith(deployment))).toHaveLength(deployments)
    expect(early.lifecycles).toEqual([])
    // Until then no look-up had completed, and the server received no more than the limit at once.
    const { pending, running } = await recorder.statistics()
    expect(pending).toBe(questions)
    expect(running).toBeLessThanOrEqual(defaultLookUpLimits.concurrency)
    expect(sandbox.faults.gets.pending).toBeGreaterThan(0)

    sandbox.faults.releaseGets()
    const late = await recorder.trace({ owner_deadline_ms: 60_000 })
    expect(late.unknownOwners).toBeNull()
    expect(late.objects).toEqual(owners.map(({ metadata: { name } }) => `${deployment} ${namespace}/${name}`).sort())
    const starts = [
      ...between.map((__, index) => [index, 100 + index] as const),
      ...Array.from({ length: newPods }, (__, index) => [index % questions, 10_000 + index] as const),
    ]
    expect(late.lifecycles).toEqual(
      starts.map(([owner, start]) => `${deployment} ${namespace}/web-${owner % deployments} ${start}-`).sort(),
    )
    expect(await recorder.statistics()).toMatchObject({ pending: 0 })
  } finally {
    await recorder.close()
  }
})

/** Frames of observations that wait for their commit. */
const unacknowledged = async (recorder: OwnerRecorder): Promise<number> => {
  const { watchers } = recorder.running.actors
  const all = await Promise.all(watchers.map(({ watcher }) => watcher.metrics()))
  return all.reduce((sum, metrics) => sum + (metrics?.outboxes.observations?.unacknowledgedBytes ?? 1), 0)
}
