/** A guest in AssemblyScript, compiled with its garbage collector, as its users compile theirs. */

import { execFileSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { beforeAll, describe, expect, test } from "vitest"
import { type CompiledGuest, compileGuest } from "../../../../src/host/guest/compiled-guest.ts"
import { GuestRefused, GuestTrap } from "../../../../src/host/guest/errors.ts"
import { patient } from "../../../harness/patience.ts"
import { errorOf, instantiate } from "../test-guests.ts"

const source = fileURLToPath(new URL("./assemblyscript/guest.ts", import.meta.url))
const compiler = fileURLToPath(import.meta.resolve("assemblyscript/bin/asc.js"))

// As a process, because the types of the compiler's interface redefine the global `console`.
const compile = (...options: string[]): Uint8Array => {
  const directory = mkdtempSync(join(tmpdir(), "kubereel-assemblyscript-"))
  try {
    const binary = join(directory, "guest.wasm")
    const parameters = [compiler, source, "--debug", "--outFile", binary, ...options]
    execFileSync(process.execPath, parameters, { stdio: "pipe" })
    return readFileSync(binary)
  } finally {
    rmSync(directory, { recursive: true })
  }
}

describe("A guest in AssemblyScript", () => {
  let compiled: CompiledGuest
  // What `throw` calls is otherwise imported from a module that the ABI does not have.
  beforeAll(() => {
    compiled = compileGuest(compile("--optimize", "--use", "abort="), "script")
  }, patient(30_000))

  test("whose errors go to env.abort is told that the ABI has no such import", { timeout: patient(30_000) }, () => {
    const binary = compile()
    const refused = errorOf(GuestRefused, () => compileGuest(binary, "script"))
    expect(refused).toMatchObject({ refusal: "unknown-imports", names: ["env.abort"] })
  })

  test("watches, waits, and keeps objects from one call to the next", () => {
    const { guest, host } = instantiate(compiled)
    guest.start()
    expect(host.watches.get(0n)).toMatchObject({ kind: "Secret", namespace: "kube-system" })
    for (const value of ["a", "b", "a"]) guest.wakeStream(0n, Buffer.from(value))
    guest.wakeFuture(1n, undefined)
    expect(host.lines).toEqual(["stdout: a 1 of 1", "stdout: b 1 of 2", "stdout: a 2 of 2", "stdout: waited 1"])
    expect([...host.delays.keys()]).toEqual([1n, 2n])
  })

  test("is woken very often, while its collector runs", () => {
    const { guest, host } = instantiate(compiled)
    guest.start()
    for (let round = 0; round < 2000; round++) guest.wakeStream(0n, Buffer.from(`value ${round % 50}`))
    expect(host.lines).toHaveLength(2000)
    expect(host.lines.at(-1)).toBe("stdout: value 49 40 of 50")
  })

  test("that throws traps, and the trap names the function", () => {
    const { guest } = instantiate(compiled)
    guest.start()
    const error = errorOf(GuestTrap, () => guest.wakeStream(0n, Buffer.from("throw")))
    expect(error).toMatchObject({ fault: "trap", during: "wakeup_stream" })
    expect(error.frames.join()).toContain("wakeup_stream")
  })
})
