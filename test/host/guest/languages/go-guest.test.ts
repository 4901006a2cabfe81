/** A guest in Go, built as its users build theirs. Skipped where there is no Go. */

import { execFileSync, spawnSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { beforeAll, describe, expect, test } from "vitest"
import { encodeGuestResponse } from "../../../../src/host/guest/abi-values.ts"
import { type CompiledGuest, compileGuest } from "../../../../src/host/guest/compiled-guest.ts"
import { GuestExit, GuestMemoryRefused, GuestTrap } from "../../../../src/host/guest/errors.ts"
import { patient } from "../../../harness/patience.ts"
import { errorOf, instantiate, mebibyte } from "../test-guests.ts"

const source = fileURLToPath(new URL("./go", import.meta.url))
const hasGo = spawnSync("go", ["version"]).status === 0
if (!hasGo) console.warn("Go is not installed: guests in Go are not tested")

describe.runIf(hasGo)("A guest in Go", () => {
  let compiled: CompiledGuest

  // The first build on a machine compiles Go's standard library.
  beforeAll(() => {
    const directory = mkdtempSync(join(tmpdir(), "kubereel-go-"))
    const binary = join(directory, "guest.wasm")
    const env = { ...process.env, GOOS: "wasip1", GOARCH: "wasm", GOFLAGS: "-mod=mod", GOWORK: "off" }
    execFileSync("go", ["build", "-buildmode=c-shared", "-o", binary, "."], { cwd: source, env, stdio: "pipe" })
    compiled = compileGuest(readFileSync(binary), "gopher")
    rmSync(directory, { recursive: true })
  }, patient(240_000))

  const started = (options: Parameters<typeof instantiate>[1] = {}) => {
    const parts = instantiate(compiled, { maximumMemoryBytes: 64 * mebibyte, ...options })
    parts.guest.start()
    return parts
  }
  const tell = (guest: ReturnType<typeof started>["guest"], value: string) => guest.wakeStream(0n, Buffer.from(value))

  test("starts with its environment, and asks for a watch, a request and a delay", () => {
    const { host } = started({ env: [{ name: "NAMESPACE", value: "default" }] })
    expect(host.lines).toEqual(["stdout: started gopher default 2023-11-14T22:13:20Z"])
    expect(host.watches.get(0n)).toMatchObject({ apiVersion: "v1", kind: "Pod", allowBookmarks: true })
    expect(host.requests.get(1n)).toMatchObject({ method: "POST", uri: "/api?" })
    expect(Buffer.from(host.requests.get(1n)?.body ?? []).toString()).toBe("body")
    expect(host.delays.get(2n)).toBe(2n ** 40n)
  })

  test("is woken with values, a response, the end of a delay and the end of its watch", () => {
    const { guest, host } = started()
    const response = encodeGuestResponse({ status: 200, headers: new Map(), body: Buffer.from("{}") })
    tell(guest, "added")
    guest.wakeFuture(1n, response)
    guest.wakeFuture(2n, undefined)
    tell(guest, "spawn")
    guest.wakeStream(0n, undefined)
    expect(host.lines.slice(1)).toEqual([
      "stdout: seen 0 [added]",
      `stdout: response 1 ${Buffer.from(response).toString("hex")}`,
      "stdout: waited 2",
      "stdout: seen 0 [added from another goroutine]",
      "stdout: ended 0",
    ])
  })

  test("keeps what it knows across garbage collections", () => {
    const { guest, host } = started()
    for (const value of ["one", "two", "collect", "spawn", "three"]) tell(guest, value)
    expect(host.lines.at(-1)).toBe("stdout: seen 0 [one two collect from another goroutine three]")
    expect([...guest.operations.values()]).toEqual(["watch", "request", "delay"])
  })

  test("has the host's random numbers, and no files", () => {
    const { guest, host } = started()
    tell(guest, "random")
    tell(guest, "files")
    expect(host.lines.slice(1)).toEqual(["stdout: 0102030405060708 <nil>", "stdout: open /etc/passwd: Bad file number"])
  })

  test("that panics traps; the trap names the function, and the log says why", () => {
    const { guest, host } = started()
    const error = errorOf(GuestTrap, () => tell(guest, "panic"))
    expect(error).toMatchObject({ fault: "trap", reason: "unreachable", during: "wakeup_stream" })
    expect(error.frames).toContain("main.wakeupStream")
    expect(host.lines).toContain("stderr: panic: as told")
  })

  test("that calls os.Exit ends itself only", () => {
    const { guest } = started()
    expect(errorOf(GuestExit, () => tell(guest, "exit")).code).toBe(7)
  })

  test("that sleeps is ended, and told what to do instead", () => {
    const { guest } = started()
    const error = errorOf(GuestTrap, () => tell(guest, "sleep"))
    expect(error.fault).toBe("sleep")
    expect(error.reason).toContain("use delay of the ABI")
  })

  test("that takes more and more memory ends at its limit", () => {
    const { guest, host } = started()
    expect(errorOf(GuestTrap, () => tell(guest, "eat"))).toMatchObject({ fault: "trap", limitBytes: 64 * mebibyte })
    expect(host.lines).toContain("stderr: fatal error: out of memory")
    expect(guest.memoryBytes).toBeLessThanOrEqual(64 * mebibyte)
    expect(guest.memoryBytes).toBeGreaterThan(56 * mebibyte)
  })

  test("does not begin with less memory than it has", () => {
    expect(errorOf(GuestMemoryRefused, () => started({ maximumMemoryBytes: mebibyte })).limitBytes).toBe(mebibyte)
  })
})
