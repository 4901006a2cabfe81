import { describe, expect, test } from "vitest"
import type { Hook } from "../../../src/simulation/api/simulation.ts"
import type { HookRun } from "../../../src/simulation/api/status.ts"
import { describeHookFailure, type HookOutcome, isRunOf, runPhase } from "../../../src/simulation/hooks/run-phase.ts"

/** A status that keeps what is recorded, and can be as unavailable as an API server. */
const phase = (outcomes: Readonly<Record<string, HookOutcome>>, repetition?: number) => {
  const status: HookRun[] = []
  const ran: string[] = []
  const state = { writesLeft: Number.POSITIVE_INFINITY }
  const run = (hooks: ReadonlyArray<Hook>) =>
    runPhase({
      phase: "preRun",
      repetition,
      hooks,
      earlier: [...status],
      record: async (each) => {
        if (state.writesLeft-- <= 0) throw new Error("the API server is away")
        const place = status.findIndex((other) => isRunOf(other, { ...each, repetition: each.repetition }))
        if (place < 0) status.push(each)
        else status[place] = each
      },
      run: async ({ cmd }) => {
        expect(status.at(-1)).toMatchObject({ startTime: "now" })
        expect(status.at(-1)).not.toHaveProperty("endTime")
        ran.push(cmd)
        return outcomes[cmd] ?? { exitCode: 0, output: "" }
      },
      now: () => "now",
    })
  return { status, ran, state, run }
}

describe("the hooks of a phase", () => {
  test("run in order, each recorded before and after", async () => {
    const { status, ran, run } = phase({ a: { exitCode: 0, output: "done\n" } }, 2)
    expect(await run([{ cmd: "a" }, { cmd: "b" }])).toBeUndefined()
    expect(ran).toEqual(["a", "b"])
    const common = { phase: "preRun", repetition: 2, startTime: "now", endTime: "now", exitCode: 0 }
    expect(status).toEqual([
      { ...common, index: 0, output: "done\n" },
      { ...common, index: 1 },
    ])
  })

  test("end with the first failure; those after it do not run", async () => {
    const { ran, run } = phase({ a: { exitCode: 4, output: "first\nno such cluster\n" } })
    const failure = await run([{ cmd: "a", args: ["-x"] }, { cmd: "b" }])
    expect(ran).toEqual(["a"])
    expect(failure && describeHookFailure(failure)).toBe(
      "the preRun hook 1 (a -x) failed: it ended with exit code 4; the end of its output: no such cluster",
    )
  })

  test.each<[string, boolean | undefined, number]>([
    ["is not ignored by default, unlike in SimKube (W-53)", undefined, 1],
    ["is not ignored if that is said", false, 1],
    ["is ignored if that is said", true, 2],
  ])("a failure %s", async (_, ignoreFailure, runs) => {
    const { ran, run } = phase({ a: { message: "a was not found", output: "" } })
    const failure = await run([{ cmd: "a", ...(ignoreFailure !== undefined && { ignoreFailure }) }, { cmd: "b" }])
    expect(ran).toHaveLength(runs)
    expect(failure === undefined).toBe(ignoreFailure === true)
  })

  test("are run at most once, whichever write of the status is the last before a crash", async () => {
    const hooks: Hook[] = [{ cmd: "a" }, { cmd: "b" }, { cmd: "c" }]
    for (let writes = 0; writes <= 6; writes++) {
      const { status, ran, state, run } = phase({})
      state.writesLeft = writes
      await run(hooks).catch(() => undefined)
      state.writesLeft = Number.POSITIVE_INFINITY
      const failure = await run(hooks)
      expect(new Set(ran).size).toBe(ran.length)
      // A hook whose start is recorded and whose end is not may have had its effect: it has failed.
      expect(failure?.run.message).toBe(writes % 2 === 1 ? "it was interrupted" : undefined)
      expect(failure === undefined ? ran : status).toHaveLength(failure === undefined ? 3 : (writes + 1) / 2)
    }
  })
})
