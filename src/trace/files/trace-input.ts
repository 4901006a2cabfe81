/** Traces to read: files and pipes, which may be read twice. */
import { createReadStream } from "node:fs"
import { stat } from "node:fs/promises"
import * as Schema from "effect/Schema"
import { decompressed } from "../formats/compression.ts"
import type { Spool } from "../spool.ts"
import { codeOf, ExportInterrupted } from "./output-errors.ts"

/** The input cannot be read. */
export class InputUnreadable extends Schema.TaggedError<InputUnreadable>()("InputUnreadable", {
  path: Schema.String,
  /** Code of the operating system: `ENOENT`, `EACCES`, … */
  code: Schema.String,
}) {
  override get message(): string {
    const why =
      this.code === "ENOENT"
        ? "file not found"
        : this.code === "EISDIR"
          ? "it is a directory"
          : this.code === "EACCES"
            ? "permission denied"
            : `reading failed (${this.code})`
    return `cannot read ${this.path}: ${why}`
  }
}

/** A trace to read. */
export interface TraceInput {
  readonly bytes: AsyncIterable<Uint8Array>
  /** `undefined` for a pipe. */
  readonly size: number | undefined
}

/** How much has been read. */
export interface ReadProgress {
  /** Bytes of the input as it is on disk (compressed), counted again on each pass. */
  bytesRead: number
}

interface ReadOptions {
  /** For messages. */
  readonly inputName: string
  readonly signal: AbortSignal
  readonly onProgress: () => void
}

/** The decompressed bytes of an input. Rejects with {@link InputUnreadable}, ExportInterrupted or DecompressionError. */
export const plainTrace = (
  bytes: AsyncIterable<Uint8Array>,
  options: ReadOptions,
  progress: ReadProgress,
): AsyncGenerator<Uint8Array, void> => decompressed(counted(bytes, progress, options))

/** Passes the bytes on and keeps a copy of them in the spool. Throws SpoolError. */
export async function* keptIn(spool: Spool, bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void> {
  for await (const piece of bytes) {
    spool.append(piece)
    yield piece
  }
}

/** The bytes that {@link keptIn} kept. Throws SpoolError. */
export async function* readAgain(spool: Spool): AsyncGenerator<Uint8Array, void> {
  // Copied, because a decompressor keeps a piece for longer than the spool does.
  for (const piece of spool.read()) yield Uint8Array.from(piece)
}

async function* counted(
  bytes: AsyncIterable<Uint8Array>,
  progress: ReadProgress,
  { inputName, signal, onProgress }: ReadOptions,
): AsyncGenerator<Uint8Array, void> {
  const iterator = bytes[Symbol.asyncIterator]()
  try {
    while (true) {
      // Ctrl-C must take effect even while nothing is written to the pipe.
      const next = await abortable(iterator.next(), signal)
      if (next.done === true) return
      progress.bytesRead += next.value.length
      onProgress()
      yield next.value
    }
  } catch (cause) {
    if (cause instanceof Error && "syscall" in cause)
      throw new InputUnreadable({ path: inputName, code: codeOf(cause) })
    throw cause
  } finally {
    // Not awaited: it would wait for the read that is in progress.
    void Promise.allSettled([iterator.return?.()])
  }
}

const abortable = <Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value> =>
  new Promise((resolve, reject) => {
    const abort = (): void => reject(new ExportInterrupted())
    if (signal.aborted) abort()
    else signal.addEventListener("abort", abort, { once: true })
    // Also after an abort: without a handler, a read that fails later would end the process.
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort))
  })

/** A file, or standard input for `-`. Rejects with {@link InputUnreadable}. */
export const openTraceFile = async (path: string): Promise<TraceInput> => {
  if (path === "-") return { bytes: process.stdin, size: undefined }
  try {
    const status = await stat(path)
    if (status.isDirectory()) throw new InputUnreadable({ path, code: "EISDIR" })
    return { bytes: createReadStream(path), size: status.isFile() ? status.size : undefined }
  } catch (cause) {
    throw cause instanceof InputUnreadable ? cause : new InputUnreadable({ path, code: codeOf(cause) })
  }
}

/**
 * Bytes that can be received only once, for readers that start at any time and each read all of them: what arrives is
 * written to a spool at once, so that no slow reader delays or breaks the connection that it comes from.
 */
export class SpooledBytes implements Disposable {
  readonly #spool: Spool
  #isOver = false
  #failure: { readonly error: unknown } | undefined
  #more = Promise.withResolvers<void>()

  /** Starts to receive. The spool is closed with this. */
  constructor(spool: Spool, bytes: AsyncIterable<Uint8Array>) {
    this.#spool = spool
    void this.#receive(bytes)
  }

  /** All bytes, from the first one; waits for those that have not arrived. Throws the error of the source, and SpoolError. */
  async *read(): AsyncGenerator<Uint8Array, void> {
    for (let position = 0; ; ) {
      const more = this.#more.promise
      const isLast = this.#isOver
      for (const piece of this.#spool.read(position)) {
        position += piece.length
        // Copied, because a decompressor keeps a piece for longer than the spool does.
        yield Uint8Array.from(piece)
      }
      if (isLast && this.#failure !== undefined) throw this.#failure.error
      if (isLast) return
      await more
    }
  }

  /** Readers must have ended. What is still to be received is dropped. */
  [Symbol.dispose](): void {
    this.#isOver = true
    this.#spool[Symbol.dispose]()
  }

  async #receive(bytes: AsyncIterable<Uint8Array>): Promise<void> {
    try {
      for await (const piece of bytes) {
        if (this.#isOver) return
        this.#spool.append(piece)
        this.#more.resolve()
        this.#more = Promise.withResolvers()
      }
    } catch (error) {
      this.#failure = { error }
    }
    this.#isOver = true
    this.#more.resolve()
  }
}
