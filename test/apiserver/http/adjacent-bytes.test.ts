/** Joining pieces of memory must neither lose, repeat nor reorder a byte, wherever the pieces lie. */

import fc from "fast-check"
import { expect, test } from "vitest"
import { AdjacentBytes } from "../../../src/apiserver/http/watch-stream.ts"

/** Every byte of both is different. */
const memories = [0, 64].map((first) => Buffer.from(Array.from({ length: 64 }, (_, at) => first + at)))

/** Pieces of either memory, many of which start where the previous one ends; `true` takes what has been added. */
const steps = fc.array(
  fc.oneof(
    fc.record({ memory: fc.nat(1), length: fc.integer({ min: 1, max: 5 }), from: fc.option(fc.nat(59)) }),
    fc.constant("take" as const),
  ),
  { maxLength: 40 },
)

test("the output is the input, in order", () => {
  fc.assert(
    fc.property(steps, (list) => {
      const run = new AdjacentBytes()
      const [given, sent]: [number[], number[]] = [[], []]
      const send = (bytes: Buffer | undefined): void => {
        if (bytes !== undefined) sent.push(...bytes)
      }
      let at = 0
      for (const step of list) {
        if (step === "take") send(run.take())
        else {
          at = step.from ?? (at > 59 ? 0 : at)
          const piece = memories[step.memory]?.subarray(at, at + step.length) ?? Buffer.alloc(0)
          at += step.length
          given.push(...piece)
          send(run.add(piece))
        }
      }
      send(run.take())
      expect(sent).toEqual(given)
      expect(run.take()).toBeUndefined()
    }),
  )
})

test("adjacent pieces are joined without a copy", () => {
  const memory = Buffer.from("one, two, three")
  const run = new AdjacentBytes()
  expect(run.add(memory.subarray(0, 5))).toBeUndefined()
  expect(run.add(memory.subarray(5, 10))).toBeUndefined()
  expect(run.length).toBe(10)
  const taken = run.take()
  expect(taken?.toString()).toBe("one, two, ")
  expect(taken?.buffer).toBe(memory.buffer)
})

test("a piece after a gap, or in another memory, returns the bytes held so far", () => {
  const memory = Buffer.from("one, two, three")
  const run = new AdjacentBytes()
  run.add(memory.subarray(0, 3))
  expect(run.add(memory.subarray(5, 8))?.toString()).toBe("one")
  expect(run.add(Buffer.from("four"))?.toString()).toBe("two")
  expect(run.take()?.toString()).toBe("four")
  expect(run.length).toBe(0)
})
