import fc from "fast-check"
import { expect, test } from "vitest"
import { rounds } from "../../harness/effort.ts"
import { patient } from "../../harness/patience.ts"
import { ModelledStream, type Outcome } from "./modelled-stream.ts"

const writer = fc.nat({ max: 4 })
const outcome = fc.constantFrom<Outcome>("ok", "ok", "ok", "ok", "fails", "answer-lost", "delayed")

type Move = (stream: ModelledStream) => void

/** A command that goes well and whose answer arrives is the most frequent: otherwise nothing is ever shipped. */
const move: fc.Arbitrary<Move> = fc.oneof(
  {
    weight: 6,
    arbitrary: writer.map(
      (w): Move =>
        (stream) =>
          stream.record(w),
    ),
  },
  {
    weight: 30,
    arbitrary: fc.tuple(writer, outcome, fc.integer({ min: 1, max: 3 })).map(
      ([w, how, events]): Move =>
        (stream) => {
          stream.perform(w, how, events)
          stream.deliver(w)
        },
    ),
  },
  {
    weight: 10,
    arbitrary: fc.tuple(writer, outcome).map(
      ([w, how]): Move =>
        (stream) =>
          stream.perform(w, how, 2),
    ),
  },
  {
    weight: 10,
    arbitrary: writer.map(
      (w): Move =>
        (stream) =>
          stream.deliver(w),
    ),
  },
  {
    weight: 3,
    arbitrary: writer.map(
      (w): Move =>
        (stream) =>
          stream.kill(w),
    ),
  },
  {
    weight: 1,
    arbitrary: writer.map(
      (w): Move =>
        (stream) =>
          stream.loseBytes(w),
    ),
  },
  {
    weight: 2,
    arbitrary: writer.map(
      (w): Move =>
        (stream) =>
          stream.restart(w),
    ),
  },
  { weight: 1, arbitrary: fc.constant<Move>((stream) => stream.join()) },
  {
    weight: 1,
    arbitrary: writer.map(
      (w): Move =>
        (stream) =>
          stream.copy(w),
    ),
  },
  {
    weight: 1,
    arbitrary: writer.map(
      (w): Move =>
        (stream) =>
          stream.snapshot(w),
    ),
  },
  {
    weight: 1,
    arbitrary: writer.map(
      (w): Move =>
        (stream) =>
          stream.putBack(w),
    ),
  },
  {
    weight: 2,
    arbitrary: fc.nat({ max: 9 }).map(
      (which): Move =>
        (stream) =>
          stream.arrive(which),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.nat({ max: 9 }).map(
      (through): Move =>
        (stream) =>
          stream.compact(through),
    ),
  },
  { weight: 1, arbitrary: fc.constant<Move>((stream) => stream.removeCompacted()) },
)

test("whatever recorders, copies of them, the store and a compaction do, each number has one segment, nothing is doubled and nothing shipped is lost", {
  timeout: patient(120_000),
}, () => {
  const seen = { fenced: 0, adopted: 0, takenOver: 0 }
  fc.assert(
    fc.property(fc.array(move, { minLength: 100, maxLength: 400, size: "max" }), (moves) => {
      const stream = new ModelledStream()
      for (const each of moves) {
        each(stream)
        stream.check()
      }
      stream.settle()
      for (const what of ["fenced", "adopted", "takenOver"] as const) seen[what] += stream.seen[what]
    }),
    { numRuns: rounds(400) },
  )
  // Otherwise the model tries nothing.
  expect(Math.min(seen.fenced, seen.adopted, seen.takenOver)).toBeGreaterThan(10)
})

/** What happens to a recorder that nobody takes over, and whose directory is neither copied nor put back. */
const lonelyMove: fc.Arbitrary<Move> = fc.oneof(
  { weight: 4, arbitrary: fc.constant<Move>((stream) => stream.record(0)) },
  {
    weight: 10,
    arbitrary: outcome.map(
      (how): Move =>
        (stream) =>
          stream.perform(0, how, 2),
    ),
  },
  { weight: 8, arbitrary: fc.constant<Move>((stream) => stream.deliver(0)) },
  { weight: 2, arbitrary: fc.constant<Move>((stream) => stream.kill(0)) },
  { weight: 2, arbitrary: fc.constant<Move>((stream) => stream.restart(0)) },
  { weight: 1, arbitrary: fc.constant<Move>((stream) => stream.loseBytes(0)) },
  {
    weight: 1,
    arbitrary: fc.nat({ max: 9 }).map(
      (which): Move =>
        (stream) =>
          stream.arrive(which),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.nat({ max: 9 }).map(
      (through): Move =>
        (stream) =>
          stream.compact(through),
    ),
  },
  { weight: 1, arbitrary: fc.constant<Move>((stream) => stream.removeCompacted()) },
)

test("a recorder that nobody takes over is never fenced, whatever is lost, delayed or killed", {
  timeout: patient(60_000),
}, () => {
  fc.assert(
    fc.property(fc.array(lonelyMove, { minLength: 50, maxLength: 100, size: "max" }), (moves) => {
      const stream = new ModelledStream()
      for (const each of moves) {
        each(stream)
        stream.check()
      }
      stream.settle()
      expect(stream.seen).toMatchObject({ fenced: 0, takenOver: 0 })
    }),
    { numRuns: rounds(1000) },
  )
})
