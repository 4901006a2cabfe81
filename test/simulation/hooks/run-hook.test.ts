import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { describe, expect, test } from "vitest"
import { systemClock } from "../../../src/clock.ts"
import type { Hook } from "../../../src/simulation/api/simulation.ts"
import { type HookOutcome, type HookSurroundings, runHook } from "../../../src/simulation/hooks/run-phase.ts"
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
    const { output } = await run(shell("setsid sleep 5 & echo $!"))
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
