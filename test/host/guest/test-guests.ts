/** Guests written in WebAssembly's text format for tests, and a host that notes what they ask for. */

import binaryen from "assemblyscript/binaryen"
import { expect } from "vitest"
import type { GuestRequest, WatchRequest } from "../../../src/host/guest/abi-values.ts"
import { type CompiledGuest, compileGuest } from "../../../src/host/guest/compiled-guest.ts"
import { type GuestHost, GuestInstance, type GuestOptions } from "../../../src/host/guest/guest-instance.ts"
import { ManualClock } from "../../runtime/manual-clock.ts"

/** The binary of a module's text. */
export const assemble = (text: string): Uint8Array => {
  const module = binaryen.parseText(text)
  try {
    module.setFeatures(binaryen.Features.All)
    // With the names of functions, which traps tell.
    binaryen.setDebugInfo(true)
    return module.emitBinary()
  } finally {
    module.dispose()
  }
}

interface Parts {
  /** Fields of the module: imports first, then whatever else. */
  readonly fields?: string
  /** Instead of one page. */
  readonly memory?: string
  /** Bodies of the exports; the parameters are `$id`, `$pointer`, `$length` and `$size`. */
  readonly run?: string
  readonly future?: string
  readonly stream?: string
  readonly allocate?: string
}

/** The ABI's imports under the names `$request`, `$delay` and `$watch`. */
export const imports = `
  (import "http-proxy-abi" "request" (func $request (param i32 i32) (result i64)))
  (import "delay-abi" "delay" (func $delay (param i64) (result i64)))
  (import "kube-watch-abi" "watch" (func $watch (param i32 i32) (result i64)))`

/** A complete guest. Its `allocate` hands out addresses from 4096 on, and never takes any back. */
export const guestText = (parts: Parts = {}): string => `(module
  ${parts.fields ?? imports}
  (memory (export "memory") ${parts.memory ?? "1"})
  (global $free (mut i32) (i32.const 4096))
  (func (export "allocate") (param $size i32) (result i32) (local $start i32)
    ${parts.allocate ?? "(local.set $start (global.get $free)) (global.set $free (i32.add (global.get $free) (local.get $size))) (local.get $start)"})
  (func (export "run") ${parts.run ?? ""})
  (func (export "wakeup_future") (param $id i64) (param $pointer i32) (param $length i32) ${parts.future ?? ""})
  (func (export "wakeup_stream") (param $id i64) (param $pointer i32) (param $length i32) ${parts.stream ?? ""}))`

export const compileText = (parts: Parts = {}): CompiledGuest => compileGuest(assemble(guestText(parts)), "test")

/** Bytes as a string of the text format. */
export const literal = (bytes: Uint8Array): string =>
  `"${[...bytes].map((byte) => `\\${byte.toString(16).padStart(2, "0")}`).join("")}"`

/** Notes everything that the guest asks for, in order. */
export class NotingHost implements GuestHost {
  readonly watches = new Map<bigint, WatchRequest>()
  readonly requests = new Map<bigint, GuestRequest>()
  readonly delays = new Map<bigint, bigint>()
  readonly lines: string[] = []

  watch(id: bigint, request: WatchRequest): void {
    this.watches.set(id, request)
  }
  cancel(id: bigint): void {
    this.watches.delete(id)
  }
  request(id: bigint, request: GuestRequest): void {
    this.requests.set(id, request)
  }
  delay(id: bigint, ms: bigint): void {
    this.delays.set(id, ms)
  }
  log(stream: string, line: string): void {
    this.lines.push(`${stream}: ${line}`)
  }
}

/** Random bytes that are the same in each run. */
export const countingRandom = (bytes: Uint8Array): void => {
  for (const [index] of bytes.entries()) bytes[index] = index + 1
}

export const mebibyte = 1024 * 1024

/** An instance with 16 MiB, a clock of the test and a host that notes. */
export const instantiate = (compiled: CompiledGuest, options: Partial<GuestOptions> = {}) => {
  const host = new NotingHost()
  const clock = new ManualClock()
  const guest = new GuestInstance(compiled, {
    host,
    clock,
    random: countingRandom,
    maximumMemoryBytes: 16 * mebibyte,
    ...options,
  })
  return { guest, host, clock }
}

/** The error that an action throws; the test fails if there is none. */
export const errorOf = <Class extends Error>(kind: new (...values: never[]) => Class, action: () => unknown): Class => {
  try {
    action()
  } catch (cause) {
    if (cause instanceof kind) return cause
    throw cause
  }
  expect.fail(`no ${kind.name} was thrown`)
}
