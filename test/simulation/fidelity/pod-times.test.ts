import { describe, expect, test } from "vitest"
import { judgeReplay } from "../../../src/simulation/fidelity/judge-replay.ts"
import { PodTimes, pendingMs, podOwner, runningMs, spreadOf } from "../../../src/simulation/fidelity/pod-times.ts"
import type { WriteJournal } from "../../../src/simulation/fidelity/write-journal.ts"
import type { FidelityReport, PodFidelity } from "../../../src/simulation/report/fidelity-report.ts"
import { type JsonValue, type ObjectEvent, type PodLifecycle, stablePodSpecHash } from "../../../src/trace/index.ts"
import { identity, replayOf, start } from "./journal-of.ts"

// Pods of a trace and their counterparts in the target, from objects and from lives alone.

const firstSecond = start / 1_000_000

interface Owner {
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
}

const specOf = (image: string) => ({ containers: [{ name: "main", image }] })

interface PodOptions {
  readonly owner: Owner | undefined
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
  readonly image?: string
}

let sequence = 1000

/** The states of a pod in the target; times in ms after the first moment. */
const podInTarget = (
  name: string,
  { owner, labels = {}, annotations = {}, image = "web:1" }: PodOptions,
  ...states: ReadonlyArray<readonly [at: number, phase: string | undefined]>
): ReadonlyArray<ObjectEvent> =>
  states.map(([at, phase]) => ({
    type: "object",
    sequence: ++sequence,
    time: start + at * 1000,
    gvk: "v1.Pod",
    action: phase === undefined ? "deleted" : "applied",
    uid: `uid-of-${name}`,
    namespace: "virtual-shop",
    name,
    resourceVersion: String(sequence),
    object: Buffer.from(
      phase === undefined
        ? ""
        : JSON.stringify({
            metadata: {
              namespace: "virtual-shop",
              name,
              labels,
              annotations,
              ...(owner !== undefined && { ownerReferences: [{ ...owner, uid: "u", controller: true }] }),
            },
            // What a cluster adds to every pod.
            spec: { ...specOf(image), nodeName: "node-1", serviceAccountName: "default" },
            status: { phase },
          }),
    ),
  }))

const finished = (from: number, to: number): PodLifecycle => ({
  state: "finished",
  start: firstSecond + from,
  end: firstSecond + to,
})

const deployment = { gvk: "apps/v1.Deployment", owner: "shop/web" }
const hash = stablePodSpecHash(specOf("web:1"))
const nextHash = stablePodSpecHash(specOf("web:2"))
const replicaSet: PodOptions = {
  owner: { apiVersion: "apps/v1", kind: "ReplicaSet", name: "web-7d9" },
  labels: { "pod-template-hash": "7d9" },
}

/** A replay at speed 10 of 100 s of a trace. */
const journalOf = (speed = 10, pause: { readonly after: number; readonly ms: number } | undefined = undefined) => {
  const { journal, events } = replayOf([{ name: "a", value: "1", due: 0 }])
  const dueMs = (moment: number): number => {
    const ms = (moment - start) / 1000 / speed
    return pause !== undefined && ms > pause.after ? ms + pause.ms : ms
  }
  journal.started(0, { start, dueMs })
  journal.ended(start + 100_000_000)
  return { journal, events }
}

const judged = (journal: WriteJournal, events: ReadonlyArray<ObjectEvent>): FidelityReport =>
  judgeReplay(
    journal,
    {
      events: [...events].sort((left, right) => left.time - right.time),
      unmeasured: [],
      since: new Map([["v1.ConfigMap", start - 1000]]),
      found: { extra: [], unlisted: [] },
      followsLives: false,
      settling: { settlingMs: 0, isSettled: true },
      startMicros: start,
      endMs: 11_000,
    },
    identity,
  )

const pairsIn = ({ worst }: PodFidelity): ReadonlyArray<string> =>
  worst.map(({ pod }) => `${pod.recorded} ${pod.replayed.replace("virtual-shop/", "")}`).toSorted()

