/**
 * The owner-resolver and the store are killed repeatedly while pods and their owners appear: afterwards every owner is known, and an export
 * contains the ownership in the server's ledger.
 */

import * as Effect from "effect/Effect"
import { expect, test } from "vitest"
import { ArchiveReader } from "../../../src/archive/index.ts"
import { recordedWhole } from "../../../src/recorder/configuration/tracked-kind.ts"
import { workerEntry } from "../../../src/recorder/recording/worker-entries.ts"
import { exportJob } from "../../actors/exporter/export-job.ts"
import { rounds } from "../../harness/effort.ts"
import { patient } from "../../harness/patience.ts"
import { testWorker } from "../../harness/test-worker.ts"
import { until } from "../recorder/recorder-command.ts"
import { readTrace } from "./owner-recorder.ts"
import { LedgerOwnership, OwnerWorkload, ownerKinds } from "./owner-workload.ts"
import { RecordedSandbox, tracked } from "./recorded-sandbox.ts"

/** Not fewer in an ordinary run: the resolver must have look-ups under way whenever it is killed. */
const perSecond = 2000

const seed = Number(process.env.KUBEREEL_TEST_SEED ?? Date.now() % 1_000_000)
const mailbox = "owner-answers"
const kinds = [{ ...tracked(ownerKinds.deployment), trackLifecycle: true }, tracked(ownerKinds.pod)]

test.each([
  ["the owner-resolver loses", rounds(20), false],
  ["the owner-resolver and the store lose", rounds(8), true],
])(
  `%s no owner, killed %d times at ${perSecond} events/s (seed ${seed})`,
  {
    timeout: patient(120_000),
  },
  async (_, killsEach, isStoreKilled) => {
    console.log(`kill test of the owner-resolver: KUBEREEL_TEST_SEED=${seed}`)
    await using recorded = await RecordedSandbox.start({
      kinds,
      entry: (role) => (role === "store" && isStoreKilled ? testWorker("answer-forgetting-store") : workerEntry(role)),
    })
    using workload = new OwnerWorkload(recorded.sandbox, seed)
    await recorded.ready()
    workload.start(perSecond)
    const { store, owners } = recorded.actors
    const resolver = owners.needed()
    const victims = isStoreKilled ? [resolver, store] : [resolver]
    let inFlight = 0
    let duplicates = 0
    const look = async (): Promise<void> => {
      inFlight = Math.max(inFlight, (await resolver.metrics())?.outboxes[mailbox]?.unacknowledgedFrames ?? 0)
    }
    for (let round = 0; round < killsEach; round++) {
      for (const victim of victims) {
        await workload.moment(300)
        await look()
        if (victim === store) duplicates += await duplicatesOf(recorded)
        await killed(victim)
      }
    }
    // The random kills nearly always hit answers in flight and answers that are delivered twice; continue until they have.
    for (let attempt = 0; inFlight === 0 && attempt < 50; attempt++) {
      await Effect.runPromise(resolver.running())
      await workload.moment(300)
      await look()
    }
    for (let attempt = 0; isStoreKilled && duplicates === 0 && attempt < 50; attempt++) {
      await answersTaken(recorded)
      duplicates += await duplicatesOf(recorded)
      await workload.moment(300)
      await killed(store)
    }
    // So few rounds may meet few owners of another kind, and few pods of Deployments.
    const hasMetFew = (): boolean =>
      askedIn(recorded).size <= 2 * killsEach || podsOfDeployments(recorded) <= 10 * killsEach
    for (let attempt = 0; hasMetFew() && attempt < 50; attempt++) await workload.moment(300)
    workload.stop()
    await recorded.caughtUp(30_000)
    const ledger = new LedgerOwnership(recorded.sandbox)
    const pods = recorded.sandbox.ledger.of(ownerKinds.pod)
    const asked = askedIn(recorded)
    await allKnown(recorded, asked)

    const reader = ArchiveReader.open(recorded.directory)
    for (const uid of asked) {
      expect(answerAbout(reader, uid)).toMatchObject({ source: "learnt", ownerReferences: ledger.of(uid) })
    }
    for (const { uid } of pods) {
      expect(reader.ownersOf({ ...pod, uid })).toMatchObject({ source: "recorded", ownerReferences: ledger.of(uid) })
    }
    reader.close()
    const trace = await exportedTrace(recorded)
    const above = pods.map(({ uid, name }) => ({ name, owner: ledger.above(uid, "Deployment")?.name }))
    expect(trace.objects.filter((line) => line.startsWith(ownerKinds.pod))).toEqual(
      above.flatMap(({ name, owner }) => (owner === undefined ? [`${ownerKinds.pod} shop/${name}`] : [])).sort(),
    )
    // A pod's name ends with a number that also determines its start.
    expect(trace.lifecycles).toEqual(
      above
        .flatMap(({ name, owner }) => {
          const start = 1_700_000_000 + Number(name.slice("pod-".length))
          return owner === undefined ? [] : [`${ownerKinds.deployment} shop/${owner} ${start}-`]
        })
        .sort(),
    )
    expect(asked.size).toBeGreaterThan(2 * killsEach)
    expect(trace.lifecycles.length).toBeGreaterThan(10 * killsEach)
    expect(inFlight).toBeGreaterThan(0)
    expect(duplicates > 0).toBe(isStoreKilled)
    for (const victim of victims) expect(victim.restarts).toBeGreaterThanOrEqual(killsEach)
  },
)

