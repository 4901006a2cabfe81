/**
 * An output file that is either complete or absent.
 *
 * Bytes go to a new file in the same directory; `commit` makes them durable (fsync) and only then renames the file to the
 * requested name. A failure before that leaves the name untouched; `discard` removes the new file. Only a SIGKILL or a power
 * failure leaves `.reel-….partial` behind, which nothing ever reads. If the name already exists and is not a regular file
 * (`/dev/null`, a pipe), bytes are written to it directly: renaming over a device would replace the device.
 *
 * A trace contains what the recorded objects contain, so only its owner may read a new file (mode 0600). A file that is replaced keeps the mode that someone gave it.
 */
import * as fileSystemOfNode from "node:fs/promises"
import { dirname, join } from "node:path"
import type { Writable } from "node:stream"
import { codeOf, OutputExists, OutputFailed, standardOutputPath } from "./output-errors.ts"

/** The destination of a trace. All methods reject only with {@link OutputFailed} or {@link OutputExists}. */
export interface OutputSink {
  /** Bytes go where they were requested at once: to a device, a pipe or a stream. */
  readonly isDirect: boolean
  /** Resolves once all bytes have been taken. The caller may then reuse them. */
  readonly write: (bytes: Uint8Array) => Promise<void>
  /** Once it resolves, the file is durable under its name. Call it once. */
  readonly commit: () => Promise<void>
  /** Removes everything that was written. Does nothing after `commit`. Never rejects. */
  readonly discard: () => Promise<void>
  /** What `discard` could not remove, as a sentence without its full stop; `undefined`, or absent: nothing is left. */
  readonly remains?: () => string | undefined
}

interface OutputHandle {
  readonly write: (bytes: Uint8Array) => Promise<{ readonly bytesWritten: number }>
  readonly sync: () => Promise<void>
  readonly close: () => Promise<void>
  readonly chmod: (mode: number) => Promise<void>
}

/** The part of `node:fs/promises` that is used. */
export interface OutputFileSystem {
  readonly stat: (path: string) => Promise<{ isFile(): boolean; isDirectory(): boolean; readonly mode: number }>
  readonly realpath: (path: string) => Promise<string>
  readonly open: (path: string, flags: string, mode?: number) => Promise<OutputHandle>
  readonly link: (existing: string, path: string) => Promise<void>
  readonly rename: (from: string, to: string) => Promise<void>
  readonly unlink: (path: string) => Promise<void>
}

interface OutputFileOptions {
  /** Whether an existing file may be replaced. */
  readonly force: boolean
  /** Makes the name of the partial file unique: random, valid in a file name. */
  readonly token: string
  /** Of a new file, before the umask. Default 0600. */
  readonly mode?: number
  /** Default: Node's. */
  readonly fileSystem?: OutputFileSystem
}

/** Opens an output file. Rejects with {@link OutputExists} or {@link OutputFailed}. */
export const openOutputFile = async (path: string, options: OutputFileOptions): Promise<OutputSink> => {
  const fileSystem = options.fileSystem ?? fileSystemOfNode
  try {
    const { kind, mode } = await statusOf(path, fileSystem)
    if (kind === "directory") throw new OutputFailed({ path, code: "EISDIR" })
    if (kind === "special") return specialFile(path, await fileSystem.open(path, "w"))
    if (kind === "file" && !options.force) throw new OutputExists({ path })
    // A symbolic link is resolved now, so that the file it points to is replaced and not the link.
    const target = kind === "file" ? await fileSystem.realpath(path) : path
    const partial = join(dirname(target), `.reel-${options.token}.partial`)
    const handle = await fileSystem.open(partial, "wx", options.mode ?? ownerOnly)
    // File systems without modes refuse; the file then has what such a file system gives to all.
    if (mode !== undefined) await Promise.allSettled([handle.chmod(mode)])
    return regularFile({ path, target, partial, options, fileSystem }, handle)
  } catch (cause) {
    throw asOutputError(path, cause)
  }
}

/**
 * The same for what is written in one go at the end of long work: everything is checked now, and the new file exists only from the first
 * `write` on, so that work that is killed leaves nothing behind.
 */
export const openOutputForEnd = async (path: string, options: OutputFileOptions): Promise<OutputSink> => {
  const checked = await openOutputFile(path, options)
  if (checked.isDirect) return checked
  await checked.discard()
  let opened: Promise<OutputSink> | undefined
  const open = (): Promise<OutputSink> => {
    opened ??= openOutputFile(path, options)
    return opened
  }
  return {
    isDirect: false,
    write: async (bytes) => (await open()).write(bytes),
    commit: async () => (await open()).commit(),
    // What could not be opened has left nothing.
    discard: async () => opened?.then((sink) => sink.discard()).catch(() => undefined),
  }
}

