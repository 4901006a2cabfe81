/** The set of kinds is changed while recording: only what the change concerns is touched, and nothing is lost. */
import { randomBytes } from "node:crypto"
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { afterEach, expect, test } from "vitest"
import { ArchiveReader, readCoverage } from "../../../src/archive/index.ts"
import { defaultDetect, defaultIgnore } from "../../../src/kube/index.ts"
import { loadConfiguration } from "../../../src/recorder/configuration/load-configuration.ts"
import { watchConfiguration } from "../../../src/recorder/configuration/reload/configuration-watch.ts"
import { coverageOf } from "../../../src/recorder/export/coverage.ts"
import { gatherMetrics } from "../../../src/recorder/metrics/recorder-metrics.ts"
import { rounds } from "../../harness/effort.ts"
import { patient } from "../../harness/patience.ts"
import { limitFiles, unlimited } from "../recorder/file-limit.ts"
import { until } from "../recorder/recorder-command.ts"
import { PodWorkload } from "./pod-workload.ts"
import { type Change, differences, ledgerOf, RecordedSandbox, tracked } from "./recorded-sandbox.ts"
import { Workload } from "./workload.ts"

const seed = Number(process.env.KUBEREEL_TEST_SEED ?? Date.now() % 1_000_000)
const kills = rounds(12)
const deployments = "apps/v1.Deployment"
const statefulSets = "apps/v1.StatefulSet"
const configMaps = "v1.ConfigMap"
const jobs = "batch/v1.Job"
const pods = "v1.Pod"
const lives = "lifecycle/v1.Pod"

/** Number of watches opened; one of them may begin with all objects instead of a list. */
const watches = ({ sandbox }: RecordedSandbox, resource: string): number =>
  sandbox.requests.count({ verb: "watch", resource })

/** Number of requests for all objects. A resuming watcher only requests the current version, with `limit=1`. */
const lists = ({ sandbox }: RecordedSandbox, resource: string): number =>
  sandbox.requests
    .entries({ resource })
    .filter(({ verb, query }) => (verb === "list" && query !== "limit=1") || query.includes("sendInitialEvents=true"))
    .length

const lastVersion = ({ sandbox }: RecordedSandbox, gvk: string): bigint =>
  BigInt(sandbox.ledger.of(gvk).at(-1)?.resourceVersion ?? 0)

const inPlace = async (recorded: RecordedSandbox): Promise<void> => {
  await until(
    async () => recorded.actors.statuses.all().every(({ state }) => state === "watching"),
    () => recorded.actors.statuses.verboseReadiness(),
  )
}

const eventsReach = (workload: Workload, events: number): Promise<void> =>
  until(
    async () => workload.events >= events,
    () => `${events} events`,
  )

/** Gaps of all kinds, including those that are no longer recorded. */
const gapsOf = (recorded: RecordedSandbox): ReadonlyArray<string> => {
  const reader = ArchiveReader.open(recorded.directory)
  try {
    return reader.gaps().map(({ gvk, reason }) => `${gvk} ${reason}`)
  } finally {
    reader.close()
  }
}

/**
 * Checks whether a recording is complete that began with a list at some version up to `latest`: returns the differences for the best guess
 * of that version, `[]` if there are none.
 */
const unexplained = (
  found: ReadonlyArray<Change>,
  ledger: ReadonlyArray<Change>,
  latest: bigint,
): ReadonlyArray<string> => {
  const versions = new Set(found.map(({ resourceVersion }) => resourceVersion))
  let best: ReadonlyArray<string> = ["no list was made"]
  const listed = new Map<string, string>()
  ledger.forEach(({ uid, action, resourceVersion }, index) => {
    if (BigInt(resourceVersion) > latest) return
    if (action === "applied") listed.set(uid, resourceVersion)
    else listed.delete(uid)
    const wanted = new Set([...listed.values(), ...ledger.slice(index + 1).map((change) => change.resourceVersion)])
    const wrong = [
      ...[...wanted].filter((version) => !versions.has(version)).map((version) => `missing ${version}`),
      ...[...versions].filter((version) => !wanted.has(version)).map((version) => `not in the list: ${version}`),
    ]
    if (index === 0 || wrong.length < best.length) best = wrong
  })
  return best
}

