/** An export's pieces, compressed on their way. */

import { compressed } from "../../trace/formats/compression.ts"
import type { Compression } from "../../trace/formats/compression-names.ts"

/** Pieces with memory of their own. Pauses are kept as turns of the event loop; the codec works in the system's threads. */
export async function* compressPieces(
  pieces: AsyncGenerator<Uint8Array, void>,
  compression: Compression,
): AsyncGenerator<Uint8Array, void> {
  // Whoever takes pieces gives their memory back, and the codec writes several into one.
  for await (const piece of compressed(withoutPauses(pieces), compression)) yield Uint8Array.from(piece)
}

async function* withoutPauses(pieces: AsyncGenerator<Uint8Array, void>): AsyncGenerator<Uint8Array, void> {
  for await (const piece of pieces) {
    if (piece.length > 0) yield piece
    else await new Promise<void>((resolve) => setImmediate(resolve))
  }
}
