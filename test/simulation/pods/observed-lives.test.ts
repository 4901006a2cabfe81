import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { ObservedLives } from "../../../src/simulation/pods/observed-lives.ts"
import { ownerKey, type RecordedLife, RecordedLives } from "../../../src/simulation/pods/recorded-lives.ts"
import type { ObjectEvent } from "../../../src/trace/event.ts"
import { rounds } from "../../harness/effort.ts"
import { event, type PodState, pod, start } from "./recorded-pod.ts"

const podKind = "v1.Pod"
const itself = ownerKey(podKind, "shop", "p")

const observed = (events: ReadonlyArray<ObjectEvent>, snapshot = 0, startMs = start / 1000): RecordedLives => {
  const lives = new RecordedLives()
  const observing = new ObservedLives(lives)
  observing.startMs = startMs
  for (const [index, each] of events.entries()) observing.observe(each, index < snapshot)
  return lives
}

const livesOf = (lives: RecordedLives, owner: string): ReadonlyArray<RecordedLife> =>
  lives.hashes(owner).flatMap((hash) => {
    const all: RecordedLife[] = []
    for (let index = 0; ; index++) {
      const life = lives.life(owner, hash, index)
      if (life === undefined || all.includes(life)) return all
      all.push(life)
    }
  })

const states = (name: string, ...steps: ReadonlyArray<readonly [seconds: number, state: PodState]>) =>
  steps.map(([seconds, state]) => event(seconds, podKind, name, pod(state)))

describe("the life of a pod", () => {
  test("has the times at which its states were recorded, to the millisecond", () => {
    const lives = observed(
      states(
        "p",
        [0.1, {}],
        [0.25, { scheduled: 0 }],
        [1.75, { scheduled: 0, started: 1.7 }],
        [3, { scheduled: 0, started: 1.7, ready: 3 }],
        [38.9, { scheduled: 0, started: 1.7, ready: 3, ended: 38.8, exitCode: 3, restarts: 2 }],
      ),
    )
    expect(livesOf(lives, itself)).toEqual([{ startMs: 1500, readyMs: 1250, runMs: 37_150, exitCode: 3, restarts: 2 }])
  })

  test("has the times of its status if the recording saw only its end", () => {
    const lives = observed(states("p", [90, { scheduled: 1, started: 3, ready: 4, ended: 40 }]))
    expect(livesOf(lives, itself)).toMatchObject([{ startMs: 2000, readyMs: 1000, runMs: 37_000 }])
  })

  test("has the times of its status where a gap delayed the recording", () => {
    const seen = { scheduled: 0, started: 1 }
    const lives = observed(states("p", [0.1, {}], [0.2, { scheduled: 0 }], [1, seen], [500, { ...seen, ended: 38 }]))
    expect(livesOf(lives, itself)).toMatchObject([{ startMs: 800, runMs: 37_000 }])
  })

  test("has no end if the pod was deleted while it ran, or ended because it was deleted", () => {
    const running = { scheduled: 0, started: 1 }
    const deleted = event(9, podKind, "p", pod({ ...running, deleting: true, ended: 9 }), "deleted")
    expect(livesOf(observed([...states("p", [1, running]), deleted]), itself)).toMatchObject([{ runMs: undefined }])
    const ended = states("p", [1, running], [8, { ...running, deleting: true, ended: 8 }])
    expect(livesOf(observed([...ended, deleted]), itself)).toMatchObject([{ runMs: undefined }])
  })

  test("goes on while its containers are restarted", () => {
    const between = { scheduled: 0, started: 1, ended: 5, phase: "Running", restarts: 0 }
    const lives = observed(states("p", [1, { scheduled: 0, started: 1 }], [5, between]))
    expect(livesOf(lives, itself)).toMatchObject([{ runMs: undefined }])
  })

  test("is what is left of it if the pod runs when the replay starts, and whole if it had ended", () => {
    const running = { scheduled: -20, started: -20 }
    const rest = observed(states("p", [-5, running], [17.2, { ...running, ended: 17 }]), 1)
    expect(livesOf(rest, itself)).toMatchObject([{ runMs: 17_000 }])
    const over = observed(states("p", [-5, { ...running, ended: -10 }]), 1)
    expect(livesOf(over, itself)).toMatchObject([{ runMs: 10_000 }])
  })

  test("is not known if the pod was gone before the replay starts", () => {
    const lives = observed([
      ...states("p", [-5, { scheduled: -5, started: -4 }]),
      event(-1, podKind, "p", {}, "vanished"),
    ])
    expect([lives.count, livesOf(lives, itself)]).toEqual([0, []])
  })

  test("is never negative, whatever the clocks say", () => {
    const time = fc.option(fc.integer({ min: -100, max: 100 }), { nil: undefined })
    const state = fc
      .record({ scheduled: time, started: time, ready: time, ended: time })
      .map((given) => Object.fromEntries(Object.entries(given).filter(([, each]) => each !== undefined)) as PodState)
    const step = fc.tuple(fc.double({ min: -50, max: 200, noNaN: true }), state)
    fc.assert(
      fc.property(fc.array(step, { maxLength: 6 }), fc.nat(2), (steps, snapshot) => {
        for (const life of livesOf(observed(states("p", ...steps), snapshot), itself))
          for (const ms of [life.startMs, life.readyMs, life.runMs]) expect(ms ?? 0).toBeGreaterThanOrEqual(0)
      }),
      { numRuns: rounds(400) },
    )
  })

  test("of an object of any other form changes nothing", () => {
    fc.assert(
      fc.property(fc.anything({ maxDepth: 4 }), fc.anything({ maxDepth: 3 }), (status, metadata) => {
        const text = JSON.stringify({ metadata, spec: { containers: [] }, status }, (_key, value) =>
          typeof value === "bigint" ? String(value) : value,
        )
        const object = Buffer.from(text)
        observed([{ ...event(1, podKind, "p", {}), object }])
      }),
      { numRuns: rounds(400) },
    )
    expect(observed([{ ...event(1, podKind, "p", {}), object: Buffer.from('{"spec":') }]).count).toBe(0)
  })
})

