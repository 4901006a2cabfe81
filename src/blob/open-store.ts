/** Opens a {@link BlobStore}: what all providers have in common is here, what differs in a module for each. */
import { randomUUID } from "node:crypto"
import { type Clock, systemClock } from "../clock.ts"
import { openAzureStore } from "./azure-store.ts"
import {
  type BlobStore,
  type ByteRange,
  byBytes,
  type ListedObject,
  type ListOptions,
  largestRequest,
  type ReadBytes,
  type StoreProvider,
} from "./blob-store.ts"
import { openDirectory } from "./directory-store.ts"
import { openGcsStore } from "./gcs-store.ts"
import { type Ask, Requests, type StoreUsage } from "./requests.ts"
import { openS3Store } from "./s3-store.ts"
import { addressUrl, keyFault, type StorePlace } from "./target-address.ts"
import { type ImportPackage, importPackage, type TargetError, targetError, targetErrorOf } from "./target-error.ts"

export interface OpenStoreOptions {
  /**
   * Writes an object twice and replaces it twice, and rejects with `no-conditions` if the store does not refuse the second: there are servers that
   * ignore `If-None-Match`. Six requests. Default false, in which case opening sends none.
   */
  readonly verify?: boolean
  /** ms for which a request is sent again, default 60,000: as long as a server takes to restart. */
  readonly patienceMs?: number
  readonly clock?: Clock
  /** For pauses: in [0, 1). Default `Math.random`. */
  readonly random?: () => number
  /** Read by this module; the SDKs read the environment of the process. Default `process.env`. */
  readonly environment?: NodeJS.ProcessEnv
  readonly importing?: ImportPackage
}

const openers = { s3: openS3Store, gs: openGcsStore, azure: openAzureStore, file: openDirectory }

/** Rejects with a TargetError. */
export const openStore = async (place: StorePlace, options: OpenStoreOptions = {}): Promise<BlobStore> => {
  const { clock = systemClock, random = Math.random, patienceMs = 60_000 } = options
  const { environment = process.env, importing = importPackage } = options
  try {
    const provider = await openers[place.provider](place, environment, importing, clock)
    const store = new Store(place, provider, new Requests(clock, random, patienceMs))
    if (options.verify) await verify(store, place)
    return store
  } catch (cause) {
    throw targetErrorOf(place, cause)
  }
}

/** Rejects with `no-conditions` if the store lets two writers create one object, or replace one version of it. */
const verify = async (store: BlobStore, place: StorePlace): Promise<void> => {
  const key = `kubereel-probe-${randomUUID()}`
  const refuse = (what: string): never => {
    const reason = `it ${what}, so writers would overwrite each other`
    throw targetError(place, "no-conditions", reason)
  }
  const bytes = (text: string): Uint8Array => Buffer.from(text)
  try {
    await store.create(key, [bytes("first")])
    if ((await store.create(key, [bytes("second")])) === "created")
      refuse("created an object that existed, although If-None-Match forbade it")
    const version = (await store.read(key))?.version ?? refuse("does not return an object that it has created")
    await store.replace(key, bytes("third"), version)
    if ((await store.replace(key, bytes("fourth"), version)) !== "changed")
      refuse("replaced an object that had changed, although If-Match forbade it")
  } finally {
    await store.remove([key])
  }
}

class Store implements BlobStore {
  readonly #place: StorePlace
  readonly #provider: StoreProvider
  readonly #requests: Requests
  readonly #prefix: string
  readonly #stop = new AbortController()
  readonly location: string

  constructor(place: StorePlace, provider: StoreProvider, requests: Requests) {
    this.#place = place
    this.#provider = provider
    this.#requests = requests
    this.#prefix = place.key === "" ? "" : `${place.key}/`
    this.location = addressUrl(place)
  }

  create(key: string, parts: ReadonlyArray<Uint8Array>, signal?: AbortSignal): Promise<"created" | "exists"> {
    return this.#about(key, "write", signal, (whole, ask) => this.#provider.create(whole, parts, ask))
  }

  replace(key: string, bytes: Uint8Array, version: string): Promise<{ readonly version: string } | "changed"> {
    return this.#about(key, "write", undefined, (whole, ask) => this.#provider.replace(whole, bytes, version, ask))
  }

