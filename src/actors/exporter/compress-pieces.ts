/** Compresses the pieces of an export. */

import { compressed } from "../../trace/formats/compression.ts"
import type { Compression } from "../../trace/formats/compression-names.ts"

/** Pieces with their own memory. Pauses are passed on as turns of the event loop; the codec works in libuv's threads. */
export async function* compressPieces(
  pieces: AsyncGenerator<Uint8Array, void>,
  compression: Compression,
): AsyncGenerator<Uint8Array, void> {
  // The consumer releases the memory of each piece, and the codec puts several into one buffer.
  for await (const piece of compressed(withoutPauses(pieces), compression)) yield Uint8Array.from(piece)
}

async function* withoutPauses(pieces: AsyncGenerator<Uint8Array, void>): AsyncGenerator<Uint8Array, void> {
  for await (const piece of pieces) {
    if (piece.length > 0) yield piece
    else await new Promise<void>((resolve) => setImmediate(resolve))
  }
}
