/** Pod lifecycles, recorded by real workers that are killed, restarted, and reconfigured to start or stop following pods. */

import * as Effect from "effect/Effect"
import { describe, expect, test } from "vitest"
import { ArchiveReader } from "../../../src/archive/index.ts"
import type { RecordedPodLife } from "../../../src/archive/rows/pod-table.ts"
import { gatherMetrics } from "../../../src/recorder/metrics/recorder-metrics.ts"
import { workerEntry } from "../../../src/recorder/recording/worker-entries.ts"
import { load, rounds } from "../../harness/effort.ts"
import { patient } from "../../harness/patience.ts"
import { testWorker } from "../../harness/test-worker.ts"
import { until } from "../recorder/recorder-command.ts"
import { PodWorkload } from "./pod-workload.ts"
import { RecordedSandbox, type RecordedSandboxOptions, tracked } from "./recorded-sandbox.ts"

const perSecond = load(2000)

const seed = Number(process.env.KUBEREEL_TEST_SEED ?? Date.now() % 1_000_000)
const lives = "lifecycle/v1.Pod"

/** Pods are recorded, and followed on the same stream. */
const shared = [{ ...tracked("v1.Pod"), trackLifecycle: true }]
/** Pods are followed alone. */
const alone = [{ ...tracked("apps/v1.Deployment"), trackLifecycle: true }]
/** Pods are recorded and not followed. */
const unfollowed = [tracked("v1.Pod")]

/** With the number of kills of watcher and store. A watcher of recorded Pods is also killed with the others (kills.test.ts). */
const streams = [
  ["v1.Pod", rounds(8), shared],
  [lives, rounds(20), alone],
] as const

const recordedLives = (recorded: RecordedSandbox): ReadonlyArray<RecordedPodLife> => {
  const reader = ArchiveReader.open(recorded.directory)
  try {
    return [...reader.podLives({ cut: reader.cut() })]
  } finally {
    reader.close()
  }
}

const gapsOf = (recorded: RecordedSandbox) => {
  const reader = ArchiveReader.open(recorded.directory)
  try {
    return reader.gaps()
  } finally {
    reader.close()
  }
}

/** Waits until every change of pods in the sandbox is committed. */
const caughtUp = async (recorded: RecordedSandbox, stream: string): Promise<void> => {
  const last = recorded.sandbox.ledger.of("v1.Pod").at(-1)
  if (last !== undefined) await recorded.reached(stream, BigInt(last.resourceVersion), 30_000)
}

/**
 * What should have been recorded according to the workload, and what was; the end of a pod that was deleted while running is from our
 * clock.
 */
const compared = (recorded: RecordedSandbox, workload: PodWorkload, fromSeconds: number) => {
  const found = recordedLives(recorded).map(({ uid, start, end }) => {
    const story = workload.stories.get(uid)
    const isOurs = story?.isGone === true && story.end === undefined && end !== undefined && end >= fromSeconds
    return `${uid} ${start} ${isOurs ? "told" : end}`
  })
  const wanted = [...workload.stories].map(
    ([uid, { start, end, isGone }]) => `${uid} ${start} ${end ?? (isGone ? "told" : undefined)}`,
  )
  return { found: found.sort(), wanted: wanted.sort() }
}

test.each(streams)(
  `the watcher of %s and the store, killed %d times at ${perSecond} events/s, lose and repeat no life (seed ${seed})`,
  {
    timeout: patient(180_000),
  },
  async (stream, killsEach, kinds) => {
    console.log(`kill test of ${stream}: KUBEREEL_TEST_SEED=${seed}`)
    await using recorded = await RecordedSandbox.start({
      kinds,
      entry: (role) => (role === "store" ? testWorker("forgetful-store") : workerEntry(role)),
    })
    using workload = new PodWorkload(recorded.sandbox, seed)
    const fromSeconds = Math.floor(Date.now() / 1000) - 1
    await recorded.ready()
    workload.start(perSecond)
    const { store, watchers } = recorded.actors
    const watcher = watchers.find(({ gvk }) => gvk === stream)?.watcher
    if (watcher === undefined) throw new Error(`nothing watches ${stream}`)
    let redelivered = 0
    let duplicates = 0
    const look = async (): Promise<void> => {
      redelivered = Math.max(redelivered, (await watcher.metrics())?.outboxes.observations?.redeliveredFrames ?? 0)
      duplicates += (await store.metrics())?.inboxes.observations?.duplicateFrames ?? 0
    }
    for (let round = 0; round < killsEach; round++) {
      for (const victim of [watcher, store]) {
        await workload.moment(250)
        if (victim === store) await look()
        await killed(victim)
      }
    }
    // The random kills nearly always hit frames in flight, one of them committed already; continue until they have.
    for (let attempt = 0; (duplicates === 0 || redelivered === 0) && attempt < 50; attempt++) {
      await Promise.all([watcher, store].map((victim) => Effect.runPromise(victim.running())))
      await workload.moment(250)
      await killed(store)
      await Effect.runPromise(store.running())
      await workload.moment(250)
      await look()
    }
    workload.stop()
    await caughtUp(recorded, stream)
    expect(gapsOf(recorded)).toEqual([])
    const { found, wanted } = compared(recorded, workload, fromSeconds)
    expect(found).toEqual(wanted)
    expect(workload.stories.size).toBeGreaterThan(perSecond / 10)
    expect(redelivered).toBeGreaterThan(0)
    expect(duplicates).toBeGreaterThan(0)
    expect([watcher.restarts, store.restarts].every((restarts) => restarts >= killsEach)).toBe(true)
    const owned = recordedLives(recorded).filter(({ ownerReferences }) => ownerReferences.length > 0)
    expect(owned.length).toBeGreaterThan(perSecond / 50)
  },
)

