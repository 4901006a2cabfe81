/**
 * Detects changes of the configuration file and reads them.
 *
 * The content is compared every second. A file in a ConfigMap volume is a symbolic link that the kubelet replaces, a file on a network file system
 * has no events, and inotify watches run out: reading some KB is as good everywhere. New content is accepted only after it was read twice in
 * succession: a file that is still being written may be valid but name only half of the kinds.
 *
 * Each change is reported once. An invalid configuration is reported with every mistake and its position, but changes nothing: the
 * previous configuration stays in force until a valid one is found. Changes of comments and layout are ignored.
 */
import { createHash } from "node:crypto"
import { isDeepStrictEqual } from "node:util"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schedule from "effect/Schedule"
import * as Semaphore from "effect/Semaphore"
import { type LoadOptions, loadConfiguration, readFromDisk } from "../load-configuration.ts"
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

interface WatchedConfiguration {
  readonly file: string
  /** The configuration in force; a change of the file made before the watch started is detected too. */
  readonly configuration: RecorderConfiguration
  /** The options that the configuration was loaded with. */
  readonly load: LoadOptions
  /**
   * Applies a detected change: once per change, once per invalid content, and with `unchanged` only when an invalid file becomes
   * valid again without a change.
   */
  readonly noticed: (change: ConfigurationChange) => Effect.Effect<void>
  /** ms between two readings. Default 1000. */
  readonly pollMs?: number
}

/** Follows the file until the scope ends. Returns what reads it now, for SIGHUP: the result is not passed to `noticed`. */
export const watchConfiguration = ({ file, load, noticed, pollMs = 1000, ...options }: WatchedConfiguration) =>
  Effect.gen(function* () {
    const turn = yield* Semaphore.make(1)
    const scope = yield* Effect.scope
    let { configuration } = options
    /** Digest of the content last compared, and of content that was read once and is compared if it is read again. */
    let seen: string | undefined
    let candidate: string | undefined
    let isInvalid = false
    const read = load.readBeginning ?? readFromDisk
    const content = Effect.promise(() => read(file, largestConfiguration + 1).catch(asError))
    const compared = (found: Uint8Array | Error): Effect.Effect<ConfigurationChange> => {
      const readBeginning = async (): Promise<Uint8Array> => {
        if (found instanceof Error) throw found
        return found
      }
      return Effect.map(Effect.result(loadConfiguration(file, { ...load, readBeginning })), (loaded) => {
        seen = digestOf(found)
        isInvalid = Result.isFailure(loaded)
        if (Result.isFailure(loaded)) return { tag: "invalid", error: loaded.failure }
        const next = loaded.success.configuration
        if (isDeepStrictEqual(next, { ...configuration, source: next.source })) return { tag: "unchanged" }
        configuration = next
        return { tag: "changed", ...loaded.success }
      })
    }
    const look = Effect.gen(function* () {
      const found = yield* content
      const digest = digestOf(found)
      const isSettled = digest === candidate
      candidate = digest
      if (digest === seen || !isSettled) return
      const wasInvalid = isInvalid
      const change = yield* compared(found)
      // Beside the reading: what is noticed may wait for a store that starts again, and the file may change meanwhile.
      if (change.tag !== "unchanged" || wasInvalid) yield* Effect.forkIn(noticed(change), scope)
    })
    yield* Effect.forkScoped(Effect.repeat(turn.withPermit(look), Schedule.spaced(pollMs)))
    return turn.withPermit(Effect.flatMap(content, compared))
  })

const asError = (cause: unknown): Error => (cause instanceof Error ? cause : new Error(String(cause)))

/** One text for each content, and one for each reason why there is none. */
const digestOf = (content: Uint8Array | Error): string =>
  content instanceof Error ? `unreadable: ${content.message}` : createHash("sha256").update(content).digest("hex")
