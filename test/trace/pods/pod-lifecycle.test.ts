/** What one Pod object shows about its life, and what follows from a sequence of them. */
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import {
  endedLifetime,
  nextLifetime,
  type ObservedLifetime,
  observeLifetime,
  type PodLifetime,
} from "../../../src/trace/pods/pod-lifecycle.ts"

/** Seconds since the Unix epoch in the API server's format. */
const at = (seconds: number): string => new Date(seconds * 1000).toISOString().replace(".000Z", "Z")
const running = (seconds: number) => ({ state: { running: { startedAt: at(seconds) } } })
const waiting = { state: { waiting: { reason: "CrashLoopBackOff" } } }
const ended = (start: number, end: number) => ({
  state: { terminated: { exitCode: 0, startedAt: at(start), finishedAt: at(end) } },
})
const observe = (
  main: ReadonlyArray<unknown>,
  init: ReadonlyArray<unknown> = [],
  containers = main.length,
): ReturnType<typeof observeLifetime> =>
  observeLifetime({ initContainerStatuses: init, containerStatuses: main }, () => containers)

describe("a Pod object", () => {
  test("that is waiting shows nothing", () => {
    expect(observe([waiting])).toEqual({ start: undefined, end: undefined, oddity: undefined })
    expect(observeLifetime({}, () => 1)).toEqual({ start: undefined, end: undefined, oddity: undefined })
    expect(observeLifetime({ phase: "Pending", containerStatuses: null }, () => 1)).toMatchObject({ start: undefined })
  })

  test("started with its first container, even an init container, running or ended", () => {
    expect(observe([running(20), running(15)])).toMatchObject({ start: 15, end: undefined })
    expect(observe([waiting], [ended(3, 5)])).toMatchObject({ start: 3, end: undefined })
  })

  test("has ended when every main container of its spec has, at the last end of all", () => {
    expect(observe([ended(10, 30), ended(11, 20)])).toMatchObject({ start: 10, end: 30 })
    expect(observe([ended(10, 12)], [ended(3, 40)])).toMatchObject({ start: 3, end: 40 })
    expect(observe([ended(10, 30), running(11)])).toMatchObject({ start: 10, end: undefined })
    // The kubelet has reported only one of two yet.
    expect(observe([ended(10, 30)], [], 2)).toMatchObject({ start: 10, end: undefined })
  })

  test("treats an anomaly as absent, and reports it", () => {
    expect(observe([{ state: {} }])).toMatchObject({ start: undefined, oddity: "a container has no state or several" })
    expect(observe([{ state: { ...running(1).state, ...waiting.state } }, running(7)])).toMatchObject({
      start: 7,
      oddity: "a container has no state or several",
    })
    expect(observe([{ state: { running: { startedAt: null } } }])).toMatchObject({
      start: undefined,
      oddity: "a container's state lacks its time",
    })
    // ContainerStatusUnknown: its start is unknown.
    expect(observe([{ state: { terminated: { startedAt: null, finishedAt: at(9) } } }])).toMatchObject({
      start: undefined,
      end: 9,
    })
    expect(observe([{ name: "without state" }, running(4)])).toMatchObject({ start: 4, oddity: undefined })
  })

  test.each([
    [undefined, "it has no status"],
    [null, "it has no status"],
    ["Running", "its status is not an object"],
    [[], "its status is not an object"],
    [{ containerStatuses: {} }, "its container statuses are not a list of objects"],
    [{ initContainerStatuses: [7] }, "its container statuses are not a list of objects"],
    [{ containerStatuses: [{ state: "running" }] }, "the state of a container is not an object"],
    [{ containerStatuses: [{ state: { running: true } }] }, "the state of a container is not an object"],
    [{ containerStatuses: [{ state: { running: { startedAt: 5 } } }] }, "a container has an invalid time"],
    [{ containerStatuses: [{ state: { running: { startedAt: "yesterday" } } }] }, "a container has an invalid time"],
    [{ containerStatuses: [{ state: { running: { startedAt: "2026-02-31" } } }] }, "a container has an invalid time"],
  ])("%j is rejected with the reason", (status, problem) => {
    expect(observeLifetime(status, () => 1)).toBe(problem)
  })

  test("without a list of containers cannot have ended", () => {
    expect(observeLifetime({ containerStatuses: [ended(1, 2)] }, () => undefined)).toBe("spec.containers is not a list")
  })

  test("never causes an exception, whatever it holds", () => {
    const state = fc.dictionary(fc.constantFrom("running", "waiting", "terminated", "x"), fc.anything())
    const status = fc.oneof(fc.record({ state }), fc.anything())
    const statuses = fc.oneof(fc.array(status), fc.anything())
    fc.assert(
      fc.property(fc.record({ initContainerStatuses: statuses, containerStatuses: statuses }), (given) => {
        const observed = observeLifetime(given, () => 1)
        if (typeof observed !== "string" && observed.start !== undefined)
          expect(observed.start).toBe(Math.floor(observed.start))
      }),
    )
  })
})