test.each(streams)(
  `with a history of 50 events, what %s misses lies in gaps, and pods that exist are right (seed ${seed})`,
  {
    timeout: patient(180_000),
  },
  async (stream, _, kinds) => {
    await using recorded = await RecordedSandbox.start({ kinds, sandbox: { historyLimit: 50 } })
    using workload = new PodWorkload(recorded.sandbox, seed + 1)
    await recorded.ready()
    workload.start(1500)
    const watcher = recorded.actors.watchers.find(({ gvk }) => gvk === stream)?.watcher
    for (let round = 0; round < 8; round++) {
      await workload.moment(250)
      if (watcher !== undefined) await killed(watcher)
    }
    workload.stop()
    await caughtUp(recorded, stream)
    const gaps = gapsOf(recorded).filter(({ gvk }) => gvk === stream)
    expect(gaps.length).toBeGreaterThan(0)
    const found = new Map(recordedLives(recorded).map((life) => [life.uid, life]))
    for (const [uid, { end, isGone }] of workload.stories) {
      if (!isGone) expect([uid, found.get(uid)?.end]).toEqual([uid, end])
      else if (found.has(uid)) expect(found.get(uid)?.end).toBeDefined()
    }
    for (const uid of found.keys()) expect(workload.stories.has(uid)).toBe(true)
  },
)

describe("switching lifecycles on and off", () => {
  test("causes one list, leaves a truthful gap, and continues without one on whichever stream comes next", {
    timeout: patient(40_000),
  }, async () => {
    let recorded = await RecordedSandbox.start({ kinds: unfollowed })
    const { sandbox, directory } = recorded
    const again = async (kinds: RecordedSandboxOptions["kinds"], stream: string): Promise<void> => {
      await recorded.stopRecording()
      for (let step = 0; step < 40; step++) workload.step()
      recorded = await RecordedSandbox.of(sandbox, { kinds, directory })
      await recorded.ready()
      await caughtUp(recorded, stream)
    }
    const fromSeconds = Math.floor(Date.now() / 1000) - 1
    const workload = new PodWorkload(sandbox, 11)
    try {
      await recorded.ready()
      for (let step = 0; step < 200; step++) workload.step()
      await caughtUp(recorded, "v1.Pod")
      expect(recordedLives(recorded)).toEqual([])

      await again(shared, "v1.Pod")
      expect(gapsOf(recorded).map(({ gvk, reason }) => `${gvk} ${reason}`)).toEqual(["v1.Pod stopped"])
      const living = [...workload.stories].filter(([, { isGone }]) => !isGone)
      expect(
        recordedLives(recorded)
          .map(({ uid }) => uid)
          .sort(),
      ).toEqual(living.map(([uid]) => uid).sort())
      const missed = new Set([...workload.stories].flatMap(([uid, { isGone }]) => (isGone ? [uid] : [])))

      // Nothing more is missing: resumed on the same stream, on a separate one, and back.
      for (const [kinds, stream] of [
        [shared, "v1.Pod"],
        [alone, lives],
      ] as const) {
        await again(kinds, stream)
        expect(gapsOf(recorded)).toHaveLength(1)
      }
      const { found, wanted } = compared(recorded, workload, fromSeconds)
      const seen = wanted.filter((line) => !missed.has(line.split(" ")[0] ?? ""))
      expect(found.map((line) => line.split(" ")[0])).toEqual(seen.map((line) => line.split(" ")[0]))
      expect(found.map((line) => line.split(" ")[2])).toEqual(seen.map((line) => line.split(" ")[2]))

      // v1.Pod was not recorded meanwhile: its own history has a gap now, and that of lifecycles gets one with the list.
      await again(shared, "v1.Pod")
      expect(
        gapsOf(recorded)
          .slice(1)
          .map(({ gvk }) => gvk)
          .sort(),
      ).toEqual([lives, "v1.Pod"].sort())
      await again(unfollowed, "v1.Pod")
      await again(shared, "v1.Pod")
      expect(gapsOf(recorded)).toHaveLength(5)
    } finally {
      await recorded.close()
    }
  })
})

test("pods are followed from the start, before their owners are seen too (W-32), and the watcher is named", async () => {
  const kinds = [{ ...tracked("ml.example.com/v1.Training"), trackLifecycle: true }]
  await using recorded = await RecordedSandbox.start({ kinds })
  const workload = new PodWorkload(recorded.sandbox, 5)
  for (let step = 0; step < 150; step++) workload.step()
  await recorded.inState("ml.example.com/v1.Training", "waiting")
  await recorded.inState(lives, "watching")
  await caughtUp(recorded, lives)
  const { found, wanted } = compared(recorded, workload, 0)
  expect(found.length).toBeGreaterThan(10)
  const existing = new Set(found.map((line) => line.split(" ")[0]))
  expect(wanted.filter((line) => existing.has(line.split(" ")[0]))).toHaveLength(found.length)
  expect(recorded.actors.statuses.verboseReadiness()).toContain("[+]lifecycle/v1.Pod watching")
  const metrics = await Effect.runPromise(gatherMetrics(recorded.actors, Date.now() * 1000))
  const followed = metrics.find(({ name }) => name === "kubereel_followed_pods")?.samples
  const alive = [...workload.stories.values()].filter(({ isGone }) => !isGone).length
  expect(followed).toEqual([{ labels: { kind: lives }, value: alive }])
})

/** Kills a life, even while it is starting; between two lives there is nothing to kill. */
const killed = async (victim: {
  readonly thread: unknown
  kill(): Promise<void>
  running(): Effect.Effect<unknown, unknown>
}): Promise<void> => {
  await until(async () => victim.thread !== undefined, "the next life")
  await victim.kill()
}
