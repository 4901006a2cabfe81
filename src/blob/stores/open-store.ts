/** Objects that are created once, for writers that do not know of each other: the port of a ledger in an object store, and how it is opened. */
import { systemClock } from "../../clock.ts"
import { addressUrl, keyFault, type StorePlace } from "../addresses/target-address.ts"
import { openAzure } from "../providers/azure.ts"
import { openDirectory } from "../providers/directory.ts"
import { openGcs } from "../providers/gcs.ts"
import {
  type ByteRange,
  type ListedObject,
  missingCodes,
  type ReadBytes,
  type StoreProvider,
  type Surroundings,
  unless,
} from "../providers/provider.ts"
import { openS3 } from "../providers/s3.ts"
import {
  type Arrived,
  inParallel,
  lengthOf,
  type Patience,
  repeated,
  responseMs,
  within,
} from "../requests/requests.ts"
import { hasCode, statusOf, type TargetError, targetError, targetErrorOf } from "../requests/target-error.ts"

type Access = TargetError["access"]

/** Requests that were sent, those that failed and were sent again included, and the bytes of objects in them. */
type StoreUsage = Readonly<Record<Access, { readonly requests: number; readonly bytes: number }>>

interface ListOptions {
  /** Only keys after this one, by the bytes of their UTF-8. */
  readonly after?: string
  /** Keys with one behind the prefix are listed once each, up to and with it, as objects of no bytes. */
  readonly delimiter?: "/"
  readonly signal?: AbortSignal
}

/**
 * A prefix in an object store, or a directory. Keys are relative to it.
 *
 * Guaranteed, on every provider: of all that create one key exactly one creates it, the others are told that it exists; an object is whole or
 * absent; a list is in the order of the keys' bytes; requests that fail for reasons that pass are sent again, for `patienceMs`.
 * Not guaranteed: that the one who created it knows. An answer may be lost, and the repeated request then finds the caller's own object: who gets
 * "exists" compares what is there with what it wrote. Rejections are TargetErrors. Memory: twice what the caller passes, and what it reads.
 */
export interface BlobStore extends Disposable {
  /** Where it is, as a URL. */
  readonly location: string
  /** Creates an object of these bytes unless the key exists. "exists": someone, or an earlier try of this call whose answer was lost, created it. */
  create(key: string, parts: ReadonlyArray<Uint8Array>, signal?: AbortSignal): Promise<"created" | "exists">
  /** The whole object, or a part of it; what lies past its end is left out. `undefined`: there is no such object. */
  read(key: string, range?: ByteRange, signal?: AbortSignal): Promise<ReadBytes | undefined>
  /** Objects whose keys begin with the prefix, in order. One that is created meanwhile may be listed or not. */
  list(prefix: string, options?: ListOptions): AsyncGenerator<ListedObject, void>
  /** Removes objects; those that do not exist are no error. */
  remove(keys: ReadonlyArray<string>): Promise<void>
  /** Requests since it was opened. */
  usage(): StoreUsage
  /** Ends requests under way, as disposing does. May be called again. */
  close(): void
}

export interface OpenStoreOptions extends Surroundings {
  /** ms for which a request is sent again, default 60,000: as long as a server takes to restart. */
  readonly patienceMs?: number
  /** For pauses: in [0, 1). Default `Math.random`. */
  readonly random?: () => number
}

const openers = { s3: openS3, gs: openGcs, azure: openAzure, file: openDirectory }

/** Sends no request. Rejects with a TargetError. */
export const openStore = async (place: StorePlace, options: OpenStoreOptions = {}): Promise<BlobStore> => {
  const { clock = systemClock, random = Math.random, patienceMs = 60_000 } = options
  try {
    return new Store(place, await openers[place.provider](place, options), { clock, random, patienceMs })
  } catch (cause) {
    throw targetErrorOf(place, cause)
  }
}

/** What a request is about. `bytes`: of objects in it, as far as they are known. */
interface Request {
  readonly access: Access
  readonly key: string
  readonly bytes: number
  readonly signal: AbortSignal | undefined
}

