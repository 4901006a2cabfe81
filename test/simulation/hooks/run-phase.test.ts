import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { describe, expect, test } from "vitest"
import { systemClock } from "../../../src/clock.ts"
import type { Hook } from "../../../src/simulation/api/simulation.ts"
import type { HookRun } from "../../../src/simulation/api/status.ts"
import {
  describeHookFailure,
  type HookOutcome,
  type HookSurroundings,
  isRunOf,
  runHook,
  runPhase,
} from "../../../src/simulation/hooks/run-phase.ts"
import { eventually } from "../../harness/eventually.ts"
import { temporaryDirectory } from "../../harness/temporary-directory.ts"

const run = (hook: Hook, surroundings: Partial<HookSurroundings> = {}): Promise<HookOutcome> =>
  runHook(hook, {
    simulation: { metadata: { name: "demo" } },
    environment: { PATH: process.env.PATH },
    timers: systemClock,
    signal: new AbortController().signal,
    onOutput: () => undefined,
    ...surroundings,
  })

const shell = (script: string, rest: Partial<Hook> = {}): Hook => ({ cmd: "/bin/sh", args: ["-c", script], ...rest })

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

describe("a hook", () => {
  test("has the exit code and the output of its program, both streams in one", async () => {
    expect(await run(shell("echo out; echo err >&2; exit 3"))).toEqual({ exitCode: 3, output: "out\nerr\n" })
  })

  test("gets its arguments as they are, without a shell in between", async () => {
    expect(await run({ cmd: "printf", args: ["%s|", "$HOME", "a b", "*"] })).toEqual({
      exitCode: 0,
      output: "$HOME|a b|*|",
    })
  })

  test("reads the Simulation from its input if it asks for it, and nothing otherwise", async () => {
    expect(await run({ cmd: "cat", sendSim: true })).toEqual({ exitCode: 0, output: '{"metadata":{"name":"demo"}}' })
    expect(await run({ cmd: "cat" })).toEqual({ exitCode: 0, output: "" })
  })

  test("that does not read a large Simulation does not fail for it", async () => {
    const simulation = { data: "x".repeat(1_000_000) }
    expect(await run({ cmd: "true", sendSim: true }, { simulation })).toEqual({ exitCode: 0, output: "" })
  })

  test.each<[string, Hook, RegExp]>([
    ["does not exist", { cmd: "/no/such/program" }, /\/no\/such\/program was not found/],
    ["is empty", { cmd: "" }, /cannot be started/],
    ["has a NUL in an argument", { cmd: "echo", args: ["a\0b"] }, /cannot be started/],
    ["ends by a signal", shell("kill -ABRT $$"), /ended by SIGABRT/],
    ["has a timeout that is none", { cmd: "true", timeout: "soon" }, /timeout soon is no duration/],
  ])("whose program %s has no exit code, and a message", async (_, hook, message) => {
    const outcome = await run(hook)
    expect(outcome.exitCode).toBeUndefined()
    expect(outcome.message).toMatch(message)
  })

  test("keeps the end of long output, and passes all of it on", async () => {
    let bytes = 0
    const onOutput = (chunk: Buffer): void => {
      bytes += chunk.length
    }
    const { output } = await run(shell("yes é | head -c 300000; printf 'the end'"), { onOutput })
    expect(bytes).toBe(300_007)
    expect(Buffer.byteLength(output)).toBeLessThanOrEqual(2048)
    expect(Buffer.byteLength(output)).toBeGreaterThan(2040)
    expect(output).not.toContain("\ufffd")
    expect(output.endsWith("the end")).toBe(true)
  })

  test("that takes too long is ended with what it has started", async () => {
    const directory = temporaryDirectory()
    const file = join(directory, "pid")
    const outcome = await run(shell(`sleep 600 & echo $! > ${file}; echo begun; wait`, { timeout: "200ms" }))
    expect(outcome).toEqual({ message: "it took longer than 200ms and was ended", output: "begun\n" })
    const pid = Number(await readFile(file, "utf8"))
    await eventually(() => expect(isAlive(pid)).toBe(false))
  })

  test("leaves no process behind when it ends by itself", async () => {
    const { output, exitCode } = await run(shell("sleep 600 >/dev/null 2>&1 & echo $!"))
    expect(exitCode).toBe(0)
    await eventually(() => expect(isAlive(Number(output))).toBe(false))
  })

  test("whose process keeps the pipes open is not waited for", async () => {
    const timers = { after: (ms: number, action: () => void) => systemClock.after(ms / 10, action) }
    const { output } = await run(shell("setsid sleep 5 & echo $!"), { timers })
    process.kill(Number(output), "SIGKILL")
    expect(output).toMatch(/^\d+\n$/)
  })

  test("is ended when the simulation is", async () => {
    const stop = new AbortController()
    const outcome = await run(shell("echo begun; sleep 600"), { signal: stop.signal, onOutput: () => stop.abort() })
    expect(outcome).toEqual({ message: "it was interrupted", output: "begun\n" })
    expect(await run(shell("echo never"), { signal: stop.signal })).toEqual({
      message: "it was interrupted",
      output: "",
    })
  })
})

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
