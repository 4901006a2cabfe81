/**
 * Detects changes of the configuration file and reads them.
 *
 * A file in a ConfigMap volume is never written to: it is a symbolic link to `..data/NAME`, and the kubelet atomically replaces the
 * link `..data` by one to a new directory. Therefore the directory is watched, not the file, and any change in it only triggers a
 * check. Watching a directory can fail silently (network file systems, a directory that is itself replaced, no inotify watches
 * left), so the content is also compared every 5 s. A burst of changes counts as one, and new content is accepted only after it was
 * read twice, 200 ms apart: a file that is still being written may be valid but name only half of the kinds.
 *
 * Each change is reported once. An invalid configuration is reported with every mistake and its position, but changes nothing: the
 * previous configuration stays in force until a valid one is found. Changes of comments and layout are ignored.
 */
import { createHash } from "node:crypto"
import { createReadStream, watch } from "node:fs"
import { dirname } from "node:path"
import { isDeepStrictEqual } from "node:util"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type { Clock, Timer } from "../../../clock.ts"
import { type LoadOptions, loadConfiguration, type ReadBeginning } from "../load-configuration.ts"
import type { ConfigurationError, ConfigurationWarning } from "../problem.ts"
import type { RecorderConfiguration } from "../tracked-kind.ts"
import { largestConfiguration } from "../yaml-document.ts"

/** The file's content compared with its last valid content. */
export type ConfigurationChange =
  | {
      readonly tag: "changed"
      readonly configuration: RecorderConfiguration
      readonly warnings: ReadonlyArray<ConfigurationWarning>
    }
  /** The content is invalid. The error's message names file, line and key. */
  | { readonly tag: "invalid"; readonly error: ConfigurationError }
  | { readonly tag: "unchanged" }

/** Calls `changed` for any event in a directory and `failed` once it can no longer watch; returns a function that stops it. May throw. */
export type WatchDirectory = (directory: string, changed: () => void, failed: () => void) => () => void

export interface ConfigurationWatchOptions {
  readonly file: string
  /** The configuration in force; a change of the file made before the watch started is detected too. */
  readonly configuration: RecorderConfiguration
  /** The options that the configuration was loaded with. */
  readonly load: LoadOptions
  readonly clock: Clock
  /** Runs in the scope that follows the file. */
  readonly run: <A>(effect: Effect.Effect<A>) => Promise<A>
  /**
   * Called for detected changes: once per change, once per invalid content, and with `unchanged` only when an invalid file becomes
   * valid again without a change. Not called after `close`.
   */
  readonly noticed: (change: ConfigurationChange) => void
  /** ms between two checks of the content. Default 5 s: the kubelet itself takes up to a minute to deliver a changed ConfigMap. */
  readonly pollMs?: number
  /** ms without a further change in the directory before the content is checked, and between the two readings. Default 200. */
  readonly settleMs?: number
  /** Default: fs.watch. */
  readonly watchDirectory?: WatchDirectory
}

export class ConfigurationWatch {
  readonly #options: ConfigurationWatchOptions
  readonly #read: ReadBeginning
  #configuration: RecorderConfiguration
  /** Digest of the content last read, or of the reason why it could not be read; `undefined` before the first check. */
  #seen: string | undefined
  /** Digest of content that was read once and is accepted if it is read again. */
  #candidate: string | undefined
  #isInvalid = false
  #poll: Timer | undefined
  #settling: Timer | undefined
  #stopWatching: (() => void) | undefined
  #last: Promise<unknown> = Promise.resolve()
  #isClosed = false

  /** Starts watching and makes a first check. Close it, or its timers keep the process alive. */
  constructor(options: ConfigurationWatchOptions) {
    this.#options = options
    this.#read = options.load.readBeginning ?? readFromDisk
    this.#configuration = options.configuration
    this.#watch()
    this.#lookAndGoOn()
  }

  /** Checks now (SIGHUP) and returns the result instead of passing it to `noticed`. Never rejects. */
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
      // The directory is gone or cannot be watched: polling continues, and each poll tries again to watch it.
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

  /** Checks the content and reports changes. */
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
    if (isDeepStrictEqual(configuration, { ...this.#configuration, source: configuration.source }))
      return { tag: "unchanged" }
    this.#configuration = configuration
    return { tag: "changed", configuration, warnings }
  }

  #inTurn<A>(action: () => Promise<A>): Promise<A> {
    const turn = this.#last.then(action, action)
    this.#last = turn
    return turn
  }
}

/** One text for each content, and one for each reason why there is none. */
const digestOf = (content: Uint8Array | Error): string =>
  content instanceof Error ? `unreadable: ${content.message}` : createHash("sha256").update(content).digest("hex")

const readFromDisk: ReadBeginning = async (file, limit) => {
  const pieces: Array<Buffer> = []
  for await (const piece of createReadStream(file, { end: limit - 1 })) pieces.push(piece as Buffer)
  return Buffer.concat(pieces)
}

/** The watch does not keep the process alive. */
const watchWithNode: WatchDirectory = (directory, changed, failed) => {
  const watcher = watch(directory, { persistent: false }, changed)
  watcher.on("error", failed)
  return () => watcher.close()
}
