/** Images: a guest that continues from one behaves as the one that was never stopped. */

import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { encodeGuestResponse } from "../../../src/host/guest/abi-values.ts"
import { GuestImageError, GuestMemoryRefused, GuestMisuse, GuestTrap } from "../../../src/host/guest/errors.ts"
import type { GuestImage } from "../../../src/host/guest/guest-image.ts"
import { compileText, errorOf, imports, instantiate, mebibyte } from "./test-guests.ts"

const response = encodeGuestResponse({ status: 200, headers: new Map(), body: Buffer.from("{}") })

/** Counts in a global of each type, none of them exported, and in memory; `run` must not run twice. */
const counting = compileText({
  fields: `${imports}
    (global $runs (mut i32) (i32.const 0))
    (global $constant i32 (i32.const 77))
    (global $wakes (mut i64) (i64.const -9223372036854775808))
    (global $halves (mut f32) (f32.const 0))
    (global $thirds (mut f64) (f64.const 0))
    (func $start (i32.store (i32.const 0) (i32.add (i32.load (i32.const 0)) (i32.const 1))))
    (start $start)
    (func (export "_initialize") (i32.store (i32.const 4) (i32.add (i32.load (i32.const 4)) (i32.const 1))))`,
  run: `
    (global.set $runs (i32.add (global.get $runs) (i32.const 1)))
    (drop (call $delay (i64.const 10))) (drop (call $delay (i64.const 20)))`,
  future: `
    (global.set $wakes (i64.add (global.get $wakes) (i64.const 1)))
    (global.set $halves (f32.add (global.get $halves) (f32.const 0.5)))
    (global.set $thirds (f64.add (global.get $thirds) (f64.div (f64.const 1) (f64.const 3))))
    (drop (memory.grow (i32.const 1)))
    (i32.store (i32.const 8) (global.get $runs))
    (i64.store (i32.const 16) (global.get $wakes))
    (f32.store (i32.const 24) (global.get $halves))
    (f64.store (i32.const 32) (global.get $thirds))
    (drop (call $delay (i64.const 30)))`,
})

const counters = ({ memory }: GuestImage) => {
  const view = new DataView(memory.buffer, memory.byteOffset)
  return {
    starts: view.getInt32(0, true),
    initializations: view.getInt32(4, true),
    runs: view.getInt32(8, true),
    wakes: view.getBigInt64(16, true) + 2n ** 63n,
    halves: view.getFloat32(24, true),
    thirds: view.getFloat64(32, true),
  }
}

const started = () => {
  const parts = instantiate(counting)
  parts.guest.start()
  return parts
}

describe("A guest that continues from an image", () => {
  test("has its memory, its globals, its operations and the next id, and runs nothing again", () => {
    const { guest } = started()
    guest.wakeFuture(0n, undefined)
    const { guest: restored, host } = instantiate(counting, { image: guest.image() })
    expect(restored.memoryBytes).toBe(2 * 65_536)
    expect([...restored.operations]).toEqual([
      [1n, "delay"],
      [2n, "delay"],
    ])
    expect(restored.wakeFuture(0n, undefined)).toBe(false)
    expect(restored.wakeFuture(1n, undefined)).toBe(true)
    expect([...host.delays]).toEqual([[3n, 30n]])
    expect(counters(restored.image())).toEqual({
      starts: 1,
      initializations: 1,
      runs: 1,
      wakes: 2n,
      halves: 1,
      thirds: 1 / 3 + 1 / 3,
    })
    expect(errorOf(GuestMisuse, () => restored.start()).misuse).toBe("already-started")
  })

  test("is as one that was never stopped, whenever it was stopped", () => {
    const wakes = fc.array(fc.record({ id: fc.bigInt({ min: 0n, max: 12n }), stop: fc.boolean() }), { maxLength: 10 })
    fc.assert(
      fc.property(wakes, (steps) => {
        const { guest: whole } = started()
        let { guest: stopped } = started()
        for (const { id, stop } of steps) {
          if (stop) ({ guest: stopped } = instantiate(counting, { image: stopped.image() }))
          expect(stopped.wakeFuture(id, undefined)).toBe(whole.wakeFuture(id, undefined))
        }
        expect(counters(stopped.image())).toEqual(counters(whole.image()))
        expect(stopped.image()).toEqual(whole.image())
      }),
      { numRuns: 30 },
    )
  })

  test("shares nothing with the guest that it was taken from, nor with the image", () => {
    const { guest } = started()
    const image = guest.image()
    guest.wakeFuture(0n, undefined)
    const { guest: restored } = instantiate(counting, { image })
    restored.wakeFuture(0n, undefined)
    restored.wakeFuture(1n, undefined)
    expect(counters(guest.image()).wakes).toBe(1n)
    expect(image.operations.size).toBe(2)
    expect(counters(image).wakes).toBe(2n ** 63n)
  })

  test("needs a limit that its memory fits into", () => {
    const { guest } = started()
    guest.wakeFuture(0n, undefined)
    const image = guest.image()
    expect(
      errorOf(GuestMemoryRefused, () => instantiate(counting, { image, maximumMemoryBytes: 65_536 })),
    ).toMatchObject({
      wantedBytes: 2 * 65_536,
      limitBytes: 65_536,
    })
  })
})

describe("An image is refused", () => {
  const { guest } = started()
  const image = guest.image()

  test("for another module, and for one with the same hash and other globals", () => {
    const other = compileText({ run: "nop" })
    expect(errorOf(GuestImageError, () => instantiate(other, { image })).fault).toBe("other-module")
    const fewer = { ...image, globals: image.globals.slice(1) }
    expect(errorOf(GuestImageError, () => instantiate(counting, { image: fewer })).fault).toBe("other-module")
  })

  test("of a module whose state cannot be read", () => {
    const hidden = instantiate(compileText({ fields: "(global $g (mut funcref) (ref.null func))" })).guest
    hidden.start()
    const error = errorOf(GuestImageError, () => hidden.image())
    expect(error.fault).toBe("unsupported")
    expect(error.message).toContain("mutable globals")
  })

  test("of a guest that has ended", () => {
    const { guest: failing } = instantiate(compileText({ run: "unreachable" }))
    errorOf(GuestTrap, () => failing.start())
    expect(errorOf(GuestTrap, () => failing.image()).fault).toBe("trap")
  })
})

test("A restored guest answers the response that its predecessor asked for", () => {
  const asking = compileText({
    fields: `${imports} (data (i32.const 16) "\\03\\00\\00\\00\\00\\00\\00\\00GET\\01\\00\\00\\00\\00\\00\\00\\00/")`,
    // The empty headers and body are the zeros behind.
    run: "(drop (call $request (i32.const 16) (i32.const 36)))",
    future: "(i32.store (i32.const 0) (local.get $length))",
  })
  const { guest, host } = instantiate(asking)
  guest.start()
  expect(host.requests.get(0n)).toMatchObject({ method: "GET", uri: "/" })
  const { guest: restored } = instantiate(asking, { image: guest.image(), maximumMemoryBytes: mebibyte })
  restored.wakeFuture(0n, response)
  expect(new DataView(restored.image().memory.buffer).getInt32(0, true)).toBe(response.length)
})