const replicaSet = { apiVersion: "apps/v1", kind: "ReplicaSet" }
const app = { apiVersion: "example.com/v1", kind: "App" }
const pod = { apiVersion: "v1", kind: "Pod" }

/** UIDs of the owners above pods that are not recorded themselves: those that the resolver has to look up. */
const askedIn = ({ sandbox }: RecordedSandbox): ReadonlySet<string> => {
  const pods = sandbox.ledger.of(ownerKinds.pod).map(({ uid }) => uid)
  return new LedgerOwnership(sandbox).aboveOtherThan(pods, "Deployment")
}

const podsOfDeployments = ({ sandbox }: RecordedSandbox): number => {
  const ownership = new LedgerOwnership(sandbox)
  return sandbox.ledger.of(ownerKinds.pod).filter(({ uid }) => ownership.above(uid, "Deployment") !== undefined).length
}

/** What is known of an owner of either kind. */
const answerAbout = (reader: ArchiveReader, uid: string) =>
  reader.ownersOf({ ...replicaSet, uid }) ?? reader.ownersOf({ ...app, uid })

/** Waits until the database knows the owners of every owner. */
const allKnown = async (recorded: RecordedSandbox, uids: ReadonlySet<string>): Promise<void> => {
  const reader = ArchiveReader.open(recorded.directory)
  const missing = (): number => [...uids].filter((uid) => answerAbout(reader, uid) === undefined).length
  try {
    await until(
      async () => missing() === 0,
      () => `${missing()} of ${uids.size} owners to be known`,
      40_000,
    )
  } finally {
    reader.close()
  }
}

/** The whole recording in SimKube's format, through the exporter. */
const exportedTrace = async (recorded: RecordedSandbox) => {
  const job = exportJob([], {
    ...{ format: "simkube", excludeOwned: true, excludeDaemonSetOwned: true, recordedKinds: recordedWhole(kinds) },
    trackedObjects: {
      [ownerKinds.deployment]: { podSpecTemplatePaths: ["/spec/template"], trackLifecycle: true, skipOwned: false },
      [ownerKinds.pod]: { podSpecTemplatePaths: [""], trackLifecycle: false, skipOwned: false },
    },
  })
  return readTrace(await recorded.exportOf(job))
}

/** Waits until the store's present life has received answers. */
const answersTaken = async ({ actors }: RecordedSandbox): Promise<void> => {
  await Effect.runPromise(actors.store.running())
  const given = async (): Promise<number> => (await actors.store.metrics())?.inboxes[mailbox]?.receivedFrames ?? 0
  await until(async () => (await given()) > 0, "answers about owners")
}

/** Kills a life, even while it is starting; between two lives there is nothing to kill. */
const killed = async (victim: { readonly thread: unknown; kill(): Promise<void> }): Promise<void> => {
  await until(async () => victim.thread !== undefined, "the next life")
  await victim.kill()
}

/** Frames of answers that were delivered to the store's present life again although they were committed. */
const duplicatesOf = async ({ actors }: RecordedSandbox): Promise<number> =>
  (await actors.store.metrics())?.inboxes[mailbox]?.duplicateFrames ?? 0
