/** The comparison of a replay with a recording: what is equal is found equal, and each kind of difference is found as what it is. */
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { judgeReplay } from "../../../src/simulation/fidelity/judge-replay.ts"
import type { FidelityReport } from "../../../src/simulation/report/fidelity-report.ts"
import type { ObjectEvent } from "../../../src/trace/index.ts"
import { rounds } from "../../harness/effort.ts"
import { eventOf, identity, type Planned, type Replayed, replayOf, start } from "./journal-of.ts"

const judge = (
  { journal }: Replayed,
  events: ReadonlyArray<ObjectEvent>,
  unmeasured: ReadonlyArray<string> = [],
  sinceMs = -1,
): FidelityReport => {
  const endMs = Math.max(0, ...events.map(({ time }) => (time - start) / 1000))
  return judgeReplay(
    journal,
    {
      events,
      unmeasured: unmeasured.map((gvk) => ({ gvk, reason: "forbidden" })),
      since: new Map([["v1.ConfigMap", start + sinceMs * 1000]]),
      found: { extra: [], unlisted: [] },
      followsLives: false,
      settling: { settlingMs: 0, isSettled: true },
      startMicros: start,
      endMs,
    },
    identity,
  )
}

/** Some objects with their states, in which no state is the one before, and no deletion comes before a creation. */
const plans = fc
  .array(fc.record({ name: fc.constantFrom("a", "b", "c"), isDeletion: fc.boolean(), gap: fc.nat(3000) }), {
    minLength: 1,
    maxLength: 25,
  })
  .map((steps) => {
    const existing = new Set<string>()
    let due = 0
    return steps.map(({ name, isDeletion, gap }, index): Planned => {
      due += gap
      const isDeleted = isDeletion && existing.delete(name)
      if (!isDeleted) existing.add(name)
      return { name, value: isDeleted ? undefined : `value ${index}`, due }
    })
  })

const planAndIndex = plans.chain((plan) => fc.tuple(fc.constant(plan), fc.nat(plan.length - 1)))
const states = (events: ReadonlyArray<ObjectEvent>): ReadonlyArray<number> =>
  events.flatMap(({ action }, index) => (action === "applied" ? [index] : []))

