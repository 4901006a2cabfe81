/** Which modules are guests, and what those are told that are not. */

import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { compileGuest } from "../../../src/host/guest/compiled-guest.ts"
import { GuestRefused } from "../../../src/host/guest/errors.ts"
import { mutated } from "../../kube/scanner/mutation.ts"
import { assemble, errorOf, guestText, imports, instantiate } from "./test-guests.ts"

const refusalOf = (bytes: Uint8Array): GuestRefused => errorOf(GuestRefused, () => compileGuest(bytes, "mine"))
const refusalOfText = (text: string): GuestRefused => refusalOf(assemble(text))
const preamble = [0, 0x61, 0x73, 0x6d]

describe("Bytes that are no module", () => {
  test("are refused: none at all, a script, a part of a module's beginning", () => {
    for (const bytes of [Buffer.alloc(0), Buffer.from("#!/bin/sh\n"), Buffer.of(0, 0x61, 0x73)])
      expect(refusalOf(bytes)).toMatchObject({ refusal: "not-wasm", guest: "mine" })
    expect(refusalOf(Buffer.from("{}")).message).toBe("module mine is refused: it is not WebAssembly")
  })

  test("are refused as a component if they are one", () => {
    expect(refusalOf(Buffer.of(...preamble, 0x0d, 0, 1, 0)).refusal).toBe("component")
  })

  test("are refused as malformed: another version, cut off, code that does not validate", () => {
    expect(refusalOf(Buffer.of(...preamble, 2, 0, 0, 0)).refusal).toBe("malformed")
    expect(refusalOf(Buffer.of(...preamble, 1, 0)).refusal).toBe("malformed")
    const whole = assemble(guestText())
    for (const length of [9, 40, whole.length - 1])
      expect(refusalOf(whole.subarray(0, length)).refusal).toBe("malformed")
    const invalid = refusalOfText(guestText({ run: "(i32.const 1)" }))
    expect(invalid.refusal).toBe("malformed")
    expect(invalid.reason).toContain("Compiling function")
  })

  test("are refused or compiled whatever they are, and nothing else happens", () => {
    const valid = Buffer.from(assemble(guestText({ fields: `${imports} (table 3 funcref) (start $s) (func $s)` })))
    fc.assert(
      fc.property(mutated, (mutate) => {
        try {
          compileGuest(mutate(valid), "mine")
        } catch (cause) {
          expect(cause).toBeInstanceOf(GuestRefused)
        }
      }),
    )
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 100 }), (garbage) => {
        expect(refusalOf(Buffer.concat([Buffer.of(...preamble, 1, 0, 0, 0), garbage])).message).toContain("mine")
      }),
    )
  })
})

describe("A module of another kind", () => {
  test("is told all exports that it lacks", () => {
    const refused = refusalOfText('(module (memory 1) (func (export "run")))')
    expect(refused).toMatchObject({
      refusal: "missing-exports",
      names: ["allocate", "wakeup_future", "wakeup_stream", "memory"],
    })
    expect(refused.message).toBe(
      "module mine is refused: it does not export allocate, wakeup_future, wakeup_stream, memory",
    )
  })

  test("is recognised as one for the original's successor", () => {
    const text = `(module
      (import "http-proxy-abi" "request" (func (param i32 i32 i32) (result i64)))
      (memory (export "memory") 1) (func (export "_start"))
      (func (export "allocate") (param i32) (result i32) (i32.const 0))
      (func (export "wakeup") (param i64 i32 i32 i32)))`
    expect(refusalOfText(text)).toMatchObject({
      refusal: "successor-abi",
      names: ["run", "wakeup_future", "wakeup_stream"],
    })
  })

  test("is recognised as a WASI command", () => {
    expect(refusalOfText('(module (memory (export "memory") 1) (func (export "_start")))').refusal).toBe("command")
  })

  test("is told all imports that are unknown, each once", () => {
    const fields = `
      (import "env" "abort" (func (param i32 i32 i32 i32)))
      (import "kube-watch-abi" "watch" (func (param i32 i32) (result i64)))
      (import "wasi_unstable" "fd_close" (func (param i32) (result i32)))
      (import "env" "abort" (func (param i32)))
      (import "env" "base" (global i32))`
    expect(refusalOfText(guestText({ fields }))).toMatchObject({
      refusal: "unknown-imports",
      names: ["env.abort", "wasi_unstable.fd_close", "env.base"],
    })
  })

  test("cannot import what has a known name but is no function, nor its memory from the host", () => {
    const refusal = (fields: string) => refusalOfText(guestText({ fields })).names
    expect(refusal('(import "delay-abi" "delay" (global i32))')).toEqual(["delay-abi.delay"])
    expect(refusal('(import "kubereel" "table" (table 1 funcref))')).toEqual(["kubereel.table"])
    const memory = '(module (import "kubereel" "memory" (memory 1)) (export "memory" (memory 0)))'
    expect(refusalOfText(memory).reason).toBe("it has no memory of its own; the ABI has one")
  })

  test("is told exports that are something else", () => {
    const other = (name: string) => `${guestText().replace(`(export "${name}")`, "").slice(0, -1)}
      (global (export "${name}") i32 (i32.const 0)))`
    expect(refusalOfText(other("memory")).names).toEqual(["memory"])
    expect(refusalOfText(other("run")).names).toEqual(["run"])
  })

  test("is refused for what guests do not get: threads, 64-bit memories, several memories, GC types, huge tables", () => {
    const reason = (parts: Parameters<typeof guestText>[0]) => {
      const refused = refusalOfText(guestText(parts))
      expect(refused.refusal).toBe("unsupported")
      return refused.reason
    }
    expect(reason({ memory: "1 2 shared" })).toContain("shared between threads")
    expect(reason({ memory: "i64 1" })).toContain("64-bit")
    expect(reason({ fields: "(memory $second 1)" })).toContain("several memories")
    expect(reason({ fields: "(type $s (struct (field i32))) (global $g (ref null $s) (ref.null $s))" })).toContain(
      "garbage-collected",
    )
    expect(reason({ fields: "(table 60000 funcref) (table 60000 funcref)" })).toBe(
      "its tables have 120000 elements, of 100000 at most",
    )
  })
})

describe("A guest", () => {
  test("may import all of the ABI and of WASI, functions several times", () => {
    const again = imports.replaceAll("(func $", "(func $other_")
    const { guest } = instantiate(compileGuest(assemble(guestText({ fields: imports + again })), "mine"))
    guest.start()
    expect(guest.name).toBe("mine")
  })

  test("is plain data, so that threads share what is compiled", () => {
    const compiled = compileGuest(assemble(guestText({ run: "(drop (call $delay (i64.const 7)))" })), "mine")
    const { guest, host } = instantiate(structuredClone(compiled))
    guest.start()
    expect(host.delays.get(0n)).toBe(7n)
  })
})
