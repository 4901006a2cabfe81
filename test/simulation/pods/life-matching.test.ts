import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { systemClock } from "../../../src/clock.ts"
import { LifeScout } from "../../../src/simulation/pods/life-source.ts"
import { ObservedLives } from "../../../src/simulation/pods/observed-lives.ts"
import { type StartDelays, startDelayMarks } from "../../../src/simulation/pods/pod-lives.ts"
import {
  LifeMatching,
  ownerKey,
  type RecordedLife,
  RecordedLives,
} from "../../../src/simulation/pods/recorded-lives.ts"
import type { ObjectEvent, TraceItem } from "../../../src/trace/index.ts"
import { rounds } from "../../harness/effort.ts"
import { ManualClock } from "../../runtime/manual-clock.ts"
import { simkubeTrace } from "./followed-replay.ts"
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

const trace = simkubeTrace(60, [], [["batch/v1.Job", "nightly", 5, 90]])
const key = "batch/v1.Job shop/nightly"

const scoutOf = (items: AsyncIterable<Iterable<TraceItem>>) => {
  const problems: string[] = []
  const scout = new LifeScout(async () => items)
  return {
    scout,
    problems,
    begin: (micros = start, clock: typeof systemClock = systemClock) =>
      scout.begin(micros, { clock, onProblem: (problem) => problems.push(problem) }),
  }
}

async function* chunks(items: ReadonlyArray<TraceItem>): AsyncGenerator<ReadonlyArray<TraceItem>, void> {
  for (const item of items) yield [item]
}

const runs = (scout: LifeScout) => [0, 1].map((index) => scout.lives.life(key, 7n, index)?.runMs)

test("knows the lives at the end of the file once it has read it, and of those under way what is left", async () => {
  const { scout, begin } = scoutOf(chunks(trace))
  begin()
  await scout.waitFor(60_000)
  expect([scout.isFinished, runs(scout)]).toEqual([true, [5000, 90_000]])
  const later = scoutOf(chunks(trace))
  later.begin(start + 30_000_000)
  await later.scout.waitFor(60_000)
  expect(runs(later.scout)).toEqual([5000, 60_000])
})

test("reports why the trace could not be read to its end, and keeps what it knows", async () => {
  async function* broken(): AsyncGenerator<ReadonlyArray<TraceItem>, void> {
    yield trace
    throw new Error("the disk is gone")
  }
  const { scout, begin, problems } = scoutOf(broken())
  begin()
  await scout.waitFor(60_000)
  expect(runs(scout)).toEqual([5000, 90_000])
  expect(problems).toEqual(["not all lives of pods could be read: the disk is gone"])
})

test("rests as long as it has read, so that it takes at most half of the time", async () => {
  const clock = new ManualClock()
  let read = 0
  async function* slow(): AsyncGenerator<ReadonlyArray<TraceItem>, void> {
    for (; read < 100; read++)
      yield {
        *[Symbol.iterator]() {
          clock.advance(300)
          yield* trace
        },
      } as unknown as ReadonlyArray<TraceItem>
  }
  const { scout, begin } = scoutOf(slow())
  begin(start, clock)
  // The first second needs no rest; then each chunk is followed by 300 ms of it.
  await expect.poll(() => [clock.untilNext, clock.pending]).toEqual([300, 1])
  expect(read).toBe(3)
  clock.advance(299)
  await new Promise(setImmediate)
  expect(read).toBe(3)
  clock.advance(1)
  await expect.poll(() => clock.untilNext).toBe(300)
  expect(read).toBe(4)
  scout.close()
})

test("waits no longer than it may for a trace that is silent, and ends without it", async () => {
  async function* silent(): AsyncGenerator<ReadonlyArray<TraceItem>, void> {
    yield []
    await new Promise(() => undefined)
  }
  const { scout, begin, problems } = scoutOf(silent())
  begin()
  await scout.waitFor(20)
  expect(scout.isFinished).toBe(false)
  scout.close()
  expect(problems).toEqual([])
})

test("ends its reading when it is closed, also while the trace is silent", async () => {
  const steps: string[] = []
  const problems: string[] = []
  const scout = new LifeScout(async (signal) =>
    (async function* () {
      yield trace
      steps.push("silent")
      await new Promise((resolve) => signal.addEventListener("abort", resolve))
      steps.push("ended")
      throw new Error("interrupted")
    })(),
  )
  scout.begin(start, { clock: systemClock, onProblem: (problem) => problems.push(problem) })
  await expect.poll(() => steps).toEqual(["silent"])
  scout.close()
  await expect.poll(() => scout.isFinished).toBe(true)
  expect([steps, problems]).toEqual([["silent", "ended"], []])
})

