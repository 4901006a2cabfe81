/** Damage to bytes, from plausible (truncated, a byte flipped) to malicious (a structural character elsewhere). */

import fc from "fast-check"

type Mutation = (bytes: Buffer) => Buffer

const at = fc.double({ min: 0, max: 1, noNaN: true })
const position = (bytes: Buffer, where: number): number => Math.min(Math.floor(where * bytes.length), bytes.length)

const flipBit = fc.tuple(at, fc.integer({ min: 0, max: 7 })).map(
  ([where, bit]): Mutation =>
    (bytes) => {
      const copy = Buffer.from(bytes)
      const index = Math.min(position(bytes, where), bytes.length - 1)
      if (index >= 0) copy[index] = (copy[index] ?? 0) ^ (1 << bit)
      return copy
    },
)

const insert = fc
  .tuple(
    at,
    fc.constantFrom(
      '"',
      "\\",
      "{",
      "}",
      "[",
      "]",
      ",",
      ":",
      " ",
      "\n",
      "\0",
      "0",
      "-",
      "e",
      "t",
      '"name":"x",',
      "\\u12",
    ),
  )
  .map(
    ([where, text]): Mutation =>
      (bytes) => {
        const index = position(bytes, where)
        return Buffer.concat([bytes.subarray(0, index), Buffer.from(text), bytes.subarray(index)])
      },
  )

const remove = fc.tuple(at, fc.integer({ min: 1, max: 3 })).map(
  ([where, length]): Mutation =>
    (bytes) => {
      const index = position(bytes, where)
      return Buffer.concat([bytes.subarray(0, index), bytes.subarray(index + length)])
    },
)

const truncate = at.map(
  (where): Mutation =>
    (bytes) =>
      Buffer.from(bytes.subarray(0, position(bytes, where))),
)

const repeat = fc.tuple(at, at).map(
  ([first, second]): Mutation =>
    (bytes) => {
      const from = position(bytes, Math.min(first, second))
      const to = position(bytes, Math.max(first, second))
      return Buffer.concat([bytes.subarray(0, to), bytes.subarray(from)])
    },
)

/** One or two mutations in succession. */
export const mutated: fc.Arbitrary<Mutation> = fc
  .array(
    fc.oneof(
      { weight: 5, arbitrary: flipBit },
      { weight: 3, arbitrary: insert },
      { weight: 2, arbitrary: remove },
      { weight: 1, arbitrary: truncate },
      { weight: 1, arbitrary: repeat },
    ),
    { minLength: 1, maxLength: 2 },
  )
  .map((mutations) => (bytes) => mutations.reduce((damaged, mutation) => mutation(damaged), bytes))
