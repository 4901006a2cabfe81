/**
 * An object in a store as a stream of bytes, read in ranges: a reader may be as slow as it likes, because no connection waits for it, and a
 * range whose connection broke is requested again.
 *
 * Guaranteed: all bytes are of the version that existed when the object was opened, or reading fails. Memory: two ranges of
 * {@link rangeBytes}, one of them being fetched ahead.
 */

import type { EventEmitter } from "node:events"
import type * as S3 from "@aws-sdk/client-s3"
import type * as Azure from "@azure/storage-blob"
import { type Clock, systemClock } from "../clock.ts"
import { connectAzure } from "./azure-target.ts"
import { connectGcs } from "./gcs-target.ts"
import { targetDeadlines, within } from "./part-writer.ts"
import { connectS3 } from "./s3-target.ts"
import type { StoreAddress } from "./target-address.ts"
import { type ImportPackage, importPackage, loadSdk, targetError, targetErrorOf } from "./target-error.ts"

// An object in S3 or a compatible store, read in ranges with the connection of {@link connectS3}.

/** Requests the first byte: unlike that of a HEAD request, the response to a missing object says what is missing. */
const openS3Source = async (
  address: StoreAddress,
  environment: NodeJS.ProcessEnv,
  importing: ImportPackage,
): Promise<RangeSource> => {
  const sdk = await loadSdk<typeof S3>(importing, "@aws-sdk/client-s3", address)
  const client = await connectS3(sdk, address, environment)
  const place = { Bucket: address.bucket, Key: address.key }
  const range = async (input: S3.GetObjectCommandInput, signal?: AbortSignal) => {
    const answer = await client.send(
      new sdk.GetObjectCommand(input),
      signal === undefined ? {} : { abortSignal: signal },
    )
    return { answer, bytes: (await answer.Body?.transformToByteArray()) ?? new Uint8Array(0) }
  }
  try {
    const { answer } = await range({ ...place, Range: "bytes=0-0" })
    const size = Number(/\/(\d+)$/.exec(answer.ContentRange ?? "")?.[1] ?? answer.ContentLength ?? 0)
    const version = answer.ETag === undefined ? {} : { IfMatch: answer.ETag }
    return {
      size,
      read: async (offset, length, signal) => {
        const input = { ...place, ...version, Range: `bytes=${offset}-${offset + length - 1}` }
        return (await range(input, signal)).bytes
      },
      close: () => client.destroy(),
    }
  } catch (cause) {
    client.destroy()
    // There is no first byte.
    if (cause instanceof sdk.S3ServiceException && cause.$metadata.httpStatusCode === 416) return empty
    throw cause
  }
}

const empty: RangeSource = { size: 0, read: async () => new Uint8Array(0), close: () => undefined }

// An object in Google Cloud Storage, read in ranges with the connection of {@link connectGcs}.

/** The SDK puts more than ten listeners on the response of each download, which Node would report as a leak. */
const listenersOfResponse = 20

/** Requests the object's metadata, which names its present version. */
const openGcsSource = async (
  address: StoreAddress,
  environment: NodeJS.ProcessEnv,
  importing: ImportPackage,
): Promise<RangeSource> => {
  const { storage } = await connectGcs(address, environment, importing)
  const bucket = storage.bucket(address.bucket)
  const [metadata] = await bucket
    .file(address.key)
    .getMetadata()
    .catch((cause: unknown) => {
      throw isMissing(cause) ? targetError(address, "no-object", "there is no such object", "read") : cause
    })
  const file = bucket.file(address.key, { generation: metadata.generation ?? "" })
  return {
    size: Number(metadata.size ?? 0),
    read: async (offset, length) => {
      // The checksum that the store has is that of the whole object.
      const stream = file.createReadStream({ start: offset, end: offset + length - 1, validation: false })
      stream.on("response", (response: EventEmitter) => response.setMaxListeners(listenersOfResponse))
      const pieces: Uint8Array[] = []
      for await (const piece of stream) pieces.push(piece)
      return Buffer.concat(pieces)
    },
    close: () => undefined,
  }
}

/** The store has one status for a missing object and a missing bucket, and names the bucket in its message. */
const isMissing = (cause: unknown): boolean =>
  cause instanceof Error && "code" in cause && cause.code === 404 && !/bucket/i.test(cause.message)

// An Azure blob, read in ranges.

/** Requests the blob's properties, which name its present version. */
const openAzureSource = async (
  address: StoreAddress,
  environment: NodeJS.ProcessEnv,
  importing: ImportPackage,
): Promise<RangeSource> => {
  const sdk = await loadSdk<typeof Azure>(importing, "@azure/storage-blob", address)
  const service = await connectAzure(sdk, address, environment, importing)
  const blob = service.getContainerClient(address.bucket).getBlobClient(address.key)
  const { contentLength = 0, etag } = await blob.getProperties()
  const conditions = etag === undefined ? {} : { ifMatch: etag }
  return {
    size: contentLength,
    read: (offset, length, abortSignal) => blob.downloadToBuffer(offset, length, { conditions, abortSignal }),
    close: () => undefined,
  }
}

