/** What differs between object stores: a provider is one of these for each, and nothing else in this room knows which store it talks to. */
import type { Clock } from "../../clock.ts"
import { messageOf } from "../../message-of.ts"
import type { StorePlace } from "../addresses/target-address.ts"
import { type Arrived, joined } from "../requests/requests.ts"
import { hasCode, statusOf, targetError } from "../requests/target-error.ts"

/** A part of an object: from a byte on, up to before another or the end; or its last bytes, all if it has fewer. */
export type ByteRange = { readonly from: number; readonly until?: number } | { readonly last: number }

/** Which object it is, beside its name. */
export interface ObjectFacts {
  /** Of the whole object, in bytes. */
  readonly size: number
  /** Changes when the object is replaced: ETag, generation. */
  readonly version: string
}

/** Bytes of an object, and of which. */
export interface ReadBytes extends ObjectFacts {
  readonly bytes: Uint8Array
}

/** An object in a list. */
export interface ListedObject {
  readonly key: string
  readonly bytes: number
  /** By the store's clock. */
  readonly modifiedMs: number
}

/** What a page of a list is to have. */
export interface ListedPart {
  readonly prefix: string
  readonly after: string | undefined
  /** Of the page before. */
  readonly token: string | undefined
  /** Keys with one behind the prefix are listed once each, up to and with it, as objects of no bytes. */
  readonly delimiter: "/" | undefined
}

/** A prefix in a list. */
export const listedPrefix = (key: string): ListedObject => ({ key, bytes: 0, modifiedMs: 0 })

/** Some objects of a list, in its order; prefixes may be behind the objects, and what the request for the next ones needs; `undefined`: there are none. */
interface ListPage {
  readonly entries: Iterable<ListedObject> | AsyncIterable<ListedObject>
  readonly next: string | undefined
}

/**
 * Objects of a bucket, container or directory. Keys are whole. Each call is one request (two if it says so) and rejects with the SDK's own error, of
 * which {@link hasCode} and {@link statusOf} know the meaning.
 */
export interface StoreProvider {
  /** How many keys one call of `remove` takes. */
  readonly removedAtOnce: number
  /** Creates an object in one request of any size. Of all who create one key, one creates it. */
  create(key: string, parts: ReadonlyArray<Uint8Array>, signal: AbortSignal): Promise<"created" | "exists">
  /** Not more than the range. Rejects with {@link missingCodes} or status 416 (the range begins past the end). Azure: two requests for the last bytes. */
  read(key: string, range: ByteRange | undefined, signal: AbortSignal, arrived: Arrived): Promise<ReadBytes>
  /** Of stores that respond with 416. */
  look?(key: string, signal: AbortSignal): Promise<ObjectFacts>
  /** May begin before `after`. */
  list(from: ListedPart, signal: AbortSignal): Promise<ListPage>
  /** That a key does not exist may be an error with one of {@link missingCodes}. */
  remove(keys: ReadonlyArray<string>, signal: AbortSignal): Promise<void>
  close?(): void
}

/** A provider that also writes objects in parts, which replace an object of that name. */
export interface UploadingProvider extends StoreProvider {
  /** Contacts the store, which proves that the bucket exists and may be written. */
  upload(key: string, contentType: string): Promise<PartSink>
}

/** One part of an object that is written in parts. */
export interface Part {
  /** From 1, without gaps. */
  readonly number: number
  /** Bytes of the object before this part. */
  readonly offset: number
  /** As large as the sink's part size, except the last. Must not be read after `put` has settled. Empty only if the whole object is. */
  readonly bytes: Uint8Array
  readonly last: boolean
}

/** A store's operations on parts. Rejections are the SDK's own errors. Each may be called again with the same arguments after one. */
export interface PartSink {
  /** Bytes of each part but the last. */
  readonly partBytes: number
  /** Parts under way at the same time. */
  readonly parallel: number
  readonly maximumParts: number
  put(part: Part, signal: AbortSignal): Promise<void>
  /** Creates the object from all parts. */
  commit(signal: AbortSignal): Promise<void>
  /** Removes what exists of it. Called after `put` and `commit` were aborted, which may still take effect. */
  discard(signal: AbortSignal): Promise<void>
  close?(): void
}

/** Imports a package by its name; default `import()`. */
type ImportPackage = (name: string) => Promise<unknown>

/** What providers are opened with. */
export interface Surroundings {
  /** Read by this room; the SDKs read the environment of the process. Default `process.env`. */
  readonly environment?: NodeJS.ProcessEnv
  /** The SDKs are optional: they are imported by the first use of a store, by a name that bundlers cannot see. */
  readonly importing?: ImportPackage
  readonly clock?: Clock
}

const importPackage: ImportPackage = (name) => import(name)

/**
 * The module of an SDK.
 *
 * @throws TargetError `package-missing`, which names the package to install
 */
export const loadSdk = async <Sdk>(place: StorePlace, { importing = importPackage }: Surroundings, name: string) => {
  try {
    return (await importing(name)) as Sdk
  } catch (cause) {
    const why = hasCode(cause, "ERR_MODULE_NOT_FOUND") ? "" : ` (${messageOf(cause)})`
    const reason = `it needs the package ${name}, which cannot be loaded${why}; install it beside kubereel: npm install ${name}`
    throw targetError(place, "package-missing", reason)
  }
}

/** Codes of an object that does not exist, in a bucket that does. */
export const missingCodes = ["NoSuchKey", "BlobNotFound", "ENOENT", "ENOTDIR", "EISDIR"] as const

/** For `catch`: `undefined` for an error with one of these codes. */
export const unless =
  (...codes: ReadonlyArray<string>) =>
  (cause: unknown): undefined => {
    if (!hasCode(cause, ...codes)) throw cause
  }

/** The answer to a request that creates an object only if there is none. */
export const created = (request: Promise<unknown>): Promise<"created" | "exists"> =>
  request.then(
    () => "created",
    (cause: unknown) => {
      if (statusOf(cause) !== 412 && !hasCode(cause, "BlobAlreadyExists")) throw cause
      return "exists"
    },
  )

/** The bytes of an answer. `arrived` is called with each piece. */
export const received = async (
  body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  arrived: Arrived,
): Promise<Uint8Array> => {
  const pieces: Uint8Array[] = []
  for await (const piece of body) {
    arrived()
    pieces.push(piece)
  }
  return joined(pieces)
}

/** HTTP's Range; none for the whole. */
export const rangeHeader = (range: ByteRange | undefined): { readonly Range?: string } => {
  if (range === undefined) return {}
  if ("last" in range) return { Range: `bytes=-${range.last}` }
  const until = range.until === undefined ? "" : Math.max(range.from, range.until - 1)
  return { Range: `bytes=${range.from}-${until}` }
}

/** Bytes of the whole object, by HTTP's Content-Range; the whole was read if there is none. */
export const sizeBy = (contentRange: string | null | undefined, bytes: Uint8Array): number =>
  Number(/\/(\d+)$/.exec(contentRange ?? "")?.[1] ?? bytes.length)