const ownerOnly = 0o600

interface PathStatus {
  readonly kind: "absent" | "file" | "directory" | "special"
  /** The permissions of an existing file. */
  readonly mode?: number
}

const statusOf = async (path: string, fileSystem: OutputFileSystem): Promise<PathStatus> => {
  try {
    const status = await fileSystem.stat(path)
    if (status.isFile()) return { kind: "file", mode: status.mode & 0o777 }
    return { kind: status.isDirectory() ? "directory" : "special" }
  } catch (cause) {
    if (codeOf(cause) === "ENOENT") return { kind: "absent" }
    throw cause
  }
}

interface Place {
  readonly path: string
  readonly target: string
  readonly partial: string
  readonly options: OutputFileOptions
  readonly fileSystem: OutputFileSystem
}

const regularFile = (place: Place, handle: OutputHandle): OutputSink => {
  let isDone = false
  return {
    isDirect: false,
    write: (bytes) => translated(place.path, () => writeAll(handle, bytes)),
    commit: () =>
      translated(place.path, async () => {
        // A full or missing disk may not be reported before this point.
        await handle.sync()
        await handle.close()
        await publish(place)
        isDone = true
        await syncDirectory(place)
      }),
    discard: async () => {
      if (isDone) return
      isDone = true
      // Either may fail if `commit` got that far; what matters is that both are tried.
      await Promise.allSettled([handle.close()])
      await Promise.allSettled([place.fileSystem.unlink(place.partial)])
    },
  }
}

/** Gives the finished file its name atomically and, without `force`, never replaces a file that appeared in the meantime. */
const publish = async ({ path, target, partial, options, fileSystem }: Place): Promise<void> => {
  if (options.force) return fileSystem.rename(partial, target)
  try {
    await fileSystem.link(partial, target)
  } catch (cause) {
    if (codeOf(cause) === "EEXIST") throw new OutputExists({ path })
    // FAT and some network and container file systems have no hard links.
    return fileSystem.rename(partial, target)
  }
  await fileSystem.unlink(partial)
}

/** The name is durable only once its directory is synced. Not every system can open a directory; the data itself is already safe. */
const syncDirectory = async ({ target, fileSystem }: Place): Promise<void> => {
  const [opened] = await Promise.allSettled([fileSystem.open(dirname(target), "r")])
  if (opened?.status !== "fulfilled") return
  await Promise.allSettled([opened.value.sync()])
  await opened.value.close()
}

const specialFile = (path: string, handle: OutputHandle): OutputSink => {
  let isClosed = false
  const close = async (): Promise<void> => {
    if (isClosed) return
    isClosed = true
    await handle.close()
  }
  return {
    isDirect: true,
    write: (bytes) => translated(path, () => writeAll(handle, bytes)),
    commit: () => translated(path, close),
    discard: async () => {
      await Promise.allSettled([close()])
    },
  }
}

const writeAll = async (handle: OutputHandle, bytes: Uint8Array): Promise<void> => {
  let rest = bytes
  while (rest.length > 0) rest = rest.subarray((await handle.write(rest)).bytesWritten)
}

/** Standard output: written bytes cannot be taken back, so only the exit code tells the reader that they are incomplete. */
export const streamOutput = (stream: Writable): OutputSink => {
  const path = standardOutputPath
  let failure: unknown
  // Without a listener, a closed pipe would end the process with a stack trace.
  const onError = (cause: unknown): void => {
    failure = cause
  }
  stream.on("error", onError)
  const release = (): void => {
    stream.off("error", onError)
  }
  return {
    isDirect: true,
    write: (bytes) =>
      translated(
        path,
        () =>
          new Promise<void>((resolve, reject) => {
            if (failure !== undefined) reject(failure)
            else stream.write(bytes, (cause) => (cause ? reject(cause) : resolve()))
          }),
      ),
    commit: () => Promise.resolve(release()),
    // The listener stays, because an error may still arrive for bytes that were already written.
    discard: () => Promise.resolve(),
  }
}

const translated = async (path: string, action: () => Promise<void>): Promise<void> => {
  try {
    await action()
  } catch (cause) {
    throw asOutputError(path, cause)
  }
}

const asOutputError = (path: string, cause: unknown): OutputExists | OutputFailed =>
  cause instanceof OutputExists || cause instanceof OutputFailed
    ? cause
    : new OutputFailed({ path, code: codeOf(cause) })
