/** Replays into a cluster in this process, recorded by the recorder's own threads, and compared. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { ArchiveReader } from "../../../src/archive/index.ts"
import { LocalCluster } from "../../../src/sandbox/index.ts"
import { Replay, type ReplayOptions } from "../../../src/simulation/replay/replay.ts"
import type { FidelityReport } from "../../../src/simulation/report/fidelity-report.ts"
import type { ReplayReport } from "../../../src/simulation/report/replay-report.ts"
import type { TraceItem } from "../../../src/trace/index.ts"
import { patient } from "../../harness/patience.ts"
import { judgeIn, plainReplay } from "../replay/plain-replay.ts"
import { chunks, configMap, deployment, event, header, podOfWeb, start } from "../trace-items.ts"

let cluster: LocalCluster
let folder = ""
beforeEach(async () => {
  cluster = await LocalCluster.start({ nodes: 2 })
  folder = mkdtempSync(join(tmpdir(), "fidelity-"))
})
afterEach(async () => {
  await cluster.close()
  rmSync(folder, { recursive: true, force: true })
})

/** 2 s at speed 1. */
const story: ReadonlyArray<TraceItem> = [
  header(2000, { kinds: ["v1.Pod", "v1.ConfigMap", "apps/v1.Deployment"] }),
  configMap(-5, "a", "1"),
  deployment(100, 2),
  event(110, "v1.Pod", "web-abc-1", podOfWeb("Pending")),
  event(120, "v1.Pod", "web-abc-2", podOfWeb("Pending")),
  event(300, "v1.Pod", "web-abc-1", podOfWeb("Running")),
  event(310, "v1.Pod", "web-abc-2", podOfWeb("Running")),
  configMap(400, "a", "2"),
  configMap(700, "b", "1"),
  configMap(1000, "a", undefined),
  deployment(1500, 1),
  event(1550, "v1.Pod", "web-abc-2", undefined),
]

interface Judged {
  readonly report: ReplayReport
  readonly fidelity: FidelityReport
  readonly directory: string | undefined
}

const judged = async (
  more: Partial<ReplayOptions> = {},
  directory: string | undefined = undefined,
  settleMs = 600,
): Promise<Judged> => {
  await using fidelity = judgeIn(cluster, settleMs, directory)
  const options = plainReplay(cluster.client, "test", chunks(story), start + 10_000_000)
  const report = await new Replay({ ...options, speed: 10, witness: fidelity, ...more }).run()
  return { report, fidelity: fidelity.compare() as FidelityReport, directory }
}