type Send<A> = (signal: AbortSignal, arrived: Arrived) => Promise<A>

/**
 * Bytes per ms that a connection must carry at least. A segment of 8 MiB then has 282 s, and a recorder gives it 300. Nothing else limits an upload, because the
 * machine and proxies take megabytes of it into their buffers, after which no progress is seen for minutes.
 */
const slowestRate = 32

/** Bytes of which an object that is read whole gets the time, and a page of a list. */
const wholeBytes = 64 * 1024 * 1024
const pageBytes = 1024 * 1024

/** Bytes from which an object that may be there already is looked for before it is sent again. */
const largeBytes = 1024 * 1024

/** Requests under way for one removal. */
const removalsAtOnce = 16

/** Compares as stores order keys: by the bytes of UTF-8, which is not the order of JavaScript's strings beyond U+D800. */
const byBytes = (one: string, other: string): number => Buffer.compare(Buffer.from(one), Buffer.from(other))

class Store implements BlobStore {
  readonly #place: StorePlace
  readonly #provider: StoreProvider
  readonly #patience: Patience
  readonly #prefix: string
  readonly #stop = new AbortController()
  readonly #usage = {
    write: { requests: 0, bytes: 0 },
    read: { requests: 0, bytes: 0 },
    list: { requests: 0, bytes: 0 },
    remove: { requests: 0, bytes: 0 },
  }
  readonly location: string

  constructor(place: StorePlace, provider: StoreProvider, patience: Patience) {
    this.#place = place
    this.#provider = provider
    this.#patience = patience
    this.#prefix = place.key === "" ? "" : `${place.key}/`
    this.location = addressUrl(place)
  }

  async create(key: string, parts: ReadonlyArray<Uint8Array>, signal?: AbortSignal): Promise<"created" | "exists"> {
    const whole = this.#whole(key, "write")
    const about = { access: "write", key: whole, bytes: lengthOf(parts), signal } as const
    let isRepeated = false
    return await this.#ask(about, async (...each) => {
      // The answer may be lost again each time: a store that refuses the object before it has read the whole body resets the connection.
      if (isRepeated && about.bytes >= largeBytes && (await this.#isThere(whole, each))) return "exists"
      isRepeated = true
      return await this.#provider.create(whole, parts, each[0])
    })
  }

  async read(key: string, range?: ByteRange, signal?: AbortSignal): Promise<ReadBytes | undefined> {
    const whole = this.#whole(key, "read")
    return await this.#ask({ access: "read", key: whole, bytes: bytesOf(range), signal }, async (...each) => {
      const found = await this.#readOnce(whole, range, ...each)
      if (found === undefined) return undefined
      const length = lengthWithin(range, found.size)
      this.#usage.read.bytes += found.bytes.length
      if (found.bytes.length === length) return found
      // A proxy between here and the store cut it off.
      const reason = `${found.bytes.length} bytes arrived instead of ${length}`
      throw targetError({ ...this.#place, key: whole }, "unreachable", reason, "read")
    })
  }

  async *list(prefix: string, { after, delimiter, signal }: ListOptions = {}): AsyncGenerator<ListedObject, void> {
    const begin = this.#prefix + prefix
    const wholeAfter = after === undefined ? undefined : this.#prefix + after
    let last = wholeAfter
    let token: string | undefined
    do {
      const about = { access: "list", key: begin, bytes: pageBytes, signal } as const
      const page = await this.#ask(about, (each) =>
        this.#provider.list({ prefix: begin, after: wholeAfter, token, delimiter }, each),
      )
      const isMixed = delimiter !== undefined && Array.isArray(page.entries)
      const entries = isMixed ? page.entries.toSorted((one, other) => byBytes(one.key, other.key)) : page.entries
      for await (const entry of this.#listed(entries, begin)) {
        if (wholeAfter !== undefined && byBytes(entry.key, wholeAfter) <= 0) continue
        if (last !== undefined && byBytes(entry.key, last) <= 0) {
          const reason = `the store lists ${JSON.stringify(entry.key)} after ${JSON.stringify(last)}`
          throw targetError({ ...this.#place, key: begin }, "failed", reason, "list")
        }
        last = entry.key
        yield { ...entry, key: entry.key.slice(this.#prefix.length) }
      }
      token = page.next
    } while (token !== undefined)
  }

  /** A directory is read while its entries are taken, and its errors come then. */
  async *#listed(entries: AsyncIterable<ListedObject> | Iterable<ListedObject>, key: string) {
    try {
      yield* entries
    } catch (cause) {
      throw targetErrorOf({ ...this.#place, key }, cause, "list")
    }
  }

  async remove(keys: ReadonlyArray<string>): Promise<void> {
    const whole = keys.map((key) => this.#whole(key, "remove"))
    const { removedAtOnce } = this.#provider
    const batches: Array<ReadonlyArray<string>> = []
    for (let at = 0; at < whole.length; at += removedAtOnce) batches.push(whole.slice(at, at + removedAtOnce))
    await inParallel(batches, removalsAtOnce, (batch) =>
      this.#ask({ access: "remove", key: batch[0] ?? "", bytes: 0, signal: undefined }, (each) =>
        this.#provider.remove(batch, each).catch(unless(...missingCodes)),
      ),
    )
  }

  usage(): StoreUsage {
    return structuredClone(this.#usage)
  }

  close(): void {
    if (this.#stop.signal.aborted) return
    this.#stop.abort()
    this.#provider.close?.()
  }

  [Symbol.dispose](): void {
    this.close()
  }

  /** Sends a request, perhaps several times. */
  async #ask<A>({ access, key, bytes, signal }: Request, send: Send<A>): Promise<A> {
    const stop = signal === undefined ? this.#stop.signal : AbortSignal.any([this.#stop.signal, signal])
    const place = { ...this.#place, key }
    try {
      return await repeated(this.#patience, stop, () => {
        this.#usage[access].requests++
        if (access === "write") this.#usage.write.bytes += bytes
        const silentMs = access === "read" ? responseMs : undefined
        const wholeMs = responseMs + Math.ceil(bytes / slowestRate)
        return within(this.#patience.clock, "the store's response", wholeMs, stop, send, silentMs)
      })
    } catch (cause) {
      if (!stop.aborted) throw targetErrorOf(place, cause, access)
      const reason = this.#stop.signal.aborted ? "the store was closed" : "the caller ended it"
      throw targetError(place, "aborted", reason, access)
    }
  }

  async #isThere(key: string, each: Parameters<Send<unknown>>): Promise<boolean> {
    this.#usage.read.requests++
    return (await this.#readOnce(key, { from: 0, until: 1 }, ...each)) !== undefined
  }

  async #readOnce(
    key: string,
    range: ByteRange | undefined,
    ...[signal, arrived]: Parameters<Send<unknown>>
  ): Promise<ReadBytes | undefined> {
    try {
      return await this.#provider.read(key, range, signal, arrived)
    } catch (cause) {
      if (hasCode(cause, ...missingCodes)) return undefined
      // The range begins past the end.
      if (statusOf(cause) !== 416 || this.#provider.look === undefined) throw cause
      return { bytes: new Uint8Array(0), ...(await this.#provider.look(key, signal)) }
    }
  }

  #whole(key: string, access: Access): string {
    const whole = this.#prefix + key
    const fault = keyFault(key) ?? keyFault(whole)
    if (fault === undefined) return whole
    throw targetError({ ...this.#place, key: whole }, "bad-key", fault, access)
  }
}

/** Of what is asked for. */
const bytesOf = (range: ByteRange | undefined): number => {
  if (range !== undefined && "last" in range) return range.last
  return range?.until === undefined ? wholeBytes : range.until - range.from
}

const lengthWithin = (range: ByteRange | undefined, size: number): number => {
  if (range === undefined) return size
  if ("last" in range) return Math.min(range.last, size)
  return Math.max(0, Math.min(range.until ?? size, size) - range.from)
}
