import { describe, expect, test } from "vitest"
import { type StartDelays, startDelayMarks } from "../../../src/simulation/pods/pod-lives.ts"

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