test(`at 1,000 events/s a kind is added, one removed, one changed, and lifecycles switched on, without affecting the others (seed ${seed})`, {
  timeout: patient(60_000),
}, async () => {
  await using recorded = await RecordedSandbox.start({
    kinds: [tracked(deployments), tracked(statefulSets), tracked(configMaps, "content")],
  })
  const { sandbox, actors } = recorded
  let end: unknown
  void Effect.runPromiseExit(actors.ended).then((exit) => {
    end = exit
  })
  using workload = new Workload(sandbox, [deployments, statefulSets, configMaps, jobs], seed)
  using podWorkload = new PodWorkload(sandbox, seed)
  await recorded.ready()
  workload.start(1000)
  podWorkload.start(100)
  await eventsReach(workload, 400)
  const deploymentWatcher = actors.watchers[0]?.watcher
  const life = deploymentWatcher?.incarnation
  const before = lastVersion(recorded, statefulSets)
  await recorded.reached(statefulSets, before)
  const outcome = await actors.reconfigure([
    { ...tracked(deployments), trackLifecycle: true },
    { ...tracked(configMaps, "content"), ignore: ["/metadata/annotations"] },
    tracked(jobs),
  ])
  expect(outcome).toMatchObject({
    added: [jobs, lives],
    restarted: [configMaps],
    kept: [deployments],
    removed: [{ gvk: statefulSets, isDrained: true }],
    isComplete: true,
  })
  expect(actors.watchers.map(({ gvk }) => gvk)).toEqual([deployments, configMaps, jobs, lives])
  expect(actors.statuses.all().map(({ gvk }) => gvk)).toEqual([deployments, configMaps, jobs, lives])
  expect(actors.podStream).toBe(lives)
  expect(actors.kinds.map(({ gvkText }) => gvkText)).toEqual([deployments, configMaps, jobs])
  await inPlace(recorded)
  const listedAt = sandbox.resourceVersion
  // Long enough for the store to check whether its files are still the ones it writes to.
  await eventsReach(workload, workload.events + 1500)
  workload.stop()
  podWorkload.stop()
  await recorded.caughtUp()
  await recorded.reached(lives, lastVersion(recorded, pods))

  const exported = await recorded.export()
  for (const gvk of [deployments, configMaps]) {
    expect(differences(exported.changes, ledgerOf(sandbox, gvk), gvk)).toEqual({})
  }
  expect(gapsOf(recorded)).toEqual([])
  // The kind that stayed: the same life, the same stream. The kind that was changed resumed.
  expect(actors.watchers[0]?.watcher).toBe(deploymentWatcher)
  expect(deploymentWatcher?.incarnation).toBe(life)
  expect([watches(recorded, "deployments"), lists(recorded, "deployments")]).toEqual([1, 1])
  expect([watches(recorded, "configmaps"), lists(recorded, "configmaps")]).toEqual([2, 1])
  expect([watches(recorded, "jobs"), lists(recorded, "jobs")]).toEqual([1, 1])
  expect([watches(recorded, "pods"), lists(recorded, "pods")]).toEqual([1, 1])
  expect(sandbox.watchCount("statefulsets")).toBe(0)
  // The added kind contains all of its list and everything afterwards.
  const ofJobs = exported.changes.filter(({ gvk }) => gvk === jobs)
  expect(unexplained(ofJobs, ledgerOf(sandbox, jobs), BigInt(listedAt))).toEqual([])
  expect(ofJobs.length).toBeGreaterThan(50)
  const reader = ArchiveReader.open(recorded.directory)
  expect([...reader.podLives({ cut: reader.cut() })].length).toBeGreaterThan(10)
  reader.close()
  // The removed kind is complete up to the reported point, and reports no more than that.
  const { throughVersion = "", untilMicros = 0 } = outcome.removed[0]?.complete ?? {}
  expect(BigInt(throughVersion)).toBeGreaterThanOrEqual(before)
  const now = Date.now() * 1000
  const coverage = coverageOf(
    readCoverage(recorded.directory, { fromTime: 0, untilTime: now }),
    actors.statuses.all(),
    { start: 0, end: now },
    now,
  )
  const removed = coverage.kinds.find(({ gvk }) => gvk === statefulSets)
  expect(removed).toMatchObject({ state: "untracked", gaps: [] })
  expect(removed?.ranges.map(({ end }) => end)).toEqual([untilMicros + 1])
  const series = (await Effect.runPromise(gatherMetrics(actors, now))).find(
    ({ name }) => name === "kubereel_kind_watches_total",
  )
  expect(series?.samples.map(({ labels }) => labels?.kind)).toEqual([deployments, configMaps, jobs, lives])

  // It is added again: the server still has the changes made meanwhile, so nothing is missing, and nothing was listed again.
  const back = await actors.reconfigure([tracked(deployments), tracked(statefulSets)])
  expect(back).toMatchObject({ added: [statefulSets], restarted: [], kept: [deployments] })
  expect(back.removed.map(({ gvk }) => gvk)).toEqual([configMaps, jobs, lives])
  await recorded.caughtUp()
  const whole = await recorded.export()
  expect(differences(whole.changes, ledgerOf(sandbox, statefulSets), statefulSets)).toEqual({})
  const resumed = ledgerOf(sandbox, statefulSets).filter(
    ({ resourceVersion }) => BigInt(resourceVersion) > BigInt(throughVersion),
  )
  expect(resumed.length).toBeGreaterThan(50)
  expect(lists(recorded, "statefulsets")).toBe(1)
  expect(watches(recorded, "deployments")).toBe(1)
  expect(gapsOf(recorded)).toEqual([])
  expect([end, actors.store.restarts]).toEqual([undefined, 0])
})

