/** Watchers that share a worker: moves, crashes and the end of the worker cost no change of any of them. */
import { expect, test } from "vitest"
import { workerEntry } from "../../../src/recorder/recording/worker-entries.ts"
import { defaultSharing, type SharingPolicy } from "../../../src/recorder/watchers/placement.ts"
import { patient } from "../../harness/patience.ts"
import { testWorker } from "../../harness/test-worker.ts"
import { until } from "../recorder/recorder-command.ts"
import { differences, ledgerOf, RecordedSandbox, tracked } from "./recorded-sandbox.ts"
import { Workload } from "./workload.ts"

const busy = "apps/v1.Deployment"
const calm = ["apps/v1.StatefulSet", "v1.ConfigMap", "batch/v1.Job"]
const kinds = [busy, ...calm]

/** All share one worker. */
const together: SharingPolicy = { ...defaultSharing, aloneUpTo: 0, lookMs: 60_000 }

const expectComplete = async (recorded: RecordedSandbox): Promise<void> => {
  await recorded.caughtUp()
  const { changes, gaps } = await recorded.export()
  expect(gaps).toEqual([])
  for (const gvk of kinds) expect(differences(changes, ledgerOf(recorded.sandbox, gvk), gvk)).toEqual({})
}

const incarnations = ({ actors }: RecordedSandbox): Readonly<Record<string, number>> =>
  Object.fromEntries(actors.watchers.map(({ gvk, watcher }) => [gvk, watcher.incarnation]))

test("a busy kind moves to a worker of its own under load and back when it is calm, without a change lost or doubled", {
  timeout: patient(60_000),
}, async () => {
  const sharing = { ...together, lookMs: 100, busyShare: 0, busyBytesPerSecond: 20_000, calmLooks: 3 }
  const recorded = await RecordedSandbox.start({ kinds: kinds.map((gvk) => tracked(gvk)), sharing })
  const { sandbox, actors } = recorded
  const load = new Workload(sandbox, [busy], 1)
  const others = new Workload(sandbox, calm, 2)
  const sentences = (): ReadonlyArray<string> =>
    recorded.notices.flatMap((notice) => (notice.type === "placement" ? [notice.sentence] : []))
  try {
    await recorded.ready()
    expect(actors.system.isStopping).toBe(false)
    others.start(20)
    load.start(800)
    const moved = () => sentences().some((sentence) => sentence.startsWith(`${busy} moves to a worker of its own`))
    await until(async () => moved() && actors.watchers[0]?.watcher.state === "running", sentences.toString, 20_000)
    expect(incarnations(recorded)).toEqual({
      [busy]: 2,
      [calm[0] as string]: 1,
      [calm[1] as string]: 1,
      [calm[2] as string]: 1,
    })
    const events = load.events
    await until(async () => load.events > events + 300, "300 more events")
    load.stop()
    await until(
      async () => sentences().includes(`${busy} returns to a shared worker: it reads little now`),
      sentences.toString,
      20_000,
    )
    for (let count = 0; count < 50; count++) load.step()
    others.stop()
    // A move is no crash, and readiness does not notice it.
    expect(actors.watchers.map(({ watcher }) => watcher.restarts)).toEqual([0, 0, 0, 0])
    expect(sandbox.requests.count({ resource: "statefulsets", verb: "watch" })).toBe(1)
    await expectComplete(recorded)
  } finally {
    load.stop()
    others.stop()
    await recorded.close()
  }
})

test("an exception while one watcher reads restarts that watcher, and the end of the worker all of them; nothing is lost", {
  timeout: patient(60_000),
}, async () => {
  await using recorded = await RecordedSandbox.start({
    kinds: kinds.map((gvk) => tracked(gvk)),
    sharing: together,
    reportEvents: true,
    entry: (role) => (role === "watcher" ? testWorker("throwing-watcher") : workerEntry(role)),
  })
  const { sandbox, actors } = recorded
  using workload = new Workload(sandbox, kinds, 3)
  const restarts = () => actors.watchers.map(({ watcher }) => watcher.restarts)
  const all = (state: string) => actors.statuses.all().every((kind) => kind.state === state)
  await recorded.ready()
  workload.start(300)
  sandbox.put(busy, { metadata: { namespace: "load", name: "crash-1" } })
  await until(
    async () => restarts()[0] === 1 && all("watching"),
    () => String(restarts()),
  )
  expect(restarts()).toEqual([1, 0, 0, 0])
  const reasons = recorded.notices.flatMap((notice) =>
    notice.type === "actor" && notice.state === "backing-off"
      ? [`${notice.gvk}: ${notice.reason.split("\n", 1)[0]}`]
      : [],
  )
  expect(reasons).toEqual([`${busy}: Error: thrown while reading`])
  sandbox.put(busy, { metadata: { namespace: "load", name: "exit-2" } })
  await until(
    async () => restarts().every((count) => count > 0) && all("watching"),
    () => String(restarts()),
  )
  expect(restarts()).toEqual([2, 1, 1, 1])
  expect(actors.watchers.every(({ watcher }) => watcher.state === "running")).toBe(true)
  expect(recorded.notices.filter(({ type }) => type === "placement")).toEqual([
    {
      type: "placement",
      sentence: expect.stringMatching(/^a thread of 4 watchers ended .* in two: the thread exited with code 7$/),
    },
  ])
  workload.stop()
  await expectComplete(recorded)
})
