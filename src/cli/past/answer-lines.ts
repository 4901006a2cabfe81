/** The lines of an answer, however its bytes are cut into pieces. */

const lineFeed = 0x0a

/** Lines without their ends. A line may be as long as an object. */
export async function* linesOf(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, void> {
  let begun: Uint8Array[] = []
  for await (const piece of pieces) {
    let start = 0
    for (let end = piece.indexOf(lineFeed); end >= 0; end = piece.indexOf(lineFeed, start)) {
      yield Buffer.concat([...begun, piece.subarray(start, end)])
      begun = []
      start = end + 1
    }
    if (start < piece.length) begun.push(Uint8Array.from(piece.subarray(start)))
  }
  if (begun.length > 0) yield Buffer.concat(begun)
}