test("lifecycles switched on while Pods are recorded restart only the watcher of Pods, with a gap in that kind at most", async () => {
  await using recorded = await RecordedSandbox.start({ kinds: [tracked(deployments), tracked(pods)] })
  const { sandbox, actors } = recorded
  using workload = new Workload(sandbox, [deployments], seed)
  using podWorkload = new PodWorkload(sandbox, seed)
  await recorded.ready()
  workload.start(500)
  podWorkload.start(500)
  await eventsReach(workload, 150)
  const outcome = await actors.reconfigure([{ ...tracked(deployments), trackLifecycle: true }, tracked(pods)])
  expect(outcome).toMatchObject({ added: [], restarted: [pods], kept: [deployments], removed: [] })
  expect(actors.podStream).toBe(pods)
  await inPlace(recorded)
  await eventsReach(workload, workload.events + 150)
  workload.stop()
  podWorkload.stop()
  await recorded.caughtUp()
  const exported = await recorded.export()
  expect(differences(exported.changes, ledgerOf(sandbox, deployments), deployments)).toEqual({})
  expect(watches(recorded, "deployments")).toBe(1)
  const inGap = ({ resourceVersion }: Change): boolean =>
    exported.gaps.some(
      ({ fromVersion, toVersion }) =>
        BigInt(resourceVersion) > BigInt(fromVersion) && BigInt(resourceVersion) <= BigInt(toVersion),
    )
  const outside = (changes: ReadonlyArray<Change>) => changes.filter((change) => !inGap(change))
  expect(differences(outside(exported.changes), outside(ledgerOf(sandbox, pods)), pods)).toEqual({})
  expect(exported.gaps.every(({ gvk, reason }) => gvk === pods && reason === "stopped")).toBe(true)
  const reader = ArchiveReader.open(recorded.directory)
  const found = new Map([...reader.podLives({ cut: reader.cut() })].map((each) => [each.uid, each]))
  reader.close()
  // Every pod that exists and has run is followed, with the end in its last status.
  const running = [...podWorkload.stories].filter(([, { isGone }]) => !isGone)
  expect(running.length).toBeGreaterThan(10)
  for (const [uid, { end }] of running) expect([uid, found.get(uid)?.end]).toEqual([uid, end])
})

test("a kind that is added again after the server has dropped its history leaves a gap", async () => {
  await using recorded = await RecordedSandbox.start({
    kinds: [tracked(deployments), tracked(configMaps)],
    sandbox: { historyLimit: 20 },
  })
  const { actors, sandbox } = recorded
  const workload = new Workload(sandbox, [configMaps], seed)
  await recorded.ready()
  for (let index = 0; index < 20; index++) workload.step()
  await recorded.caughtUp()
  await actors.reconfigure([tracked(deployments)])
  for (let index = 0; index < 100; index++) workload.step()
  await actors.reconfigure([tracked(deployments), tracked(configMaps)])
  // It is briefly "watching": the server accepts the watch before it finds that its history is gone.
  await until(async () => gapsOf(recorded).length > 0, "a gap to be recorded")
  await inPlace(recorded)
  expect(gapsOf(recorded)).toEqual([`${configMaps} expired`])
  expect(watches(recorded, "deployments")).toBe(1)
})