describe("the owner of a life", () => {
  const running = { scheduled: 0, started: 1 }
  const replicaSet = { apiVersion: "apps/v1", kind: "ReplicaSet", name: "web-5d4f" }
  const job = { apiVersion: "batch/v1", kind: "Job", name: "nightly-29" }
  const cronJob = { apiVersion: "batch/v1", kind: "CronJob", name: "nightly", uid: "c", controller: true }

  test("is the Deployment of its ReplicaSet, although the trace has no ReplicaSets", () => {
    const labels = { "pod-template-hash": "5d4f" }
    const lives = observed(states("p", [1, { ...running, controller: replicaSet, labels }]))
    expect(livesOf(lives, ownerKey("apps/v1.Deployment", "shop", "web"))).toHaveLength(1)
  })

  test("is the ReplicaSet itself if no Deployment made it", () => {
    const lives = observed(states("p", [1, { ...running, controller: replicaSet }]))
    expect(livesOf(lives, ownerKey("apps/v1.ReplicaSet", "shop", "web-5d4f"))).toHaveLength(1)
  })

  test.each([
    ["before", true],
    ["after", false],
  ])("is the CronJob of its Job if the Job is recorded %s the pod", (_when, isBefore) => {
    const owned = event(1, "batch/v1.Job", "nightly-29", { metadata: { ownerReferences: [cronJob] } })
    const pods = states("p", [1, { ...running, controller: job }])
    const lives = observed(isBefore ? [owned, ...pods] : [...pods, owned])
    expect(livesOf(lives, ownerKey("batch/v1.CronJob", "shop", "nightly"))).toHaveLength(1)
    expect(lives.hashes(ownerKey("batch/v1.Job", "shop", "nightly-29"))).toEqual([])
  })

  test("has lives by spec, each in order of creation", () => {
    const of = (name: string, created: number, image: string, ended: number) =>
      states(name, [50, { created, image, scheduled: created, started: created, ended, controller: job }])
    const lives = observed([...of("a", 20, "new", 21), ...of("b", 10, "old", 12), ...of("c", 5, "old", 8)], 3)
    const key = ownerKey("batch/v1.Job", "shop", "nightly-29")
    expect(lives.hashes(key)).toHaveLength(2)
    expect(livesOf(lives, key).map(({ runMs }) => runMs)).toEqual([3000, 2000, 1000])
  })
})
