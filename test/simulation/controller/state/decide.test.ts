/** The state machine by itself: for whatever is observed, and in a small model of a cluster that fails at random. */
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { type SimulationStatus, simulationStates } from "../../../../src/simulation/api/status.ts"
import { statusPatch } from "../../../../src/simulation/controller/reconcile.ts"
import {
  type DriverJob,
  decide,
  givenUpAfterMs,
  type Observation,
  startsWithinMs,
} from "../../../../src/simulation/controller/state/decide.ts"
import { hasBegun, isFinal, isSettled } from "../../../../src/simulation/controller/state/life.ts"

const now = "2026-11-23T12:00:00Z"

const condition = fc.record({
  type: fc.constantFrom("Ready", "Progressing", "Degraded"),
  status: fc.constantFrom("True", "False"),
  reason: fc.constantFrom("InvalidSimulation", "DriverFailed", "AsExpected"),
  message: fc.constant(""),
  lastTransitionTime: fc.constant(now),
})

const status: fc.Arbitrary<SimulationStatus | undefined> = fc.option(
  fc.record({
    observedGeneration: fc.constant(1),
    state: fc.constantFrom(...simulationStates),
    conditions: fc.uniqueArray(condition, { selector: ({ type }) => type }),
  }) as fc.Arbitrary<SimulationStatus>,
  { nil: undefined },
)

const times = { startTime: undefined, endTime: undefined, completedRuns: 0 }
const job: fc.Arbitrary<DriverJob> = fc.oneof(
  fc.constant<DriverJob>({ tag: "absent" }),
  fc.constant<DriverJob>({ tag: "foreign" }),
  fc
    .record({
      isDeleting: fc.boolean(),
      notStartedMs: fc.constantFrom(undefined, 0, 1e9),
      trouble: fc.constantFrom(undefined, "no node"),
    })
    .map((facts) => ({ ...facts, ...times, tag: "active" }) as const),
  fc
    .record({ tag: fc.constantFrom("complete", "failed"), isDeleting: fc.boolean() })
    .map((facts) => ({ ...facts, ...times, message: "why" })),
)

const phase = fc.constantFrom({ tag: "open" }, { tag: "done" }, { tag: "failed", message: "" }) as fc.Arbitrary<
  Observation["preStart"]
>

const observation: fc.Arbitrary<Observation> = fc.record({
  status,
  isDeleted: fc.boolean(),
  isPaused: fc.boolean(),
  unusable: fc.constantFrom(undefined, "spec.driver is missing"),
  job,
  turn: fc.constantFrom<Observation["turn"]>({ tag: "own" }, { tag: "next" }, { tag: "waiting", holder: "other" }),
  preStart: phase,
  postStop: phase,
  runningHooks: fc.constantFrom(undefined, "preStart", "postStop"),
  remains: fc.array(
    fc.record({
      stage: fc.constantFrom("webhook", "driver's root", "root"),
      name: fc.constant("it"),
      uid: fc.constant("uid"),
      isDeleting: fc.boolean(),
    }) as fc.Arbitrary<Observation["remains"][number]>,
    { maxLength: 3 },
  ),
  problem: fc.constantFrom(
    undefined,
    ...(["permanent", "awaited", "transient"] as const).map((kind) => ({ reason: "Any", message: "", kind })),
  ),
  degradedMs: fc.constantFrom(0, givenUpAfterMs + 1),
})

const holds = (property: (observed: Observation) => boolean): void =>
  fc.assert(fc.property(observation, property), { numRuns: 2000 })