describe("of a trace that has only lives of pods", () => {
  test("how long pods ran is compared with their counterparts, in real time", () => {
    const { journal, events } = journalOf()
    journal.lived({ ...deployment, pods: new Map([[hash, [finished(10, 40), finished(20, 80)]]]) })
    const { pods, timeline } = judged(journal, [
      ...events,
      ...podInTarget("web-7d9-x", replicaSet, [990, "Pending"], [1010, "Running"], [4110, "Succeeded"]),
      ...podInTarget("web-7d9-y", replicaSet, [1990, "Pending"], [2005, "Running"], [8005, undefined]),
    ])
    expect(pods).toMatchObject({
      recordedFrom: "lives",
      created: { recorded: 2, replayed: 2 },
      neverStarted: { recorded: null, replayed: 0 },
      paired: 2,
      pendingMs: { recorded: null, replayed: { max: 20 } },
      runningMs: { recorded: { p50: 3000, max: 6000 }, replayed: { p50: 3100, max: 6000 } },
      pendingDifferenceMs: null,
      runningDifferenceMs: { p50: 0, max: 100 },
    })
    expect(pods?.worst[0]).toEqual({
      owner: "apps/v1.Deployment shop/web",
      pod: { recorded: "#1", replayed: "virtual-shop/web-7d9-x" },
      pendingMs: { recorded: null, replayed: 20 },
      runningMs: { recorded: 3000, replayed: 3100 },
    })
    const running = timeline.pods.recorded?.Running ?? []
    expect(Object.keys(timeline.pods.recorded ?? {})).toEqual(["Running"])
    expect([900, 1100, 2100, 4100, 7900, 8100].map((ms) => running[Math.floor(ms / timeline.stepMs)])).toEqual([
      0, 1, 2, 1, 1, 0,
    ])
  })

  test("a pause in a life counts for it, as it does for the pods of the target", () => {
    const { journal, events } = journalOf(10, { after: 2000, ms: 60_000 })
    journal.lived({ ...deployment, pods: new Map([[hash, [finished(10, 40)]]]) })
    expect(judged(journal, events).pods?.runningMs.recorded?.max).toBe(63_000)
  })

  test("pods are matched by owner and spec, and then in the order of their creation", () => {
    const { journal, events } = journalOf()
    const lives = new Map([
      [hash, [finished(10, 20), finished(10, 30)]],
      [nextHash, [finished(50, 60)]],
    ])
    journal.lived({ ...deployment, pods: lives })
    journal.lived({ gvk: "batch/v1.CronJob", owner: "shop/report", pods: new Map([[hash, [finished(5, 6)]]]) })
    journal.lived({ gvk: "v1.Pod", owner: "shop/bare", pods: new Map([[hash, [finished(5, 7)]]]) })
    const ran = (from: number) =>
      [
        [from, "Running"],
        [from + 100, undefined],
      ] as const
    const job = { apiVersion: "batch/v1", kind: "Job", name: "report-29123456" }
    const { pods } = judged(journal, [
      ...events,
      // Only one of the first spec was created before the next: the second life of that has no counterpart.
      ...podInTarget("web-7d9-first", replicaSet, ...ran(1000)),
      ...podInTarget("web-7d9-next", { ...replicaSet, image: "web:2" }, ...ran(2000)),
      ...podInTarget("report-29123456-p", { owner: job }, ...ran(3000)),
      ...podInTarget("bare", { owner: undefined }, ...ran(4000)),
      ...podInTarget("of-nobody", { owner: { ...job, kind: "Stranger" } }, ...ran(5000)),
    ])
    expect(pods).toMatchObject({ created: { recorded: 5, replayed: 5 }, paired: 4 })
    expect(pods === null ? [] : pairsIn(pods)).toEqual([
      "#1 bare",
      "#1 report-29123456-p",
      "#1 web-7d9-first",
      "#1 web-7d9-next",
    ])
  })

  test("the webhook's hash and number count for more than what can be seen of a pod", () => {
    const { journal, events } = journalOf()
    journal.lived({ ...deployment, pods: new Map([[hash, [finished(10, 20), finished(10, 30)]]]) })
    const told = (number: number): PodOptions => ({
      ...replicaSet,
      image: "changed-by-a-registry-mirror",
      annotations: {
        "static.simkube.io/pod-spec-stable-hash": String(hash),
        "static.simkube.io/pod-sequence-number": String(number),
      },
    })
    const { pods } = judged(journal, [
      ...events,
      ...podInTarget("web-7d9-second", told(1), [1000, "Running"], [3000, undefined]),
      ...podInTarget("web-7d9-first", told(0), [1001, "Running"], [2001, undefined]),
    ])
    expect(pods === null ? [] : pairsIn(pods)).toEqual(["#1 web-7d9-first", "#2 web-7d9-second"])
    expect(pods?.runningDifferenceMs?.max).toBe(0)
  })

  test("what was not during the run is in no number, but the pods that ran at its start are counted over time", () => {
    const { journal, events } = journalOf()
    const lives: ReadonlyArray<PodLifecycle> = [
      finished(-50, -10),
      finished(-50, 30),
      { state: "running", start: firstSecond - 20 },
      { state: "running", start: firstSecond + 40 },
      finished(90, 150),
      finished(100, 150),
      { state: "empty" },
    ]
    journal.lived({ ...deployment, pods: new Map([[hash, lives]]) })
    journal.lived({ ...deployment, owner: "elsewhere/web", pods: new Map([[hash, [finished(10, 20)]]]) })
    const { pods, timeline } = judged(journal, events)
    expect(pods).toMatchObject({ created: { recorded: 2, replayed: 0 }, paired: 0, runningMs: { recorded: null } })
    const running = timeline.pods.recorded?.Running ?? []
    expect([0, 2900, 3100, 4100, 9100].map((ms) => running[Math.floor(ms / timeline.stepMs)])).toEqual([2, 2, 1, 2, 3])
  })

  test("a pod of the state at the start that starts after the first moment is compared", () => {
    const { journal, events } = journalOf()
    journal.lived({ ...deployment, pods: new Map([[hash, [finished(1, 11)]]]) })
    const pod = podInTarget("web-7d9-x", replicaSet, [-30, "Pending"], [120, "Running"], [1120, "Succeeded"])
    expect(judged(journal, [...events, ...pod]).pods).toMatchObject({
      created: { recorded: 1, replayed: 1 },
      paired: 1,
      runningDifferenceMs: { max: 0 },
      pendingMs: { replayed: null },
    })
  })
})