test("concurrent changes are made one after another, and the last one wins", async () => {
  await using recorded = await RecordedSandbox.start({ kinds: [tracked(deployments), tracked(configMaps)] })
  const { actors, sandbox } = recorded
  using workload = new Workload(sandbox, [deployments, configMaps], seed)
  await recorded.ready()
  workload.start(1000)
  await workload.moment(200)
  const outcomes = await Promise.all([
    actors.reconfigure([tracked(deployments)]),
    actors.reconfigure([tracked(deployments), tracked(configMaps)]),
    actors.reconfigure([tracked(deployments), tracked(configMaps)]),
  ])
  expect(outcomes).toMatchObject([
    { added: [], removed: [{ gvk: configMaps, isDrained: true }], kept: [deployments] },
    { added: [configMaps], removed: [], kept: [deployments] },
    { added: [], removed: [], restarted: [], kept: [deployments, configMaps] },
  ])
  await workload.moment(200)
  workload.stop()
  await recorded.caughtUp()
  const { changes, gaps } = await recorded.export()
  for (const gvk of [deployments, configMaps]) {
    expect(differences(changes, ledgerOf(sandbox, gvk), gvk)).toEqual({})
  }
  expect(gaps).toEqual([])
  // The one that is new may be cut on a busy machine, and begins again.
  expect(watches(recorded, "deployments")).toBe(1)
  expect(watches(recorded, "configmaps")).toBeGreaterThan(1)
})

test(`changes while the store is killed repeatedly lose and repeat nothing (seed ${seed})`, {
  timeout: patient(60_000),
}, async () => {
  await using recorded = await RecordedSandbox.start({ kinds: [tracked(deployments), tracked(configMaps)] })
  const { actors, sandbox } = recorded
  using workload = new Workload(sandbox, [deployments, configMaps, jobs], seed)
  await recorded.ready()
  workload.start(1000)
  for (let round = 0; round < kills; round++) {
    const kinds = round % 2 === 0 ? [tracked(deployments), tracked(jobs)] : [tracked(deployments), tracked(configMaps)]
    const change = actors.reconfigure(kinds)
    await workload.moment(60)
    await actors.store.kill()
    expect(await change).toMatchObject({ isComplete: true })
    await workload.moment(200)
  }
  await actors.reconfigure([tracked(deployments), tracked(configMaps), tracked(jobs)])
  workload.stop()
  await recorded.caughtUp()
  const { changes, gaps } = await recorded.export()
  for (const gvk of [deployments, configMaps]) {
    expect(differences(changes, ledgerOf(sandbox, gvk), gvk)).toEqual({})
  }
  const ofJobs = changes.filter(({ gvk }) => gvk === jobs)
  expect(ofJobs.length).toBeGreaterThan(0)
  expect(gaps.filter(({ gvk }) => gvk !== jobs)).toEqual([])
  expect(actors.store.restarts).toBeGreaterThan(kills / 2)
  expect(watches(recorded, "deployments")).toBe(1)
})

test("an added kind that the server does not have waits, and does not affect the others", async () => {
  await using recorded = await RecordedSandbox.start({ kinds: [tracked(deployments)] })
  const { actors, sandbox } = recorded
  await recorded.ready()
  await actors.reconfigure([tracked("example.com/v1.Widget"), tracked(deployments), tracked(jobs)])
  await recorded.inState("example.com/v1.Widget", "waiting")
  await recorded.inState(jobs, "watching")
  sandbox.put(jobs, { metadata: { namespace: "shop", name: "one" } })
  sandbox.put(deployments, { metadata: { namespace: "shop", name: "one" } })
  await recorded.caughtUp()
  const { changes } = await recorded.export()
  expect(changes.map(({ gvk }) => gvk).sort()).toEqual([deployments, jobs])
  const outcome = await actors.reconfigure([tracked(deployments)])
  expect(outcome.removed.map(({ gvk }) => gvk)).toEqual(["example.com/v1.Widget", jobs])
  expect(watches(recorded, "deployments")).toBe(1)
})

