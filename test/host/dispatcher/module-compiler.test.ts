/** Modules are compiled in a thread of their own, one after the other, each within its deadline. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest"
import type { Clock } from "../../../src/clock.ts"
import { CompilationOverrun, ModuleCompiler, ModuleRefused } from "../../../src/host/dispatcher/module-compiler.ts"
import { hostWorkerEntry } from "../../../src/host/worker-entries.ts"
import { ManualClock } from "../../runtime/manual-clock.ts"
import { buildOddGuest } from "./odd-guests.ts"

const directory = mkdtempSync(join(tmpdir(), "kubereel-compiled-"))
afterAll(() => rmSync(directory, { recursive: true, force: true }))
let guest: string
beforeAll(() => {
  guest = buildOddGuest(directory, "shop")
})

const start = (given?: Pick<Clock, "after">) => {
  const manual = new ManualClock()
  const clock = given ?? manual
  const compiler = new ModuleCompiler({ entry: hostWorkerEntry("module-compiler"), deadlineMs: 1000, clock })
  onTestFinished(() => compiler.close())
  return { clock: manual, compiler }
}

test("a module is compiled elsewhere and can be instantiated here; no timer is left behind", async () => {
  const { clock, compiler } = start()
  const compiled = await compiler.compile(guest, "shop")
  expect(compiled).toMatchObject({ name: "shop", minimumPages: expect.any(Number) })
  expect(compiled.module).toBeInstanceOf(WebAssembly.Module)
  expect(clock.pending).toBe(0)
})

test("a file that is no module or is not there is refused by name, and the next one is compiled", async () => {
  const { compiler } = start()
  const text = compiler.compile(import.meta.filename, "text")
  const absent = compiler.compile(`${guest}.absent`, "absent")
  const good = compiler.compile(guest, "shop")
  await expect(text).rejects.toThrow(ModuleRefused)
  await expect(text).rejects.toThrow(/module text is refused: it is not WebAssembly/)
  await expect(absent).rejects.toThrow(/ENOENT/)
  expect((await good).name).toBe("shop")
})

test("a compilation that overruns its deadline ends with its thread, and those that wait begin theirs then", async () => {
  const deadlines: Array<() => void> = []
  const clock = {
    after: (_: number, overrun: () => void) => {
      // Of the first one: when it has just been passed to the thread.
      if (deadlines.push(overrun) === 1) setImmediate(overrun)
      return { cancel: () => undefined }
    },
  }
  const { compiler } = start(clock)
  const slow = compiler.compile(guest, "slow")
  const next = compiler.compile(guest, "next")
  await expect(slow).rejects.toThrow(CompilationOverrun)
  await expect(slow).rejects.toThrow("it was not compiled within 1000 ms")
  expect((await next).name).toBe("next")
  expect(deadlines).toHaveLength(2)
})

test("what is asked of a compiler that is closed rejects", async () => {
  const { compiler } = start()
  await compiler.compile(guest, "shop")
  await compiler.close()
  await expect(compiler.compile(guest, "shop")).rejects.toThrow("the compiler of modules has been closed")
})
