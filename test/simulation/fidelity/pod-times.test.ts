import { describe, expect, test } from "vitest"
import { PodTimes, pendingMs, podOwner, runningMs, spreadOf } from "../../../src/simulation/fidelity/pod-times.ts"

import type { JsonValue } from "../../../src/trace/json/exact-json.ts"

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
  const times = (...states: ReadonlyArray<readonly [at: number, phase: string | undefined]>): PodTimes => {
    const pods = new PodTimes()
    for (const [at, phase] of states) pods.observe("shop/web", Math.max(0, at), at < 0, "shop/Deployment web", phase)
    return pods
  }
  const durations = (pods: PodTimes) => pods.lives.map((life) => [pendingMs(life), runningMs(life)])

  test.each([
    [
      "until it has succeeded",
      [
        [10, "Pending"],
        [30, "Running"],
        [90, "Succeeded"],
        [95, undefined],
      ],
      [[20, 60]],
    ],
    [
      "until it is deleted",
      [
        [10, "Pending"],
        [30, "Running"],
        [40, "Running"],
        [90, undefined],
      ],
      [[20, 60]],
    ],
    [
      "without its time of running",
      [
        [10, "Pending"],
        [90, "Failed"],
      ],
      [[80, 0]],
    ],
    [
      "that never started",
      [
        [10, "Pending"],
        [90, undefined],
      ],
      [[Number.NaN, Number.NaN]],
    ],
    [
      "that existed at the start",
      [
        [-5, "Pending"],
        [30, "Running"],
      ],
      [[Number.NaN, Number.NaN]],
    ],
    [
      "and of the next one of that name",
      [
        [10, "Running"],
        [20, undefined],
        [30, "Pending"],
        [35, "Running"],
      ],
      [
        [0, 10],
        [5, Number.NaN],
      ],
    ],
  ] as const)("are measured %s", (_, states, expected) => {
    expect(durations(times(...states))).toEqual(expected)
  })

  test("count it in one phase at a time", () => {
    const { steps } = times([10, "Pending"], [30, "Running"], [40, "Running"], [90, undefined])
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
