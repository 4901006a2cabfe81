/**
 * Compresses and decompresses streams: memory is that of the codec (zstd level 3 about 2 MiB), and a slow reader slows the source.
 *
 * Uncompressed bytes pass through uncopied. Several frames or members in a row are one file, as `cat` produces them.
 */

import { Readable } from "node:stream"
import { constants, createGunzip, createGzip, createZstdCompress, createZstdDecompress } from "node:zlib"
import * as Schema from "effect/Schema"
import { COMPRESSION_SIGNATURE_BYTES, type Compression, compressionOfBytes } from "./compression-names.ts"

/** The compressed bytes are damaged or end too early. */
export class DecompressionError extends Schema.TaggedError<DecompressionError>()("DecompressionError", {
  compression: Schema.Literals(["zstd", "gzip"]),
  /** Number of uncompressed bytes before the damage. */
  offset: Schema.Int,
  /** The codec's message. */
  detail: Schema.String,
}) {
  override get message(): string {
    return `the ${this.compression} data is damaged after byte ${this.offset} of its contents: ${this.detail}`
  }
}

/**
 * The uncompressed bytes of a source; its first bytes decide about the compression, not its name.
 * @throws DecompressionError, and any error of the source.
 */
export async function* decompressed(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void> {
  const iterator = source[Symbol.asyncIterator]()
  try {
    const { head, isEnd } = await takeHead(iterator, COMPRESSION_SIGNATURE_BYTES)
    const compression = compressionOfBytes(head)
    const whole = isEnd ? single(head) : continued(head, iterator)
    if (compression === "none") yield* whole
    else yield* inflated(whole, compression)
  } finally {
    await iterator.return?.()
  }
}

/** The bytes of a source, compressed; for `none` unchanged. Throws any error of the source. */
export async function* compressed(
  source: AsyncIterable<Uint8Array>,
  compression: Compression,
): AsyncGenerator<Uint8Array, void> {
  if (compression === "none") return yield* source
  const codec =
    compression === "gzip"
      ? createGzip()
      : // So that a damaged file is found out wherever the damage is.
        createZstdCompress({ params: { [constants.ZSTD_c_checksumFlag]: 1 } })
  yield* throughCodec(source, codec)
}

async function* inflated(
  source: AsyncIterable<Uint8Array>,
  compression: "zstd" | "gzip",
): AsyncGenerator<Uint8Array, void> {
  let offset = 0
  let failure: unknown
  const watched = async function* (): AsyncGenerator<Uint8Array, void> {
    try {
      yield* source
    } catch (error) {
      failure = error
      throw error
    }
  }
  const codec = compression === "gzip" ? createGunzip() : createZstdDecompress()
  try {
    for await (const piece of throughCodec(watched(), codec)) {
      offset += piece.length
      yield piece
    }
  } catch (error) {
    if (failure !== undefined || !isCodecError(error)) throw error
    throw new DecompressionError({ compression, offset, detail: error.message })
  }
}

const isCodecError = (error: unknown): error is Error =>
  error instanceof Error && "code" in error && /^(?:Z_|ZSTD_|ERR_ZSTD|ERR_BUFFER|ERR_OUT_OF)/.test(String(error.code))

/** Driven by the reader: the source is read as fast as the codec's output is consumed. */
async function* throughCodec(
  source: AsyncIterable<Uint8Array>,
  codec: ReturnType<typeof createGzip> | ReturnType<typeof createZstdCompress>,
): AsyncGenerator<Uint8Array, void> {
  const input = Readable.from(source, { objectMode: false, highWaterMark: 64 * 1024 })
  input.on("error", (error) => codec.destroy(error))
  input.pipe(codec)
  try {
    yield* codec as AsyncIterable<Buffer>
  } finally {
    input.destroy()
    codec.destroy()
  }
}

/** At least the first `length` bytes, or all if there are fewer. */
export const takeHead = async (
  iterator: AsyncIterator<Uint8Array>,
  length: number,
): Promise<{ readonly head: Uint8Array; readonly isEnd: boolean }> => {
  let head: Uint8Array = new Uint8Array(0)
  while (head.length < length) {
    const next = await iterator.next()
    if (next.done === true) return { head, isEnd: true }
    head = head.length === 0 ? next.value : Buffer.concat([head, next.value])
  }
  return { head, isEnd: false }
}

/** The bytes that {@link takeHead} read, followed by the rest. */
export async function* continued(head: Uint8Array, rest: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array, void> {
  if (head.length > 0) yield head
  for (let next = await rest.next(); next.done !== true; next = await rest.next()) yield next.value
}

async function* single(piece: Uint8Array): AsyncGenerator<Uint8Array, void> {
  if (piece.length > 0) yield piece
}