test("owners of a kind that is no longer recorded are looked up, and the store continues in the same life", async () => {
  const replicaSets = "apps/v1.ReplicaSet"
  await using recorded = await RecordedSandbox.start({ kinds: [tracked(pods), tracked(replicaSets)] })
  const { actors, sandbox } = recorded
  const ownedPod = (name: string): void => {
    const { metadata } = sandbox.put(replicaSets, { metadata: { namespace: "shop", name } })
    const owner = { apiVersion: "apps/v1", kind: "ReplicaSet", name, uid: metadata.uid, controller: true }
    sandbox.put(pods, { metadata: { namespace: "shop", name, ownerReferences: [owner] } })
  }
  await recorded.ready()
  ownedPod("before")
  await recorded.caughtUp()
  expect(actors.owners.resolver).toBeUndefined()
  await actors.reconfigure([tracked(pods)])
  ownedPod("after")
  await recorded.caughtUp()
  const settled = await Effect.runPromise(actors.owners.settle(5000))
  expect(settled).toEqual({ unknown: 0, first: [] })
  const names = sandbox.requests.entries({ verb: "get", resource: "replicasets" }).map(({ name }) => name)
  expect(names).toEqual(["after"])
  // Recorded again: no owner is looked up, not by the running resolver either.
  await actors.reconfigure([tracked(pods), tracked(replicaSets)])
  await inPlace(recorded)
  ownedPod("again")
  await recorded.caughtUp()
  await Effect.runPromise(actors.owners.settle(5000))
  expect(watches(recorded, "pods")).toBe(1)
  expect(sandbox.requests.count({ verb: "get", resource: "replicasets" })).toBe(1)
  expect(actors.store.restarts).toBe(0)
})

test("a recording that is closed during a change closes in order", async () => {
  await using recorded = await RecordedSandbox.start({ kinds: [tracked(deployments), tracked(configMaps)] })
  await recorded.ready()
  const change = recorded.actors.reconfigure([tracked(deployments), tracked(jobs)])
  await recorded.stopRecording()
  expect(await change).toMatchObject({ isComplete: false })
  expect(await recorded.actors.reconfigure([tracked(configMaps)])).toMatchObject({ isComplete: false })
  expect(recorded.actors.closed()).toMatchObject({ unwritten: [] })
})

test("a change after the files were removed does not start another recording in their place", async () => {
  const recorded = await RecordedSandbox.start({ kinds: [tracked(deployments)] })
  const elsewhere = `${recorded.directory}-elsewhere`
  try {
    await inPlace(recorded)
    renameSync(recorded.directory, elsewhere)
    mkdirSync(recorded.directory)
    const ended = Effect.runPromise(Effect.flip(recorded.actors.ended))
    void recorded.actors.reconfigure([tracked(deployments), tracked(jobs)])
    expect(await ended).toMatchObject({ _tag: "RecordingGone" })
    expect(existsSync(join(recorded.directory, "recording.db"))).toBe(false)
  } finally {
    await recorded.close()
    rmSync(elsewhere, { recursive: true })
  }
})

afterEach(() => limitFiles("unlimited"))

test("a change while the disk is full is made nevertheless, and loses nothing", {
  timeout: patient(40_000),
}, async () => {
  await using recorded = await RecordedSandbox.start({ kinds: [tracked(deployments), tracked(configMaps)] })
  const { actors, sandbox } = recorded
  const fill = (count: number): void => {
    for (let number = 0; number < count; number++) {
      const data = { text: randomBytes(15_000).toString("base64") }
      sandbox.put(configMaps, { metadata: { namespace: "shop", name: `object-${number}` }, data })
    }
  }
  const troubled = (wanted: boolean): Promise<void> =>
    until(
      async () => (actors.statuses.storeTrouble !== undefined) === wanted,
      () => `the store ${wanted ? "to refuse" : "to go on"}`,
    )
  using _ = unlimited
  await inPlace(recorded)
  fill(20)
  await recorded.caughtUp()
  limitFiles(1_000_000)
  fill(100)
  await troubled(true)
  // Its next life is linked, and has to wait for its stored state.
  const watcher = actors.watchers[1]?.watcher
  await watcher?.kill()
  await until(async () => watcher?.restarts === 1 && watcher.state === "running", "the watcher's next life")
  const outcome = await actors.reconfigure([tracked(deployments), tracked(jobs)])
  expect(outcome).toMatchObject({ added: [jobs], kept: [deployments], isComplete: true })
  // Where it ends is unknown before it is written.
  expect(outcome.removed.map(({ gvk, complete }) => [gvk, complete])).toEqual([[configMaps, undefined]])
  sandbox.put(jobs, { metadata: { namespace: "shop", name: "one" } })
  limitFiles("unlimited")
  await troubled(false)
  await recorded.caughtUp()
  await actors.reconfigure([tracked(deployments), tracked(jobs), tracked(configMaps)])
  await recorded.caughtUp()
  await inPlace(recorded)
  const { changes, gaps } = await recorded.export()
  expect(gaps).toEqual([])
  for (const gvk of [configMaps, jobs]) expect(differences(changes, ledgerOf(sandbox, gvk), gvk)).toEqual({})
  expect([actors.store.restarts, watches(recorded, "deployments")]).toEqual([0, 1])
})