  read(key: string, range?: ByteRange, signal?: AbortSignal): Promise<ReadBytes | undefined> {
    return this.#about(key, "read", signal, (whole, ask) =>
      ask("read", bytesOf(range), async (each) => {
        const found = await this.#provider.read(whole, range, each)
        if (found === undefined) return undefined
        const length = lengthWithin(range, found.size)
        this.#requests.count("read", 0, found.bytes.length)
        if (found.bytes.length === length) return found
        // A proxy between here and the store cut it off.
        throw this.#error(whole, "unreachable", `${found.bytes.length} bytes arrived instead of ${length}`)
      }),
    )
  }

  async *list(prefix: string, options: ListOptions = {}): AsyncGenerator<ListedObject, void> {
    const { after, signal, ...rest } = options
    const stop = this.#stopped(signal)
    const begin = this.#prefix + prefix
    const wholeAfter = after === undefined ? undefined : this.#prefix + after
    let last = wholeAfter
    try {
      const asked = wholeAfter === undefined ? rest : { ...rest, after: wholeAfter }
      for await (const entry of this.#provider.list(begin, asked, this.#requests.until(stop))) {
        if (wholeAfter !== undefined && byBytes(entry.key, wholeAfter) <= 0) continue
        if (last !== undefined && byBytes(entry.key, last) <= 0)
          throw new Error(`the store lists ${JSON.stringify(entry.key)} after ${JSON.stringify(last)}`)
        last = entry.key
        yield { ...entry, key: entry.key.slice(this.#prefix.length) }
      }
    } catch (cause) {
      throw this.#errorOf(begin, cause, "list", stop)
    }
  }

  async remove(keys: ReadonlyArray<string>): Promise<void> {
    const whole = keys.map((key) => this.#whole(key, "remove"))
    const [first] = whole
    if (first === undefined) return
    try {
      await this.#provider.remove(whole, this.#requests.until(this.#stop.signal))
    } catch (cause) {
      throw this.#errorOf(first, cause, "remove", this.#stop.signal)
    }
  }

  usage(): StoreUsage {
    return this.#requests.usage()
  }

  close(): void {
    if (this.#stop.signal.aborted) return
    this.#stop.abort()
    this.#provider.close()
  }

  async #about<A>(
    key: string,
    access: TargetError["access"],
    signal: AbortSignal | undefined,
    work: (whole: string, ask: Ask) => Promise<A>,
  ): Promise<A> {
    const whole = this.#whole(key, access)
    const stop = this.#stopped(signal)
    try {
      return await work(whole, this.#requests.until(stop))
    } catch (cause) {
      throw this.#errorOf(whole, cause, access, stop)
    }
  }

  #stopped(signal: AbortSignal | undefined): AbortSignal {
    return signal === undefined ? this.#stop.signal : AbortSignal.any([this.#stop.signal, signal])
  }

  #whole(key: string, access: TargetError["access"]): string {
    const whole = this.#prefix + key
    const fault = keyFault(key) ?? keyFault(whole)
    if (fault === undefined) return whole
    throw targetError({ ...this.#place, key: whole }, "bad-key", fault, access)
  }

  #error(key: string, code: TargetError["code"], reason: string): TargetError {
    return targetError({ ...this.#place, key }, code, reason, "read")
  }

  #errorOf(key: string, cause: unknown, access: TargetError["access"], stop: AbortSignal): TargetError {
    const place = { ...this.#place, key }
    if (!stop.aborted) return targetErrorOf(place, cause, access)
    const reason = this.#stop.signal.aborted ? "the store was closed" : "the caller ended it"
    return targetError(place, "aborted", reason, access)
  }
}

/** Of what is asked for; a whole object may have any size, and gets the time of one that is written in one request. */
const bytesOf = (range: ByteRange | undefined): number => {
  if (range !== undefined && "last" in range) return range.last
  return range?.until === undefined ? largestRequest : range.until - range.from
}

const lengthWithin = (range: ByteRange | undefined, size: number): number => {
  if (range === undefined) return size
  if ("last" in range) return Math.min(range.last, size)
  return Math.max(0, Math.min(range.until ?? size, size) - range.from)
}