describe("whatever is observed", () => {
  test("a driver is prepared only in the turn of a simulation that has begun, is neither over nor deleted, and has no Job", () =>
    holds((observed) => {
      if (decide(observed).action.tag !== "prepare") return true
      const { status, isDeleted, turn, job, preStart } = observed
      const isRunning = status?.state === "Running" || status?.state === "Paused"
      const mayHaveJob = hasBegun(status) && !isFinal(status) && !isDeleted && !isRunning
      return mayHaveJob && turn.tag === "own" && job.tag === "absent" && preStart.tag === "done"
    }))

  test("a driver that runs goes on while the controller itself is in trouble, which is said", () =>
    holds((observed) => {
      const { status, isDeleted, job, unusable, problem } = observed
      const isBegun = hasBegun(status) && !isFinal(status) && !isDeleted && unusable === undefined
      if (!isBegun || job.tag !== "active" || job.isDeleting || problem?.kind !== "transient") return true
      if (job.notStartedMs !== undefined && job.notStartedMs > startsWithinMs) return true
      const { report } = decide(observed)
      return report.state === (observed.isPaused ? "Paused" : "Running") && report.Degraded?.reason === problem.reason
    }))

  test("a second driver is never prepared, whatever the state says, once one has run (W-51)", () =>
    holds((observed) => {
      const status = { ...observed.status, observedGeneration: 1, startTime: now }
      return decide({ ...observed, status }).action.tag !== "prepare"
    }))

  test("a final state is never left, except by correcting what was never begun", () =>
    holds(({ status, ...rest }) => {
      const { state = status?.state } = decide({ status, ...rest }).report
      return !isFinal(status) || !hasBegun(status) || state === status?.state
    }))

  test("the turn is given up, and the finalizer, only when nothing is left and no hook waits", () =>
    holds((observed) => {
      const { action } = decide(observed)
      const { isDeleted, job, remains, postStop, status } = observed
      if (action.tag !== "release" && !(action.tag === "done" && isDeleted)) return true
      const hooksAreOver = postStop.tag !== "open" || !hasBegun(status) || isSettled(status)
      return job.tag !== "active" && remains.length === 0 && hooksAreOver
    }))

  test("hooks after the end run only for a simulation that has begun, after everything is gone", () =>
    holds((observed) => {
      const { action } = decide(observed)
      if (action.tag !== "run hooks" || action.phase !== "postStop") return true
      return hasBegun(observed.status) && observed.remains.length === 0 && observed.job.tag !== "active"
    }))

  test("what is written can be repeated: the same report leads to the same status", () =>
    holds((observed) => {
      const { report } = decide(observed)
      const once = { ...observed.status, ...statusPatch(observed.status, report, 1, now) } as SimulationStatus
      const twice = { ...once, ...statusPatch(once, report, 1, "2027-01-01T00:00:00Z") }
      return JSON.stringify(twice) === JSON.stringify(once)
    }))
})

/** A cluster in which each action may fail first, and the driver ends as it is told. */
const livesOut = (isFailing: () => boolean, fails: boolean, deletedAfter: number): ReadonlyArray<string> => {
  let seen: Observation = {
    ...{ status: undefined, isDeleted: false, isPaused: false, unusable: undefined, job: { tag: "absent" } },
    ...{ turn: { tag: "next" }, preStart: { tag: "open" }, postStop: { tag: "open" }, runningHooks: undefined },
    ...{ remains: [], problem: undefined, degradedMs: 0 },
  }
  const actions: string[] = []
  for (let steps = 0; steps < 200; steps++) {
    if (steps === deletedAfter) seen = { ...seen, isDeleted: true }
    const { report, action } = decide(seen)
    seen = {
      ...seen,
      problem: undefined,
      status: { ...seen.status, ...statusPatch(seen.status, report, 1, now) } as SimulationStatus,
    }
    const { tag } = action
    if (tag === "done" && (seen.isDeleted || isSettled(seen.status))) return [...actions, "done"]
    if (tag !== "wait" && tag !== "again" && isFailing()) {
      seen = { ...seen, problem: { reason: "RequestFailed", message: "", kind: "transient" } }
      continue
    }
    actions.push(tag)
    if (tag === "take turn") seen = { ...seen, turn: { tag: "own" } }
    else if (tag === "release") seen = { ...seen, turn: { tag: "next" } }
    else if (tag === "run hooks") seen = { ...seen, [action.phase]: { tag: "done" } }
    else if (tag === "prepare") {
      const root = { stage: "root", name: "root", uid: "1", isDeleting: false } as const
      const driver = { tag: "active", isDeleting: false, notStartedMs: 0, trouble: undefined, ...times } as const
      seen = { ...seen, job: driver, remains: [root] }
    } else if (tag === "remove") seen = { ...seen, remains: [] }
    else if (tag === "delete job") seen = { ...seen, job: { tag: "absent" } }
    else if (tag === "wait" && seen.job.tag === "active") {
      const end = fails ? "failed" : "complete"
      seen = { ...seen, job: { ...times, tag: end, isDeleting: false, message: "" } }
    }
  }
  return actions
}

test("every life ends, with one Job and each phase of hooks at most once, whatever fails and whenever it is deleted", () => {
  fc.assert(
    fc.property(fc.array(fc.boolean(), { maxLength: 30 }), fc.boolean(), fc.integer({ min: 0, max: 40 }), (...life) => {
      const [failures, fails, deletedAfter] = life
      const left = [...failures]
      const actions = livesOut(() => left.shift() ?? false, fails, deletedAfter)
      expect(actions.at(-1)).toBe("done")
      expect(actions.filter((action) => action === "prepare").length).toBeLessThanOrEqual(1)
      expect(actions.filter((action) => action === "run hooks").length).toBeLessThanOrEqual(2)
      const [taken, released] = ["take turn", "release"].map((tag) => actions.filter((action) => action === tag).length)
      expect(released).toBe(taken)
    }),
    { numRuns: 1000 },
  )
})