/** A state of a pod in the trace. */
const passed = (journal: WriteJournal, name: string, at: number, status: object | undefined): void => {
  const owner = { apiVersion: "apps/v1", kind: "ReplicaSet", name: "web-abc", uid: "1", controller: true }
  const metadata = { labels: { "pod-template-hash": "abc" }, ownerReferences: [owner] }
  const object = Buffer.from(JSON.stringify({ metadata, spec: specOf("web:1"), ...(status && { status }) }))
  journal.passed({ time: start, gvk: "v1.Pod", namespace: "shop", name, object }, at)
}

describe("of a trace that has Pods", () => {
  test("those of one owner are paired in the order of their creation, whatever their names are", () => {
    const { journal, events } = journalOf()
    for (const [index, name] of ["r1", "r2", "r3"].entries()) passed(journal, name, index, { phase: "Pending" })
    const { pods } = judged(journal, [
      ...events,
      ...podInTarget("at-the-start", replicaSet, [-1, "Pending"]),
      ...podInTarget("p2", replicaSet, [9, "Pending"]),
      ...podInTarget("p1", replicaSet, [1, "Pending"]),
      ...podInTarget("other", { owner: { apiVersion: "v1", kind: "Other", name: "web" } }, [1, "Pending"]),
    ])
    expect(pods).toMatchObject({ recordedFrom: "objects", created: { recorded: 3, replayed: 3 }, paired: 2 })
    expect(pods === null ? [] : pairsIn(pods)).toEqual(["shop/r1 p1", "shop/r2 p2"])
  })

  test("lives count only if no Pod is seen to run: SimKube's tracer keeps the first status of each", () => {
    const from = (status: object | undefined): unknown => {
      const { journal, events } = journalOf()
      passed(journal, "r1", 5, status)
      journal.lived({ ...deployment, pods: new Map([[hash, [finished(10, 20)]]]) })
      return judged(journal, events).pods?.recordedFrom
    }
    const statuses = [{ phase: "Running" }, { phase: "Pending" }, undefined]
    expect(statuses.map(from)).toEqual(["objects", "lives", "lives"])
  })
})