describe("a replay that is recorded", { timeout: patient(30_000) }, () => {
  // On a machine that others use it may be late, and says so.
  const late = { retry: 3 }
  test(
    "at speed 10 is found equal: the same objects, in the same order, with the same gaps, and the pods that controllers made",
    late,
    async () => {
      const { fidelity } = await judged()
      expect(fidelity.score).toMatchObject({ objectsEqual: 1, statesInOrder: 1, gapsWithin: 1, pods: 1 })
      expect(fidelity.objects).toEqual({ total: 3, equal: 3, unmeasured: 0, extra: 0 })
      expect(fidelity.states).toMatchObject({ total: 6, equal: 6, missing: 0, different: 0, refused: 0, extra: 0 })
      expect(fidelity.gaps).toMatchObject({ total: 4, within: 4 })
      expect(fidelity.recording.unmeasured).toEqual([])
      expect(fidelity.observedMs?.p50).toBeGreaterThan(0)
      expect(fidelity.pods).toMatchObject({
        created: { recorded: 2, replayed: 2 },
        neverStarted: { recorded: 0 },
        paired: 2,
      })
      expect(fidelity.pods?.pendingMs.recorded?.max).toBeCloseTo(19, 1)
      expect(fidelity.pods?.runningMs.recorded?.max).toBeCloseTo(124, 1)
      expect(fidelity.pods?.pendingMs.replayed?.p50).toBeGreaterThan(0)
      const { timeline } = fidelity
      expect(timeline.pods.recorded?.Running?.at(-1)).toBe(1)
      expect(timeline.objects.recorded["v1.ConfigMap"]?.at(-1)).toBe(1)
      expect(timeline.objects.replayed["v1.ConfigMap"]?.at(-1)).toBe(1)
      expect(timeline.nodes).toMatchObject({ recorded: null, replayed: expect.arrayContaining([2]) })
    },
  )

  test("keeps its recording if a directory is named, which has nothing of others", async () => {
    cluster.sandbox.put("v1.ConfigMap", { metadata: { namespace: "default", name: "theirs" }, data: {} })
    const directory = join(folder, "recording")
    await judged({ speed: "max" }, directory)
    const reader = ArchiveReader.open(directory)
    expect(reader.kinds().map(({ gvk }) => gvk)).toContain("apps/v1.Deployment")
    const recorded = [...reader.events({ kinds: ["v1.ConfigMap"] })].map((each) =>
      each.type === "gap" ? "" : each.name,
    )
    reader.close()
    expect(new Set(recorded)).toEqual(new Set(["a", "b"]))
  })

  test("does not measure kinds that may not be listed, and measures the others", async () => {
    cluster.sandbox.faults.respond("pods", 403)
    const { fidelity } = await judged()
    expect(fidelity.recording.unmeasured).toMatchObject([
      { gvk: "v1.Pod", reason: expect.stringContaining("forbidden") },
    ])
    expect(fidelity.pods).toBeNull()
    expect(fidelity.score).toMatchObject({ objectsEqual: 1, statesInOrder: 1 })
  })

  test("of a trace that does not name its kinds is found equal too", async () => {
    // Their watchers start during the replay, which takes 200 ms.
    const { fidelity } = await judged({ items: chunks(story.slice(1)) }, undefined, patient(5000))
    expect(fidelity.recording.unmeasured).toEqual([])
    expect(fidelity.states).toMatchObject({ missing: 0, different: 0, refused: 0, extra: 0 })
  })

  test("of a trace that has only lives of pods has their times, whatever is replayed of it", async () => {
    const second = start / 1_000_000
    const lives = new Map([
      [7n, [0, 1].map((from) => ({ state: "finished" as const, start: second + from, end: second + from + 1 }))],
    ])
    const items = [
      { ...story[0], kinds: ["apps/v1.Deployment"], hasLifecycles: true } as TraceItem,
      ...story.slice(1).filter((item) => item.type === "event" && item.event.gvk !== "v1.Pod"),
      { type: "lifecycles", gvk: "apps/v1.Deployment", owner: "shop/web", pods: lives } as TraceItem,
    ]
    const { fidelity } = await judged({ items: chunks(items) })
    expect(fidelity.pods).toMatchObject({
      recordedFrom: "lives",
      created: { recorded: 2, replayed: 2 },
      paired: 2,
      runningMs: { recorded: { p50: 100, max: 100 } },
      worst: [{ owner: "apps/v1.Deployment shop/web" }, {}],
    })
    expect(fidelity.timeline.pods).toMatchObject({ recorded: { Running: expect.any(Array) } })
    const window = { from: undefined, to: start + 1_450_000, duration: undefined, now: start + 10_000_000 }
    // Of what has not ended by then, only the beginning is known.
    expect((await judged({ items: chunks(items), window })).fidelity.pods).toMatchObject({
      created: { recorded: 2 },
      runningMs: { recorded: { p50: 100 } },
    })
  })

  test("says that lives may be missing if the trace is damaged behind what was replayed", async () => {
    async function* damaged(): AsyncGenerator<ReadonlyArray<TraceItem>, void> {
      yield [{ ...story[0], hasLifecycles: true } as TraceItem, ...story.slice(1)]
      throw new Error("the disk is gone")
    }
    const window = { from: undefined, to: start + 600_000, duration: undefined, now: start + 10_000_000 }
    const { report, fidelity } = await judged({ items: damaged(), window })
    expect(report).toMatchObject({ stopped: null, warnings: [expect.stringContaining("the disk is gone")] })
    expect(fidelity.score.objectsEqual).toBe(1)
  })

  test("does not wait for the target any longer once it is interrupted, and is compared all the same", async () => {
    const abort = new AbortController()
    const onProgress: ReplayOptions["onProgress"] = ({ phase }) => phase === "settling" && abort.abort()
    const { fidelity } = await judged({ speed: "max", signal: abort.signal, onProgress }, undefined, 3_600_000)
    expect(fidelity.recording).toMatchObject({ isSettled: false })
    expect(fidelity.gaps).toBeNull()
    expect(fidelity.states.refused).toBe(0)
  })

  test("reports a refused object as refused", async () => {
    const broken = event(1200, "apps/v1.Deployment", "broken", { spec: { replicas: -1 } })
    const { fidelity } = await judged({ items: chunks([...story.slice(0, -2), broken]) })
    expect(fidelity.states).toMatchObject({ refused: 1, missing: 0 })
    expect(fidelity.worst[0]).toMatchObject({
      name: "broken",
      result: "refused",
      reason: expect.stringContaining("replicas"),
    })
  })

  test("goes on without a comparison if the target cannot be recorded", async () => {
    await using fidelity = judgeIn(cluster, 100, "/dev/null/recording")
    const options = plainReplay(cluster.client, "test", chunks(story), start + 10_000_000)
    expect((await new Replay({ ...options, witness: fidelity }).run()).events.accepted).toBe(5)
    expect(fidelity.compare()).toEqual({ unknown: expect.stringContaining("/dev/null/recording") })
  })
})

test("a replay that is over does not wait until the cluster is watched", { timeout: patient(30_000) }, async () => {
  cluster.sandbox.faults.blackHole("configmaps")
  await using judge = judgeIn(cluster, 0)
  const ending = new AbortController()
  let hasBegun = false
  const begun = judge.begin(["v1.ConfigMap"], ending.signal).then(() => {
    hasBegun = true
  })
  await sleep(300)
  expect(hasBegun).toBe(false)
  ending.abort()
  const abortedMs = performance.now()
  await begun
  expect(performance.now() - abortedMs).toBeLessThan(patient(3000))
})
