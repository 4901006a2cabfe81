/**
 * Reads the configuration file from disk.
 *
 * Guarantee: reads at most one byte more than the largest allowed file, so that a device or a wrong file of any size leads to a
 * message and does not fill the memory. Files that are not regular files (a pipe, `/dev/stdin`) are read to their end.
 */
import { open } from "node:fs/promises"
import * as Effect from "effect/Effect"
import { type ParsedConfiguration, type ParseOptions, parseConfiguration } from "./parse-configuration.ts"
import { type ConfigurationError, ConfigurationUnreadableError } from "./problem.ts"
import { largestConfiguration } from "./yaml-document.ts"

/** Reads at most `limit` bytes from the beginning of a file. Rejects with the error of the operating system. */
export type ReadBeginning = (file: string, limit: number) => Promise<Uint8Array>

export interface LoadOptions extends Omit<ParseOptions, "source"> {
  /** Default: the file system. */
  readonly readBeginning?: ReadBeginning
}

/** The configuration in `file`, or all reasons why it cannot be used. */
export const loadConfiguration = Effect.fnUntraced(function* (
  file: string,
  options: LoadOptions,
): Effect.fn.Return<ParsedConfiguration, ConfigurationError> {
  const bytes = yield* Effect.tryPromise({
    try: () => (options.readBeginning ?? readFromDisk)(file, largestConfiguration + 1),
    catch: (cause) => new ConfigurationUnreadableError({ file, code: codeOf(cause) }),
  })
  return yield* Effect.fromResult(parseConfiguration(bytes, { ...options, source: file }))
})

/** From the file system. */
export const readFromDisk: ReadBeginning = async (file, limit) => {
  // Not `await using`: Node 22, which runs these sources too, does not know it.
  const handle = await open(file, "r")
  try {
    const buffer = Buffer.allocUnsafe(limit)
    let length = 0
    while (length < limit) {
      const { bytesRead } = await handle.read(buffer, length, limit - length, null)
      if (bytesRead === 0) break
      length += bytesRead
    }
    return buffer.subarray(0, length)
  } finally {
    await handle.close()
  }
}

const codeOf = (cause: unknown): string =>
  cause instanceof Error && "code" in cause && typeof cause.code === "string" ? cause.code : String(cause)