const life = (...observed: ReadonlyArray<ReturnType<typeof observeLifetime>>): PodLifetime | undefined =>
  observed.reduce<PodLifetime | undefined>(
    (before, each) => (typeof each === "string" ? before : nextLifetime(before, each)),
    undefined,
  )

describe("a pod's life", () => {
  test("starts once it runs and ends once it has", () => {
    expect(life(observe([waiting]))).toBeUndefined()
    expect(life(observe([waiting]), observe([running(5)]))).toEqual({ start: 5, end: undefined })
    expect(life(observe([running(5)]), observe([ended(5, 9)]))).toEqual({ start: 5, end: 9 })
  })

  test("keeps its first start when a container is restarted, runs again, and ends at the last end (W-35)", () => {
    const first = [observe([running(5)]), observe([ended(5, 9)])]
    expect(life(...first, observe([waiting]))).toEqual({ start: 5, end: 9 })
    expect(life(...first, observe([waiting]), observe([running(19)]))).toEqual({ start: 5, end: undefined })
    expect(life(...first, observe([running(19)]), observe([ended(19, 30)]))).toEqual({ start: 5, end: 30 })
    expect(life(...first, observe([ended(19, 30)]))).toEqual({ start: 5, end: 30 })
  })

  test("is the same value while nothing changes", () => {
    const before = { start: 5, end: undefined }
    expect(nextLifetime(before, { start: 7, end: undefined, oddity: undefined })).toBe(before)
    expect(nextLifetime(before, { start: undefined, end: undefined, oddity: undefined })).toBe(before)
  })

  test("ends when its deletion arrives, unless it had ended", () => {
    expect(endedLifetime({ start: 5, end: undefined }, 8)).toEqual({ start: 5, end: 8 })
    expect(endedLifetime({ start: 5, end: 7 }, 8)).toEqual({ start: 5, end: 7 })
    // The node's clock is ahead of ours.
    expect(endedLifetime({ start: 5, end: undefined }, 3)).toEqual({ start: 5, end: 5 })
  })

  test("never ends before it started; its first start and the last object's end win, whatever the order of times", () => {
    const seconds = fc.integer({ min: -10, max: 2_000_000_000 })
    const observed: fc.Arbitrary<ObservedLifetime> = fc.record({
      start: fc.option(seconds, { nil: undefined }),
      end: fc.option(seconds, { nil: undefined }),
      oddity: fc.constant(undefined),
    })
    fc.assert(
      fc.property(fc.array(observed, { maxLength: 12 }), seconds, (objects, told) => {
        let now: PodLifetime | undefined
        for (const object of objects) {
          now = nextLifetime(now, object)
          if (now?.end !== undefined) expect(now.end).toBeGreaterThanOrEqual(now.start)
        }
        const started = objects.filter(({ start }) => start !== undefined)
        expect(now?.start).toBe(started[0]?.start)
        if (now === undefined) return
        const last = started.at(-1)
        expect(now.end).toBe(last?.end === undefined ? undefined : Math.max(last.end, now.start))
        const gone = endedLifetime(now, told)
        expect(gone.start).toBe(now.start)
        expect(gone.end).toBe(now.end ?? Math.max(told, now.start))
      }),
    )
  })
})