test("of a trace without pods nothing is compared", () => {
  const { journal, events } = journalOf()
  const target = podInTarget("web-7d9-x", replicaSet, [10, "Running"])
  const { pods, timeline } = judged(journal, [...events, ...target])
  expect(pods).toMatchObject({ recordedFrom: null, created: { recorded: null, replayed: 1 }, paired: 0 })
  expect(timeline.pods.recorded).toBeNull()
})

const owned = (kind: string, name: string, labels: JsonValue = {}): JsonValue => ({
  metadata: {
    labels,
    ownerReferences: [
      { kind: "Other", name: "x" },
      { kind, name, controller: true },
    ],
  },
})

describe("the times of a pod", () => {
  /** `10 Pending, 30 Running, 90 gone`. */
  const times = (text: string): PodTimes => {
    const pods = new PodTimes()
    for (const state of text.split(", ")) {
      const [ms, phase] = state.split(" ")
      const at = Number(ms)
      const given = phase === "gone" ? undefined : phase
      pods.observe("shop/web", Math.max(0, at), at < 0, "shop/Deployment web", given)
    }
    return pods
  }
  const unknown = [Number.NaN, Number.NaN] as const

  test.each([
    ["until it has succeeded", "10 Pending, 30 Running, 90 Succeeded, 95 gone", [[20, 60]]],
    ["until it is deleted", "10 Pending, 30 Running, 40 Running, 90 gone", [[20, 60]]],
    ["without its time of running", "10 Pending, 90 Failed", [[80, 0]]],
    ["that never started", "10 Pending, 90 gone", [unknown]],
    ["that existed at the start", "-5 Pending, 30 Running", [unknown]],
    [
      "and of the next one of that name",
      "10 Running, 20 gone, 30 Pending, 35 Running",
      [
        [0, 10],
        [5, Number.NaN],
      ],
    ],
  ])("are measured %s", (_, states, expected) => {
    expect(times(states).lives.map((life) => [pendingMs(life), runningMs(life)])).toEqual(expected)
  })

  test("count it in one phase at a time", () => {
    const { steps } = times("10 Pending, 30 Running, 40 Running, 90 gone")
    expect(steps.map(({ at, phase, change }) => [at, phase, change])).toEqual([
      [10, "Pending", 1],
      [30, "Pending", -1],
      [30, "Running", 1],
      [90, "Running", -1],
    ])
  })
})

describe("the owner of a pod", () => {
  test.each([
    ["a ReplicaSet", owned("ReplicaSet", "web-7d9", { "pod-template-hash": "7d9" }), "shop/Deployment web"],
    ["a ReplicaSet without Deployment", owned("ReplicaSet", "web-7d9"), "shop/ReplicaSet web-7d9"],
    ["a Job", owned("Job", "import"), "shop/Job import"],
    ["a Job of a CronJob", owned("Job", "import-29123456"), "shop/CronJob import"],
    ["a StatefulSet", owned("StatefulSet", "db"), "shop/StatefulSet db"],
    ["itself", {}, "shop/Pod web-1"],
    ["itself if its object cannot be read", undefined, "shop/Pod web-1"],
  ])("of %s", (_, pod, owner) => {
    expect(podOwner("shop", "web-1", pod)).toBe(owner)
  })
})

test("percentiles are values that occurred", () => {
  expect(spreadOf(Array.from({ length: 100 }, (_, index) => 100 - index))).toEqual({
    p50: 50,
    p95: 95,
    p99: 99,
    max: 100,
  })
  expect(spreadOf([7])).toEqual({ p50: 7, p95: 7, p99: 7, max: 7 })
  expect(spreadOf([])).toBeUndefined()
})
