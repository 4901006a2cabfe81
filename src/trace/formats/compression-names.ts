/** Detects a compression by a file's name or by its first bytes. */

/** `none`, or how a file is compressed. */
export type Compression = "none" | "zstd" | "gzip"

const EXTENSIONS: ReadonlyArray<readonly [extension: string, compression: Compression]> = [
  [".zst", "zstd"],
  [".gz", "gzip"],
]

/** The name without the extension of a compression, and that compression. Letter case does not matter. */
export const withoutCompressionExtension = (
  file: string,
): { readonly base: string; readonly compression: Compression } => {
  for (const [extension, compression] of EXTENSIONS)
    if (file.toLowerCase().endsWith(extension)) return { base: file.slice(0, -extension.length), compression }
  return { base: file, compression: "none" }
}

/** Number of bytes that {@link compressionOfBytes} needs. */
export const COMPRESSION_SIGNATURE_BYTES = 4

/**
 * Detects it by the first bytes, which no trace starts with: a frame of zstd (RFC 8878; also a skippable one, which pzstd writes), or a
 * member of gzip (RFC 1952).
 */
export const compressionOfBytes = (head: Uint8Array): Compression => {
  const [a = 0, b = 0, c = 0, d = 0] = head
  if (a === 0x28 && b === 0xb5 && c === 0x2f && d === 0xfd) return "zstd"
  if ((a & 0xf0) === 0x50 && b === 0x2a && c === 0x4d && d === 0x18) return "zstd"
  return a === 0x1f && b === 0x8b ? "gzip" : "none"
}