/** A store's operations on one version of one object. Rejections are the SDK's own errors. */
interface RangeSource {
  /** Bytes of the object. */
  readonly size: number
  /** Exactly `length` bytes, all of them within the object. Rejects if the object was replaced. */
  read(offset: number, length: number, signal: AbortSignal): Promise<Uint8Array>
  /** Closes connections; the last call. */
  close(): void
}

export interface StoredObject {
  /** In bytes. */
  readonly size: number
  /** From the beginning, again for each call. Throws TargetError. */
  read(): AsyncGenerator<Uint8Array, void>
  /** Ends reading. May be called again. */
  close(): void
}

interface OpenSourceOptions {
  /** Ends opening. */
  readonly signal: AbortSignal
  readonly clock?: Clock
  /** Read by this module; the SDKs read the environment of the process. Default `process.env`. */
  readonly environment?: NodeJS.ProcessEnv
  readonly importing?: ImportPackage
  /** Default {@link rangeBytes}. */
  readonly rangeBytes?: number
}

/** Large enough that the time of a request does not count. */
const rangeBytes = 4 * 1024 * 1024

/**
 * How often a range is requested whose connection breaks, and ms of half of the longest first pause; the pauses double.
 */
const attempts = 5
const pauseMs = 50

const openers = { s3: openS3Source, gs: openGcsSource, azure: openAzureSource }

/** Rejects with a TargetError: the object does not exist, or may not be read, or the store does not respond in time. */
export const openSource = async (address: StoreAddress, options: OpenSourceOptions): Promise<StoredObject> => {
  const { signal, clock = systemClock, environment = process.env, importing = importPackage } = options
  const opening = openers[address.provider](address, environment, importing)
  try {
    const source = await within(clock, "the store's response", targetDeadlines.openMs, signal, () => opening)
    return new RangeReader(address, source, clock, options.rangeBytes ?? rangeBytes)
  } catch (cause) {
    // It may still open after the caller has gone, and is then closed.
    void opening.then(
      (source) => source.close(),
      () => undefined,
    )
    throw targetErrorOf(address, cause, "read")
  }
}

class RangeReader implements StoredObject {
  readonly #address: StoreAddress
  readonly #source: RangeSource
  readonly #clock: Clock
  readonly #rangeBytes: number
  readonly #stop = new AbortController()

  constructor(address: StoreAddress, source: RangeSource, clock: Clock, bytes: number) {
    this.#address = address
    this.#source = source
    this.#clock = clock
    this.#rangeBytes = bytes
  }

  get size(): number {
    return this.#source.size
  }

  async *read(): AsyncGenerator<Uint8Array, void> {
    const ranges = Math.ceil(this.size / this.#rangeBytes)
    let ahead = this.#fetch(0)
    for (let range = 0; range < ranges; range++) {
      const bytes = await ahead
      ahead = this.#fetch(range + 1)
      // It is awaited in the next round, or no longer wanted.
      ahead.catch(() => undefined)
      yield bytes
    }
  }

  close(): void {
    if (this.#stop.signal.aborted) return
    this.#stop.abort(targetError(this.#address, "aborted", "the reader was closed", "read"))
    this.#source.close()
  }

  /** Nothing beyond the last range. */
  async #fetch(range: number): Promise<Uint8Array> {
    const offset = range * this.#rangeBytes
    const length = Math.min(this.#rangeBytes, this.size - offset)
    if (length <= 0) return new Uint8Array(0)
    for (let attempt = 1; ; attempt++) {
      try {
        const what = `range ${range + 1}`
        const bytes = await within(this.#clock, what, targetDeadlines.partMs, this.#stop.signal, (signal) =>
          this.#source.read(offset, length, signal),
        )
        if (bytes.length === length) return bytes
        const reason = `${bytes.length} bytes arrived instead of ${length}`
        throw targetError(this.#address, "unreachable", reason, "read")
      } catch (cause) {
        const error = targetErrorOf(this.#address, cause, "read")
        // The SDKs repeat requests without a response, but not those whose response broke off.
        if (error.code !== "unreachable" || attempt === attempts || this.#stop.signal.aborted) throw error
      }
      await this.#pause(pauseMs * 2 ** attempt * (0.5 + Math.random() / 2))
    }
  }

  /** Ends early when the reader is closed. */
  #pause(milliseconds: number): Promise<void> {
    const { signal } = this.#stop
    return new Promise((resolve) => {
      const end = (): void => {
        timer.cancel()
        signal.removeEventListener("abort", end)
        resolve()
      }
      const timer = this.#clock.after(milliseconds, end)
      signal.addEventListener("abort", end)
    })
  }
}
