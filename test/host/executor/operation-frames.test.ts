import fc from "fast-check"
import { describe, expect, test } from "vitest"
import {
  decodeCompletions,
  decodeOperations,
  encodeCompletions,
  encodeOperations,
} from "../../../src/host/executor/operation-frames.ts"

const text = fc.string({ unit: "grapheme" })
const life = { module: text, incarnation: fc.nat(2 ** 32 - 1) }
const number64 = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n })
const key = { ...life, id: number64 }
const bytes = fc.uint8Array({ maxLength: 100 })
const headers = fc.array(fc.tuple(text, fc.array(bytes))).map((entries) => new Map(entries))
const request = fc.record({ method: text, uri: text, headers, body: bytes })
const response = fc.record({ status: fc.nat(65_535), headers, body: bytes })

describe("Frames between module workers and the executor", () => {
  test("carry operations as they were", () => {
    const operation = fc.oneof(fc.record({ ...key, request }), fc.record({ ...key, delayMs: number64 }))
    const operations = fc.record({
      operations: fc.array(operation),
      ended: fc.array(fc.record(life)),
      outstanding: fc.array(fc.record(key)),
    })
    fc.assert(
      fc.property(operations, (given) => {
        expect(decodeOperations(encodeOperations(given))).toEqual(given)
      }),
    )
  })

  test("carry completions as they were", () => {
    const completion = fc.oneof(fc.record({ ...key, response }), fc.record(key))
    fc.assert(
      fc.property(fc.array(completion), (given) => {
        expect(decodeCompletions(encodeCompletions(given))).toEqual(given)
      }),
    )
  })

  test("are copies, so that the memory of the frame can be used again", () => {
    const given = { operations: [{ module: "m", incarnation: 1, id: 0n, request: sample }], ended: [], outstanding: [] }
    const frame = Buffer.from(encodeOperations(given))
    const decoded = decodeOperations(frame)
    frame.fill(0)
    expect(decoded).toEqual(given)
  })
})

const sample = {
  method: "POST",
  uri: "/api",
  headers: new Map([["a", [Uint8Array.of(1, 2), new Uint8Array(0)]]]),
  body: Uint8Array.of(0, 255, 7),
}
