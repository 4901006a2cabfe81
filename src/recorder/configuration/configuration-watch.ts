/**
 * Notices that the configuration file says something else than before, and reads it.
 *
 * A file in a ConfigMap volume is never written to: it is a symbolic link to `..data/NAME`, and the kubelet exchanges the link `..data`
 * for one to another directory in one step. So the directory is watched and not the file, and every change in it is only a
 * reason to look. Watching a directory can fail without a word (network file systems, a directory that is itself replaced, no
 * inotify watches left), so the content is also compared every 5 s. Bursts of changes are one, and new content counts once
 * it was read twice, 200 ms apart: half a file that somebody is still writing may be a valid one that names half of the kinds.
 *
 * What was read is told once. What cannot be used is told as well, with every mistake and its place, and changes nothing: the
 * configuration before it stays until a usable one is found. Comments and layout are no change.
 */
import { createHash } from "node:crypto"
import { createReadStream, watch } from "node:fs"
import { dirname } from "node:path"
import { isDeepStrictEqual } from "node:util"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type { Clock, Timer } from "../../runtime/clock.ts"
import { type LoadOptions, loadConfiguration, type ReadBeginning } from "./load-configuration.ts"
import type { ConfigurationError, ConfigurationWarning } from "./problem.ts"
import type { RecorderConfiguration } from "./tracked-kind.ts"
import { largestConfiguration } from "./yaml-document.ts"

/** What the file says now, compared with the last usable thing it said. */
export type ConfigurationChange =
  | {
      readonly tag: "changed"
      readonly configuration: RecorderConfiguration
      readonly warnings: ReadonlyArray<ConfigurationWarning>
    }
  /** It cannot be used. The message of the error names file, line and key. */
  | { readonly tag: "invalid"; readonly error: ConfigurationError }
  | { readonly tag: "unchanged" }

/** Calls `changed` for whatever happens in a directory, `failed` once it cannot watch any more; answers how to stop it. May throw. */
export type WatchDirectory = (directory: string, changed: () => void, failed: () => void) => () => void

export interface ConfigurationWatchOptions {
  readonly file: string
  /** What the recorder runs with; a file that was changed before this began is noticed. */
  readonly configuration: RecorderConfiguration
  /** As it was loaded with. */
  readonly load: LoadOptions
  readonly clock: Clock
  /** Runs in the scope of whoever follows the file. */
  readonly run: <A>(effect: Effect.Effect<A>) => Promise<A>
  /**
   * Told of what is noticed without being asked for: of each change once, of each unusable content once, and of `unchanged` only when
   * a usable file says again what it said before an unusable one. Not called once this is closed.
   */
  readonly noticed: (change: ConfigurationChange) => void
  /** ms between two looks at the content. Default 5 s: the kubelet itself takes up to a minute to bring a changed ConfigMap. */
  readonly pollMs?: number
  /** ms without another change in the directory after which it is looked at, and between two readings. Default 200. */
  readonly settleMs?: number
  /** Default: fs.watch. */
  readonly watchDirectory?: WatchDirectory
}

export class ConfigurationWatch {
  readonly #options: ConfigurationWatchOptions
  readonly #read: ReadBeginning
  #configuration: RecorderConfiguration
  /** Digest of what was last read, or why it could not be; `undefined` before the first look. */
  #seen: string | undefined
  /** Digest of content read once, which counts if it is read again. */
  #candidate: string | undefined
  #isInvalid = false
  #poll: Timer | undefined
  #settling: Timer | undefined
  #stopWatching: (() => void) | undefined
  #last: Promise<unknown> = Promise.resolve()
  #isClosed = false

  /** Begins at once; the first look is part of it. Close it, or its timers keep the process alive. */
  constructor(options: ConfigurationWatchOptions) {
    this.#options = options
    this.#read = options.load.readBeginning ?? readFromDisk
    this.#configuration = options.configuration
    this.#watch()
    this.#lookAndGoOn()
  }

