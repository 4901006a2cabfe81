/** Feeds bytes to a consumer the way a socket might: split anywhere, in buffers that are reused. */

import fc from "fast-check"

/** Where to cut, as fractions of the whole. */
export const cuts: fc.Arbitrary<ReadonlyArray<number>> = fc.oneof(
  fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 8 }),
  fc.integer({ min: 1, max: 7 }).map((size) => [-size]),
)

interface Consumer {
  push(chunk: Buffer, start: number, end: number): void
}

/**
 * Pushes all of `bytes` in pieces. A single negative cut means pieces of that size. Every piece is surrounded by line feeds and brackets
 * that are not its own, and is overwritten after the call.
 */
export const pushInPieces = (bytes: Buffer, where: ReadonlyArray<number>, consumer: Consumer): void => {
  const [first = 0] = where
  const size = -first
  const positions =
    first < 0
      ? Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) => index * size)
      : where.map((fraction) => Math.floor(fraction * bytes.length)).sort((left, right) => left - right)
  const edges = [0, ...positions, bytes.length]
  for (let index = 1; index < edges.length; index++) {
    const piece = bytes.subarray(edges[index - 1], edges[index])
    const chunk = Buffer.concat([Buffer.from('\n"}]'), piece, Buffer.from('\n"}]')])
    consumer.push(chunk, 4, 4 + piece.length)
    chunk.fill(10)
  }
}