describe("a recording that has", () => {
  test("what was applied, in order and in time, has no difference", () => {
    fc.assert(
      fc.property(plans, (plan) => {
        const replay = replayOf(plan)
        const { score, states, objects, observedMs, gaps, worst } = judge(replay, replay.events)
        expect(score).toMatchObject({ objectsEqual: 1, statesInOrder: 1, gapsWithin: plan.length > 1 ? 1 : null })
        expect(states).toMatchObject({
          total: plan.length,
          equal: plan.length,
          missing: 0,
          different: 0,
          extra: 0,
          outOfOrder: 0,
        })
        expect(objects.equal).toBe(new Set(plan.map(({ name }) => name)).size)
        expect(observedMs).toEqual({ p50: 3, p95: 3, p99: 3, max: 3 })
        expect(gaps?.errorMs?.max ?? 0).toBe(0)
        expect(worst.every(({ result }) => result === "equal")).toBe(true)
      }),
      { numRuns: rounds(100) },
    )
  })

  test("lost a state misses exactly that one", () => {
    fc.assert(
      fc.property(planAndIndex, ([plan, nth]) => {
        const replay = replayOf(plan)
        const all = states(replay.events)
        const lost = all[nth % Math.max(1, all.length)]
        fc.pre(lost !== undefined)
        const report = judge(replay, replay.events.toSpliced(lost as number, 1))
        expect(report.states).toMatchObject({ total: plan.length, equal: plan.length - 1, missing: 1 })
        expect(report.worst[0]).toMatchObject({
          result: "missing",
          time: start + (plan[lost as number]?.due ?? 0) * 1000,
        })
        expect(report.score.objectsEqual).toBeLessThan(1)
      }),
      { numRuns: rounds(100) },
    )
  })

  test("a state twice has one extra", () => {
    fc.assert(
      fc.property(planAndIndex, ([plan, nth]) => {
        const replay = replayOf(plan)
        const all = states(replay.events)
        const twice = all[nth % Math.max(1, all.length)]
        fc.pre(twice !== undefined)
        const events = replay.events.toSpliced(twice as number, 0, replay.events[twice as number] as ObjectEvent)
        expect(judge(replay, events).states).toMatchObject({ equal: plan.length, extra: 1 })
      }),
      { numRuns: rounds(100) },
    )
  })

  test("two states of an object in the wrong order has one out of order", () => {
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 20 }), fc.nat(), (length, nth) => {
        const replay = replayOf(
          Array.from({ length }, (_, index) => ({ name: "a", value: `${index}`, due: index * 10 })),
        )
        const at = nth % (length - 1)
        const [first, second] = [replay.events[at] as ObjectEvent, replay.events[at + 1] as ObjectEvent]
        const report = judge(replay, replay.events.toSpliced(at, 2, second, first))
        expect(report.states).toMatchObject({ equal: length, missing: 0, outOfOrder: 1 })
        expect(report.score).toMatchObject({
          objectsEqual: 0,
          statesInOrder: Math.floor(((length - 1) / length) * 10_000) / 10_000,
        })
      }),
      { numRuns: rounds(100) },
    )
  })

  test("a state late counts its lateness, and the gap around it if that is beyond the tolerance", () => {
    const replay = replayOf([0, 1000, 2000].map((due) => ({ name: `at-${due}`, value: "1", due })))
    const late = (ms: number) =>
      judge(
        replay,
        replay.events.map((event, index) => (index === 1 ? { ...event, time: event.time + ms * 1000 } : event)),
      )
    expect(late(200)).toMatchObject({ observedMs: { max: 203 }, gaps: { total: 2, within: 2, errorMs: { max: 200 } } })
    const report = late(400)
    expect(report).toMatchObject({ gaps: { within: 0 }, score: { objectsEqual: 1, gapsWithin: 0 } })
    expect(report.worst[0]).toMatchObject({
      name: "at-1000",
      observedMs: 403,
      reason: "401 ms passed from the response until a watch delivered it",
    })
  })

  test("a gap with a pause in it is judged by the time of the trace, and without the pause it would be too long", () => {
    const gapWith = (pause: number, late: number) => {
      const replay = replayOf([
        { name: "before", value: "1", due: 0 },
        { name: "after", value: "1", due: 10_000 + pause, paused: pause },
      ])
      const [first, second] = replay.events as readonly [ObjectEvent, ObjectEvent]
      return judge(replay, [first, { ...second, time: second.time + late * 1000 }]).gaps
    }
    // 5 % of 10 s, whatever the pause.
    expect([gapWith(0, 500), gapWith(0, 501)]).toMatchObject([{ within: 1 }, { within: 0 }])
    expect([gapWith(60_000, 500), gapWith(60_000, 501)]).toMatchObject([
      { within: 1, errorMs: { max: 500 } },
      { within: 0 },
    ])
  })

  test("another value has a difference with its path, and what changed it later is extra", () => {
    const replay = replayOf([{ name: "a", value: "mine", due: 0 }])
    const theirs = { name: "a", value: "theirs", due: 0 }
    const changed = judge(replay, [{ ...eventOf(theirs, 0, 3) }])
    expect(changed.states).toMatchObject({ different: 1, equal: 0 })
    expect(changed.worst[0]?.reason).toBe('data.value is "theirs" instead of "mine"')
    const later = judge(replay, [...replay.events, eventOf(theirs, 7, 9)])
    expect(later.states).toMatchObject({ equal: 1, extra: 1 })
    expect(later.details[0]?.extra).toMatchObject([{ at: 9, reason: "something else in the cluster changed it" }])
  })

  test("a change by something else in several states has it once, until it is undone and made again", () => {
    const replay = replayOf([{ name: "a", value: "mine", due: 0 }])
    const states = ["theirs", "theirs", "other", "mine", "other"].map((value, index) =>
      eventOf({ name: "a", value, due: 0 }, 5 + index, 10 + index),
    )
    const { states: counts, details } = judge(replay, [...replay.events, ...states])
    expect(counts.extra).toBe(3)
    expect(details[0]?.extra.map(({ at }) => at)).toEqual([10, 12, 14])
  })

  describe("a deletion before that of the replay, which then had nothing to delete,", () => {
    const early = (plan: ReadonlyArray<Planned>, at: number, isMarked = false): FidelityReport => {
      const replay = replayOf(plan)
      const deletion = replay.journal.writes.find(({ verb, object }) => verb === "delete" && object.place.name === "a")
      if (deletion === undefined) throw new Error("a is not deleted")
      deletion.outcome = { tag: "skipped", reason: "did not exist in the target" }
      const [first, ...others] = replay.events.filter(({ name, action }) => name !== "a" || action === "applied")
      if (first === undefined) throw new Error("nothing is created")
      const deleted = eventOf({ name: "a", value: undefined, due: 0 }, 5, at)
      const metadata = { namespace: "virtual-shop", name: "a", deletionTimestamp: "2026-01-01T00:00:00Z" }
      const object = Buffer.from(JSON.stringify({ metadata, data: { value: "1" } }))
      const marked = { ...first, time: start + (at - 10) * 1000, resourceVersion: "3", object }
      const events = [first, ...others, ...(isMarked ? [marked] : []), deleted]
      return judge(
        replay,
        events.toSorted((left, right) => left.time - right.time),
      )
    }
    const plan = [
      { name: "a", value: "1", due: 0 },
      { name: "a", value: undefined, due: 30_000 },
    ]

    test("is extra, and early", () => {
      for (const isMarked of [false, true]) {
        const report = early(plan, 5000, isMarked)
        expect(report).toMatchObject({
          score: { objectsEqual: 0, statesInOrder: 0.5, onTime: 0.5, gapsWithin: 0 },
          objects: { total: 1, equal: 0 },
          states: { equal: 1, early: 1, extra: 1 },
          onTime: { total: 2, within: 1, early: 1, late: 0 },
        })
        expect(report.worst[0]).toMatchObject({
          result: "early",
          reason: "the object was gone 25.00 s before its deletion was due",
        })
        const begun = isMarked ? "began to delete it" : "deleted it"
        expect(report.details[0]?.extra).toMatchObject([
          { reason: `something else in the cluster ${begun}, 25.0 s before it was due` },
        ])
      }
    })

    test("by the garbage collector, because the replay deleted the namespace, is as intended; that it was early is told", () => {
      const replay = replayOf(plan)
      const { journal } = replay
      for (const verb of ["apply", "delete"] as const) {
        const due = verb === "apply" ? 0 : 4000
        const place = { gvk: "v1.Namespace", namespace: "", name: "virtual-shop" }
        const schedule = { dueMs: due, plannedMs: due, pausedMs: 0 }
        const number = journal.submitted({ place, verb, time: start + due * 1000, due: schedule })
        const outcome = { tag: "accepted", uid: "", version: verb === "apply" ? "50" : "" } as const
        journal.settled(number, {
          sentMs: due + 1,
          settledMs: due + 2,
          outcome,
          body: verb === "apply" ? "{}" : undefined,
        })
      }
      const deletion = journal.writes[1] as (typeof journal.writes)[number]
      deletion.outcome = { tag: "skipped", reason: "did not exist in the target" }
      const events = [replay.events[0] as ObjectEvent, eventOf({ name: "a", value: undefined, due: 0 }, 5, 5000)]
      const { states, onTime } = judge(replay, events)
      expect(states).toMatchObject({ equal: 2, early: 0, extra: 0 })
      expect(onTime).toMatchObject({ within: 1, early: 1 })
    })
  })

  test("a deletion that the replay did not make has it as extra", () => {
    const replay = replayOf([{ name: "a", value: "1", due: 0 }])
    const deletion = eventOf({ name: "a", value: undefined, due: 0 }, 5, 50)
    expect(judge(replay, [...replay.events, deletion]).details[0]?.extra).toMatchObject([
      { reason: "something else in the cluster deleted it" },
    ])
  })

  test("a kind only in part counts it as not recorded, and calls none of its objects equal", () => {
    const replay = replayOf([{ name: "a", value: "1", due: 0 }])
    const report = judge(replay, [], ["v1.ConfigMap"])
    expect(report.states).toMatchObject({ total: 1, unmeasured: 1, missing: 0 })
    expect(report.objects).toMatchObject({ total: 1, equal: 0, unmeasured: 1 })
    expect(report.score).toMatchObject({ objectsEqual: 0, statesInOrder: 0, onTime: 0, gapsWithin: null })
  })
})

