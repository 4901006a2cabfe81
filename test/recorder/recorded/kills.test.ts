/** Each actor is killed repeatedly under load; the export must equal the server's ledger. */

import * as Effect from "effect/Effect"
import { expect, test } from "vitest"
import { workerEntry } from "../../../src/recorder/recording/worker-entries.ts"
import { load, rounds } from "../../harness/effort.ts"
import { patient } from "../../harness/patience.ts"
import { testWorker } from "../../harness/test-worker.ts"
import { until } from "../recorder/recorder-command.ts"
import { differences, ledgerOf, RecordedSandbox, tracked } from "./recorded-sandbox.ts"
import { Workload } from "./workload.ts"

const perSecond = load(2000)

const kinds = ["apps/v1.Deployment", "v1.ConfigMap"]
const seed = Number(process.env.KUBEREEL_TEST_SEED ?? Date.now() % 1_000_000)
const killsEach = rounds(20)

test(`every actor killed ${killsEach} times at ${perSecond} events/s loses and repeats nothing (seed ${seed})`, {
  timeout: patient(180_000),
}, async () => {
  console.log(`kill test: KUBEREEL_TEST_SEED=${seed}`)
  await using recorded = await RecordedSandbox.start({
    kinds: kinds.map((gvk) => tracked(gvk)),
    entry: (role) => (role === "store" ? testWorker("forgetful-store") : workerEntry(role)),
  })
  using workload = new Workload(recorded.sandbox, kinds, seed)
  await recorded.ready()
  workload.start(perSecond)
  const { store, exports, watchers } = recorded.actors
  const victims = [store, exports.exporter(), ...watchers.map(({ watcher }) => watcher)]
  let redelivered = 0
  let duplicates = 0
  for (let round = 0; round < killsEach; round++) {
    for (const victim of workload.shuffled(victims)) {
      await workload.moment(300)
      redelivered = Math.max(redelivered, await redeliveredTo(recorded))
      if (victim === store) duplicates += await duplicatesOf(recorded)
      await killed(victim)
    }
  }
  // The random kills nearly always hit a frame that is committed and not acknowledged; continue until one has.
  for (let attempt = 0; duplicates === 0 && attempt < 50; attempt++) {
    await Promise.all(victims.map((victim) => Effect.runPromise(victim.running())))
    await workload.moment(300)
    await store.kill()
    await Effect.runPromise(store.running())
    await workload.moment(300)
    duplicates += await duplicatesOf(recorded)
  }
  workload.stop()
  await recorded.caughtUp(30_000)
  const exported = await recorded.export()
  expect(exported.gaps).toEqual([])
  for (const gvk of kinds) {
    expect(differences(exported.changes, ledgerOf(recorded.sandbox, gvk), gvk)).toEqual({})
  }
  // It went on under load for as long as the kills take at least, however slow the machine is.
  expect(workload.events).toBeGreaterThan(2.5 * perSecond)
  // Frames were in flight when the store was killed, and some of them it had committed already.
  expect(redelivered).toBeGreaterThan(0)
  expect(duplicates).toBeGreaterThan(0)
  for (const victim of victims) expect(victim.restarts).toBeGreaterThanOrEqual(killsEach)
})

test(`with a history of 50 events every missing range is a gap and nothing else is missing (seed ${seed})`, {
  timeout: patient(180_000),
}, async () => {
  await using recorded = await RecordedSandbox.start({
    kinds: kinds.map((gvk) => tracked(gvk)),
    sandbox: { historyLimit: 50 },
  })
  using workload = new Workload(recorded.sandbox, kinds, seed + 1)
  await recorded.ready()
  // More than the history holds while a watcher is away, also in an ordinary run.
  workload.start(2000)
  const { store, watchers } = recorded.actors
  const victims = [store, ...watchers.map(({ watcher }) => watcher)]
  for (let round = 0; round < killsEach; round++) {
    for (const victim of workload.shuffled(victims)) {
      await workload.moment(300)
      await killed(victim)
    }
  }
  workload.stop()
  await recorded.caughtUp(30_000)
  const exported = await recorded.export()
  for (const gvk of kinds) {
    const gaps = exported.gaps.filter((gap) => gap.gvk === gvk)
    const inGap = (version: string): boolean =>
      gaps.some(
        ({ fromVersion, toVersion }) => BigInt(version) > BigInt(fromVersion) && BigInt(version) <= BigInt(toVersion),
      )
    const ledger = ledgerOf(recorded.sandbox, gvk)
    const outside = (changes: ReturnType<typeof ledgerOf>) =>
      changes.filter(({ resourceVersion }) => !inGap(resourceVersion))
    const recordedChanges = exported.changes.filter((change) => change.gvk === gvk)
    // Outside of the gaps: everything, once, in order.
    expect(differences(outside(recordedChanges), outside(ledger), gvk)).toEqual({})
    // Inside: nothing that the server did not have, and no version twice.
    const known = new Set(ledger.map(({ uid, resourceVersion }) => `${uid} ${resourceVersion}`))
    const inside = recordedChanges
      .filter(({ action }) => action !== "vanished")
      .map(({ uid, resourceVersion }) => `${uid} ${resourceVersion}`)
    expect(inside.filter((version) => !known.has(version))).toEqual([])
    expect(new Set(inside).size).toBe(inside.length)
    // At the end both agree on the live objects.
    expect(aliveAfter(recordedChanges)).toEqual(aliveAfter(ledger))
    expect(gaps.length).toBeGreaterThan(0)
  }
})

/** Kills a life, even while it is starting; between two lives there is nothing to kill. */
const killed = async (victim: { readonly thread: unknown; kill(): Promise<void> }): Promise<void> => {
  await until(async () => victim.thread !== undefined, "the next life")
  await victim.kill()
}

const aliveAfter = (
  changes: ReadonlyArray<{ readonly uid: string; readonly action: string }>,
): ReadonlyArray<string> => {
  const alive = new Set<string>()
  for (const { uid, action } of changes) {
    if (action === "applied") alive.add(uid)
    else alive.delete(uid)
  }
  return [...alive].sort()
}

/** Frames that were delivered to the store's present life again although they were committed. */
const duplicatesOf = async (recorded: RecordedSandbox): Promise<number> => {
  const metrics = await recorded.actors.store.metrics()
  return metrics?.inboxes.observations?.duplicateFrames ?? 0
}

const redeliveredTo = async (recorded: RecordedSandbox): Promise<number> => {
  const all = await Promise.all(recorded.actors.watchers.map(({ watcher }) => watcher.metrics()))
  return all.reduce((sum, metrics) => sum + (metrics?.outboxes.observations?.redeliveredFrames ?? 0), 0)
}