const none: StartDelays = {
  createMs: undefined,
  createJitterMs: undefined,
  readyMs: undefined,
  readyJitterMs: undefined,
}
const create = "simkube.io/kwok-stage-create-delay"
const ready = "simkube.io/kwok-stage-ready-delay"

describe("the delays of a Simulation", () => {
  test("replace those of the trace, and their jitter comes on top", () => {
    const delays = { ...none, createMs: 500, createJitterMs: 100 }
    expect(startDelayMarks(delays, { startMs: 7, readyMs: 9 })).toEqual({
      [create]: "500ms",
      [`${create}-jitter`]: "600ms",
    })
  })

  test("that are not set are 0, as SimKube has it, unless the trace has them", () => {
    expect(startDelayMarks(none, { startMs: undefined, readyMs: 9 })).toEqual({
      [create]: "0ms",
      [`${create}-jitter`]: "0ms",
    })
    expect(startDelayMarks({ ...none, readyJitterMs: 30 }, undefined)).toEqual({
      [create]: "0ms",
      [`${create}-jitter`]: "0ms",
      [ready]: "0ms",
      [`${ready}-jitter`]: "30ms",
    })
  })
})

const life = (runMs: number): RecordedLife => ({
  startMs: undefined,
  readyMs: undefined,
  runMs,
  exitCode: 0,
  restarts: 0,
})

/** Lives of one owner, by hash, in this order. */
const recorded = (owner: string, generations: Readonly<Record<string, ReadonlyArray<number>>>): RecordedLives => {
  const lives = new RecordedLives()
  let created = 0
  for (const [hash, runs] of Object.entries(generations))
    for (const run of runs) lives.add(owner, BigInt(hash.slice(1)), life(run), created++)
  return lives
}

describe("a pod of the replay", () => {
  test("leads the life of the same spec and number, and those are used again in turn", () => {
    const matching = new LifeMatching(recorded("web", { _1: [10], _2: [20, 21] }))
    const runs = [0, 1, 2, 3].map((number) => matching.life("web", 2n, number)?.runMs)
    expect(runs).toEqual([20, 21, 20, 21])
    expect(matching.life("web", 1n, 5)?.runMs).toBe(10)
    expect(matching.life("other", 1n, 0)).toBeUndefined()
  })

  test("with a spec that was not recorded stands for the next generation, and keeps standing for it (W-37)", () => {
    const matching = new LifeMatching(recorded("web", { _1: [10], _2: [20], _3: [30] }))
    const run = (hash: bigint) => matching.life("web", hash, 0)?.runMs
    expect([run(77n), run(88n), run(77n), run(99n), run(100n)]).toEqual([10, 20, 10, 30, 30])
    expect(run(2n)).toBe(20)
    const rolledOut = new LifeMatching(recorded("web", { _1: [10], _2: [20] }))
    expect([1n, 77n].map((hash) => rolledOut.life("web", hash, 0)?.runMs)).toEqual([10, 20])
  })

  test("is numbered by owner and spec, and a pod that is not stored takes no number (W-39)", () => {
    const matching = new LifeMatching(new RecordedLives())
    const numbers = [
      matching.number("a", 1n, false),
      matching.number("b", 1n, false),
      matching.number("a", 1n, true),
      matching.number("a", 1n, false),
      matching.number("a", 2n, false),
    ]
    expect(numbers).toEqual([0, 0, 1, 1, 0])
  })

  test("gets the same life in every run in which the pods are created in the same order", () => {
    const small = fc.nat(3)
    const generations = fc.dictionary(
      small.map((hash) => `_${hash}`),
      fc.array(small, { minLength: 1, maxLength: 3 }),
    )
    const created = fc.array(fc.tuple(fc.constantFrom("a", "b"), small), { maxLength: 30 })
    fc.assert(
      fc.property(generations, created, (lives, pods) => {
        const run = () => {
          const matching = new LifeMatching(recorded("a", lives))
          return pods.map(([owner, hash]) => {
            const number = matching.number(owner, BigInt(hash), false)
            return [number, matching.life(owner, BigInt(hash), number)]
          })
        }
        expect(run()).toEqual(run())
      }),
      { numRuns: rounds(200) },
    )
  })
})