  /** Looks now, on somebody's behalf (SIGHUP): what is answered here is not told to `noticed`. Never rejects. */
  check(): Promise<ConfigurationChange> {
    return this.#inTurn(async () => {
      const content = await this.#content()
      return this.#compare(content)
    })
  }

  close(): void {
    this.#isClosed = true
    this.#poll?.cancel()
    this.#settling?.cancel()
    this.#stopWatching?.()
    this.#stopWatching = undefined
  }

  #watch(): void {
    const { file, watchDirectory = watchWithNode } = this.#options
    try {
      this.#stopWatching ??= watchDirectory(
        dirname(file),
        () => this.#settle(),
        () => {
          this.#stopWatching?.()
          this.#stopWatching = undefined
        },
      )
    } catch {
      // The directory is gone or cannot be watched: it is compared, and tried again with every look.
      this.#stopWatching = undefined
    }
  }

  #settle(): void {
    if (this.#isClosed) return
    const { clock, settleMs = 200 } = this.#options
    this.#settling?.cancel()
    this.#settling = clock.after(settleMs, () => void this.#look())
  }

  #lookAndGoOn(): void {
    const { clock, pollMs = 5000 } = this.#options
    void this.#look().then(() => {
      if (this.#isClosed) return
      this.#poll = clock.after(pollMs, () => {
        this.#watch()
        this.#lookAndGoOn()
      })
    })
  }

  /** Tells of what is news. */
  #look(): Promise<void> {
    return this.#inTurn(async () => {
      const content = await this.#content()
      const digest = digestOf(content)
      const isSettled = digest === this.#candidate
      this.#candidate = digest
      if (this.#isClosed || digest === this.#seen) return
      if (!isSettled) return this.#settle()
      const wasInvalid = this.#isInvalid
      const change = await this.#compare(content)
      if (this.#isClosed || (change.tag === "unchanged" && !wasInvalid)) return
      this.#options.noticed(change)
    })
  }

  /** The content, or the error of the operating system. */
  async #content(): Promise<Uint8Array | Error> {
    try {
      return await this.#read(this.#options.file, largestConfiguration + 1)
    } catch (cause) {
      return cause instanceof Error ? cause : new Error(String(cause))
    }
  }

  async #compare(content: Uint8Array | Error): Promise<ConfigurationChange> {
    const { file, load, run } = this.#options
    const readBeginning = (): Promise<Uint8Array> =>
      content instanceof Error ? Promise.reject(content) : Promise.resolve(content)
    const loaded = await run(Effect.result(loadConfiguration(file, { ...load, readBeginning })))
    this.#seen = digestOf(content)
    this.#isInvalid = Result.isFailure(loaded)
    if (Result.isFailure(loaded)) return { tag: "invalid", error: loaded.failure }
    const { configuration, warnings } = loaded.success
    if (isDeepStrictEqual(configuration.kinds, this.#configuration.kinds)) return { tag: "unchanged" }
    this.#configuration = configuration
    return { tag: "changed", configuration, warnings }
  }

  #inTurn<A>(action: () => Promise<A>): Promise<A> {
    const turn = this.#last.then(action, action)
    this.#last = turn
    return turn
  }
}

/** One text per content, and one per reason why there is none. */
const digestOf = (content: Uint8Array | Error): string =>
  content instanceof Error ? `unreadable: ${content.message}` : createHash("sha256").update(content).digest("hex")

const readFromDisk: ReadBeginning = async (file, limit) => {
  const pieces: Array<Buffer> = []
  for await (const piece of createReadStream(file, { end: limit - 1 })) pieces.push(piece as Buffer)
  return Buffer.concat(pieces)
}

/** Without keeping the process alive for it. */
const watchWithNode: WatchDirectory = (directory, changed, failed) => {
  const watcher = watch(directory, { persistent: false }, changed)
  watcher.on("error", failed)
  return () => watcher.close()
}
