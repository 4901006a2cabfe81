/**
 * The key of the hashes that stand for redacted values: from a file that the operator names, or made once in the data directory.
 *
 * Every kind of a recording has the same key, so that equal values are equal everywhere in it, and a process reads it
 * once: another content of the file counts from the next start on. A key in the data directory protects traces and
 * exports, which leave it behind; anyone with the directory has the key too, and can test guesses.
 */
import { randomBytes } from "node:crypto"
import { open } from "node:fs/promises"
import { join } from "node:path"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import { messageOf } from "../../message-of.ts"
import { readRegularFile, UnusualFileError } from "../../regular-file.ts"

/** The file in the data directory. */
export const redactionKeyFile = "redaction.key"

/** Bytes of a key: a shorter one could be guessed together with the values. */
const shortestKey = 16
const madeBytes = 32

/** ms between two attempts to read or make the key. */
const retryMs = 5000

/** There is no key, so nothing that has to be redacted can be recorded. */
export class RedactionKeyError extends Schema.TaggedError<RedactionKeyError>()("RedactionKeyError", {
  path: Schema.String,
  reason: Schema.String,
}) {
  override get message(): string {
    return `the key for redacted values in ${this.path} cannot be used: ${this.reason}`
  }
}

/**
 * The bytes of a text in memory of their own. A Buffer of so few bytes is a part of Node's pool of 64 KiB, and a message to a worker copies all of that: 10 MB in
 * a recorder of 150 kinds, each of which gets the key.
 */
const bytesOf = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text))

/** The key in a file, without white space around it. Rejects with {@link RedactionKeyError}, whose message has nothing of the content. */
export const readRedactionKey = async (path: string): Promise<Uint8Array> => {
  const text = await readRegularFile(path).catch((cause: unknown) => {
    throw new RedactionKeyError({ path, reason: whyUnreadable(cause) })
  })
  const key = bytesOf(text.trim())
  if (key.length < shortestKey)
    throw new RedactionKeyError({ path, reason: `it has ${key.length} bytes; at least ${shortestKey} are needed` })
  return key
}

/** A key of random bytes, as text, so that it can be copied. */
export const newRedactionKey = (): Uint8Array => bytesOf(randomBytes(madeBytes).toString("hex"))

interface MadeKey {
  readonly key: Uint8Array
  /** Whether there was none before. */
  readonly isNew: boolean
}

/** The key in the file, which is made, for its owner only, if there is none. Rejects with {@link RedactionKeyError}. */
export const redactionKeyIn = async (path: string): Promise<MadeKey> => {
  try {
    const file = await open(path, "wx", 0o600)
    try {
      await file.chmod(0o600)
      const key = newRedactionKey()
      await file.write(key)
      // Values that are recorded under a key that is then lost would all look changed.
      await file.sync()
      return { key, isNew: true }
    } finally {
      await file.close()
    }
  } catch (cause) {
    if (cause instanceof Error && "code" in cause && cause.code === "EEXIST")
      return { key: await readRedactionKey(path), isNew: false }
    throw new RedactionKeyError({ path, reason: whyUnreadable(cause) })
  }
}

const whyUnreadable = (cause: unknown): string => {
  if (cause instanceof UnusualFileError) return `it ${cause.reason}`
  const code = cause instanceof Error && "code" in cause ? cause.code : undefined
  if (code === "ENOENT") return "file not found"
  return code === "EACCES" ? "permission denied" : messageOf(cause)
}

/** What is reported about the key. */
export type RedactionKeyNotice =
  /** A key was made in the data directory. */
  | { readonly type: "redaction-key"; readonly made: string }
  /** `trouble`: why there is no key now, so that nothing with redacted values is recorded; `undefined` when there is. */
  | { readonly type: "redaction-key"; readonly trouble: string | undefined }

/**
 * The key for all watchers. Nothing is recorded without it: while it cannot be read or made, which a full disk may be the reason for, those
 * that need it wait.
 */
export class RedactionKey {
  readonly #path: string
  readonly #isGiven: boolean
  readonly #notify: (notice: RedactionKeyNotice) => void
  readonly #run: <A>(effect: Effect.Effect<A>) => Promise<A>
  readonly #retryMs: number
  #key: Promise<Uint8Array> | undefined

  /** `file`: the one that the operator names; `undefined`: one in the directory. `waitMs`: ms between two attempts, default 5,000. */
  constructor(
    { file, directory }: { readonly file: string | undefined; readonly directory: string },
    notify: (notice: RedactionKeyNotice) => void,
    run: <A>(effect: Effect.Effect<A>) => Promise<A>,
    waitMs = retryMs,
  ) {
    this.#path = file ?? join(directory, redactionKeyFile)
    this.#isGiven = file !== undefined
    this.#notify = notify
    this.#run = run
    this.#retryMs = waitMs
  }

  /** Resolves once there is a key; rejects only if the recorder ends before. */
  get(): Promise<Uint8Array> {
    this.#key ??= this.#run(this.#patiently())
    return this.#key
  }

  #patiently(): Effect.Effect<Uint8Array> {
    let isTroubled = false
    const attempt = Effect.tryPromise({
      try: async () => {
        if (this.#isGiven) return readRedactionKey(this.#path)
        const { key, isNew } = await redactionKeyIn(this.#path)
        if (isNew) this.#notify({ type: "redaction-key", made: this.#path })
        return key
      },
      catch: messageOf,
    }).pipe(
      Effect.tapError((trouble) =>
        Effect.sync(() => {
          if (!isTroubled) this.#notify({ type: "redaction-key", trouble })
          isTroubled = true
        }),
      ),
      Effect.retry(Schedule.spaced(this.#retryMs)),
      Effect.tap(() =>
        Effect.sync(() => {
          if (isTroubled) this.#notify({ type: "redaction-key", trouble: undefined })
        }),
      ),
    )
    return Effect.orDie(attempt)
  }
}