test("a kind that is removed while its watcher waits to start does not block its next watcher", {
  timeout: patient(40_000),
}, async () => {
  await using recorded = await RecordedSandbox.start({ kinds: [tracked(deployments)] })
  const { actors, sandbox } = recorded
  using workload = new Workload(sandbox, [deployments], seed)
  const some = { ...tracked(jobs), namespaces: ["load"] }
  using _ = unlimited
  await inPlace(recorded)
  sandbox.put(deployments, { metadata: { namespace: "load", name: "one" } })
  await recorded.caughtUp()
  limitFiles(statSync(join(recorded.directory, "recording.db-wal")).size)
  // The store cannot write that a watcher starts, and the call is repeated.
  for (let round = 0; round < 6; round++) {
    await actors.reconfigure([tracked(deployments), some])
    await workload.moment(150)
    await actors.reconfigure([tracked(deployments)])
  }
  await actors.reconfigure([tracked(deployments), some])
  await workload.moment(150)
  limitFiles("unlimited")
  await inPlace(recorded)
  // By now each stopped one would have repeated its call.
  workload.start(100)
  await eventsReach(workload, 80)
  workload.stop()
  sandbox.put(jobs, { metadata: { namespace: "load", name: "one" } })
  await recorded.caughtUp()
  expect(differences((await recorded.export()).changes, ledgerOf(sandbox, jobs), jobs)).toEqual({})
})

test("a changed ConfigMap volume is applied; an invalid one changes nothing", async () => {
  const volume = mkdtempSync(join(tmpdir(), "kubereel-volume-"))
  const file = join(volume, "config.yml")
  const publish = (version: number, text: string): void => {
    mkdirSync(join(volume, `..${version}`))
    writeFileSync(join(volume, `..${version}`, "config.yml"), text)
    symlinkSync(`..${version}`, join(volume, "..data_tmp"))
    renameSync(join(volume, "..data_tmp"), join(volume, "..data"))
  }
  publish(1, `trackedObjects: {${deployments}: {}}`)
  symlinkSync("..data/config.yml", file)
  const load = { defaults: { defaultDetect, defaultIgnore } }
  const { configuration } = await Effect.runPromise(loadConfiguration(file, load))
  const recorded = await RecordedSandbox.start({ kinds: configuration.kinds })
  const { actors } = recorded
  const errors: Array<string> = []
  const scope = Scope.makeUnsafe()
  const watch = watchConfiguration({
    ...{ file, configuration, load, pollMs: 20 },
    noticed: (change) =>
      Effect.sync(() => {
        if (change.tag === "changed") void actors.reconfigure(change.configuration.kinds)
        if (change.tag === "invalid") errors.push(change.error.message)
      }),
  })
  await Effect.runPromise(watch.pipe(Effect.provideService(Scope.Scope, scope)))
  try {
    await recorded.ready()
    publish(2, `trackedObjects: {${deployments}: {}, ${jobs}: {}}`)
    await until(async () => actors.statuses.all().length === 2, "the added kind")
    await inPlace(recorded)
    publish(3, `trackedObjects: {${deployments}: {detect: sometimes}}`)
    await until(async () => errors.length > 0, "the mistake")
    expect(errors).toEqual([expect.stringMatching(/config\.yml:1:\d+: detect of apps\/v1\.Deployment is "sometimes"/)])
    expect(actors.statuses.all().map(({ gvk, state }) => `${gvk} ${state}`)).toEqual([
      `${deployments} watching`,
      `${jobs} watching`,
    ])
    expect([watches(recorded, "deployments"), watches(recorded, "jobs")]).toEqual([1, 1])
  } finally {
    await Effect.runPromise(Scope.close(scope, Exit.void))
    await recorded.close()
    rmSync(volume, { recursive: true })
  }
})
