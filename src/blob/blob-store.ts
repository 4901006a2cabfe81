/**
 * Objects that are created once, for writers that do not know of each other: the port of a ledger in an object store.
 *
 * Guaranteed, on every provider: of all that create one key exactly one creates it, the others are told that it exists; an object is whole or
 * absent; a list is in the order of the keys' bytes; requests that fail for reasons that pass are sent again, for `patienceMs`.
 * Not guaranteed: that the one who created it knows. An answer may be lost, and the repeated request then finds the caller's own object: who gets
 * "exists" (or "changed") compares what is there with what it wrote. Errors are TargetErrors. Memory: what the caller passes or reads, and 64 MiB.
 */
import type { Ask, StoreUsage } from "./requests.ts"

/** A part of an object: from a byte on, up to before another or the end; or its last bytes, all if it has fewer. */
export type ByteRange = { readonly from: number; readonly until?: number } | { readonly last: number }

/** Bytes of an object, and of which. */
export interface ReadBytes {
  readonly bytes: Uint8Array
  /** Of the whole object. */
  readonly size: number
  /** Changes when the object is replaced: ETag, generation. */
  readonly version: string
}

/** An object in a list, or a common prefix, which ends with a slash and has no bytes and no time. */
export interface ListedObject {
  readonly key: string
  readonly bytes: number
  /** By the store's clock. */
  readonly modifiedMs: number
}

export interface ListOptions {
  /** Only keys after this one, by the bytes of their UTF-8. Azure reads from the beginning of the prefix and leaves out what comes before. */
  readonly after?: string
  /** Keys that have a slash after the prefix are listed as one common prefix. */
  readonly delimiter?: "/"
  readonly signal?: AbortSignal
}

/** A prefix in an object store, or a directory. Keys are relative to it. All rejections are TargetErrors. */
export interface BlobStore {
  /** Where it is, as a URL. */
  readonly location: string
  /** Creates an object of these bytes unless the key exists. "exists": someone, or an earlier try of this call whose answer was lost, created it. */
  create(key: string, parts: ReadonlyArray<Uint8Array>, signal?: AbortSignal): Promise<"created" | "exists">
  /**
   * Replaces an object of this version, or creates it ("absent"); for small documents. "changed": it has another version, perhaps because an
   * earlier try of this call did it and its answer was lost.
   */
  replace(key: string, bytes: Uint8Array, version: string): Promise<{ readonly version: string } | "changed">
  /** The whole object, or a part of it; what lies past its end is left out. `undefined`: there is no such object. */
  read(key: string, range?: ByteRange, signal?: AbortSignal): Promise<ReadBytes | undefined>
  /** Objects whose keys begin with the prefix, in order. One that is created meanwhile may be listed or not. */
  list(prefix: string, options?: ListOptions): AsyncGenerator<ListedObject, void>
  /** Removes objects; those that do not exist are no error. */
  remove(keys: ReadonlyArray<string>): Promise<void>
  /** Requests since it was opened. */
  usage(): StoreUsage
  /** Ends requests under way. May be called again. */
  close(): void
}

/** What differs between providers. Keys are whole; rejections are the SDKs' own errors, and each request goes through `ask`. */
export interface StoreProvider {
  create(key: string, parts: ReadonlyArray<Uint8Array>, ask: Ask): Promise<"created" | "exists">
  replace(key: string, bytes: Uint8Array, version: string, ask: Ask): Promise<{ readonly version: string } | "changed">
  /** One request or two; not more than the range. */
  read(key: string, range: ByteRange | undefined, signal: AbortSignal): Promise<ReadBytes | undefined>
  /** May begin before `after`. */
  list(prefix: string, options: Omit<ListOptions, "signal">, ask: Ask): AsyncIterable<ListedObject>
  remove(keys: ReadonlyArray<string>, ask: Ask): Promise<void>
  close(): void
}

/** Bytes that are written in one request; a larger object is written in several where the provider has them. */
export const largestRequest = 64 * 1024 * 1024

/** Compares as stores order keys: by the bytes of UTF-8, which is not the order of JavaScript's strings beyond U+D800. */
export const byBytes = (one: string, other: string): number => Buffer.compare(Buffer.from(one), Buffer.from(other))

/** A page of objects and common prefixes, each of which is in order, in one order. */
export const merged = (
  objects: ReadonlyArray<ListedObject>,
  prefixes: ReadonlyArray<string>,
): ReadonlyArray<ListedObject> =>
  prefixes.length === 0
    ? objects
    : [...objects, ...prefixes.map((key) => ({ key, bytes: 0, modifiedMs: 0 }))].sort((one, other) =>
        byBytes(one.key, other.key),
      )

/** The value of HTTP's Range. */
export const rangeHeader = (range: ByteRange): string =>
  "last" in range
    ? `bytes=-${range.last}`
    : `bytes=${range.from}-${range.until === undefined ? "" : Math.max(range.from, range.until - 1)}`
