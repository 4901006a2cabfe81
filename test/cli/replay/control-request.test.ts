/** What a request over HTTP does to a replay, and when it does nothing. */
import { expect, test } from "vitest"
import { follow } from "../../../src/cli/replay/control/control-server.ts"
import type { ReplayControl } from "../../../src/cli/replay/control/replay-control.ts"

const controlled = (facts: Pick<ReplayControl["run"], "isPaused" | "isOver">) => {
  const calls: string[] = []
  const control: ReplayControl = {
    run: {
      ...facts,
      speed: 1,
      pause: () => calls.push("pause"),
      resume: () => calls.push("resume"),
      setSpeed: (speed) => calls.push(`speed ${speed}`),
      step: (moments) => calls.push(`step ${moments}`),
    },
    stop: () => calls.push("stop"),
  }
  return { control, calls }
}

test("speed takes effect first, then pause, step and stop", () => {
  const { control, calls } = controlled({ isPaused: false, isOver: false })
  expect(follow({ stop: true, step: 2, paused: true, speed: 10 }, control)).toBeUndefined()
  expect(calls).toEqual(["speed 10", "pause", "step 2", "stop"])
})

test("a step that cannot be made is a conflict with its reason, and nothing else is done", () => {
  for (const [isPaused, isOver, message] of [
    [false, false, /not paused/],
    [true, true, /end of its trace/],
  ] as const) {
    const { control, calls } = controlled({ isPaused, isOver })
    expect(follow({ step: 1, speed: 10 }, control)).toMatchObject({
      status: 409,
      message: expect.stringMatching(message),
    })
    expect(calls).toEqual([])
  }
})