test("a state before the kind was recorded is not measured, and the listed one stands for the last", () => {
  const replay = replayOf([0, 10, 20].map((due) => ({ name: "a", value: `${due}`, due })))
  const listed = { ...(replay.events[1] as ObjectEvent), resourceVersion: "115" }
  const { states, objects } = judge(replay, [listed, ...replay.events.slice(2)], [], 15)
  expect([states.total, states.equal, states.missing, objects.equal]).toEqual([2, 2, 0, 1])
})

describe("objects over time", () => {
  test("are counted as they were due and as they were observed", () => {
    const replay = replayOf([
      { name: "a", value: "1", due: 0 },
      { name: "b", value: "1", due: 400 },
      { name: "a", value: undefined, due: 800 },
    ])
    const { stepMs, points, objects, lateMs } = judge(replay, replay.events).timeline
    expect([stepMs, points]).toEqual([2, 402])
    const at = (counts: ReadonlyArray<number> | undefined, ms: number) => counts?.[Math.floor(ms / stepMs)]
    const { recorded, replayed } = {
      recorded: objects.recorded["v1.ConfigMap"],
      replayed: objects.replayed["v1.ConfigMap"],
    }
    expect([0, 399, 400, 799, 800].map((ms) => at(recorded, ms))).toEqual([1, 1, 2, 2, 1])
    expect([0, 2, 403, 799, 803].map((ms) => at(replayed, ms))).toEqual([0, 1, 2, 2, 1])
    expect(lateMs.observed.filter((each) => each !== null)).toEqual([3, 3, 3])
  })
  test("nodes are counted in the trace and in the target, changes of one once", () => {
    const { journal, events } = replayOf([{ name: "a", value: "1", due: 400 }])
    const node = (name: string, at: number, action: "applied" | "deleted"): ObjectEvent => ({
      ...eventOf({ name, value: action === "applied" ? "1" : undefined, due: at }, 0, at),
      ...{ gvk: "v1.Node", namespace: "" },
    })
    const object = Buffer.from("{}")
    journal.passed({ time: start, gvk: "v1.Node", namespace: "", name: "n1", object }, undefined)
    for (const [at, each] of [
      [100, object],
      [200, undefined],
    ] as const)
      journal.passed({ time: start + at * 1000, gvk: "v1.Node", namespace: "", name: "n1", object: each }, at)
    const ofTarget = [node("m1", -5, "applied"), node("m1", 10, "applied"), node("m2", 300, "applied")]
    const { stepMs, nodes } = judge({ journal, events }, [...ofTarget, ...events]).timeline
    const at = (counts: ReadonlyArray<number> | null, ms: number) => counts?.[Math.floor(ms / stepMs)]
    expect([0, 199, 200].map((ms) => at(nodes.recorded, ms))).toEqual([1, 1, 0])
    expect([0, 299, 300].map((ms) => at(nodes.replayed, ms))).toEqual([1, 1, 2])
    expect(judge({ journal, events }, events, ["v1.Node"]).timeline.nodes.replayed).toBeNull()
  })
})
