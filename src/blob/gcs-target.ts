/**
 * An object in Google Cloud Storage, written as a resumable upload, whose session is a URL of its own. Credentials are Google's application
 * default (`GOOGLE_APPLICATION_CREDENTIALS`, gcloud, workload identity, metadata server), or the key file that SimKube's
 * `GOOGLE_SERVICE_ACCOUNT` names. `STORAGE_EMULATOR_HOST` replaces the endpoint. The SDK compares the object's CRC32C at the end.
 */
import { readFile } from "node:fs/promises"
import { pipeline } from "node:stream/promises"
import { setImmediate } from "node:timers/promises"
import type * as Gcs from "@google-cloud/storage"
import type { Part, PartSink } from "./part-writer.ts"
import type { StoreAddress, StorePlace } from "./target-address.ts"
import { type ImportPackage, loadSdk, targetError } from "./target-error.ts"

/** Seconds for which the SDK keeps repeating a request; our own deadlines end it earlier. */
const repeatSeconds = 60

/** Starts the upload, which proves that the bucket exists and is writable. */
export const openGcs = async (
  address: StoreAddress,
  contentType: string,
  environment: NodeJS.ProcessEnv,
  importing: ImportPackage,
): Promise<PartSink> => {
  const { storage } = await connectGcs(address, environment, importing)
  const file = storage.bucket(address.bucket).file(address.key)
  const [session] = await file.createResumableUpload({ metadata: { contentType } })
  return new GcsSink(file, session)
}

/** The client for an address. Rejects with TargetError `package-missing` or `credentials`. */
export const connectGcs = async (
  address: StorePlace,
  environment: NodeJS.ProcessEnv,
  importing: ImportPackage,
): Promise<{ readonly storage: Gcs.Storage }> => {
  const sdk = await loadSdk<typeof Gcs>(importing, "@google-cloud/storage", address)
  const storage = new sdk.Storage({
    retryOptions: {
      autoRetry: true,
      maxRetries: 3,
      maxRetryDelay: 8,
      totalTimeout: repeatSeconds,
      // A part gives its position in the object, so sending it again is harmless.
      idempotencyStrategy: sdk.IdempotencyStrategy.RetryAlways,
    },
  })
  // The SDK takes the variable for the whole address of the API, also without a path; uploads have an address of their own.
  if (environment.STORAGE_EMULATOR_HOST) storage.baseUrl = `${storage.apiEndpoint}/storage/v1`
  const keyFile = environment.GOOGLE_SERVICE_ACCOUNT
  if (keyFile && !environment.GOOGLE_APPLICATION_CREDENTIALS && !environment.STORAGE_EMULATOR_HOST) {
    // Read here, because the SDK's error for a file that is not JSON quotes the file.
    storage.authClient.jsonContent = await readKeyFile(keyFile, address)
  }
  return { storage }
}

/** Bytes passed to the SDK at once: it computes CRC32C in JavaScript, and a whole part would block this thread for 100 ms. */
const sliceBytes = 256 * 1024

async function* slices(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += sliceBytes) {
    yield bytes.subarray(at, at + sliceBytes)
    await setImmediate()
  }
}

const readKeyFile = async (path: string, address: StorePlace): Promise<object> => {
  try {
    const key: unknown = JSON.parse(await readFile(path, "utf8"))
    if (typeof key === "object" && key !== null) return key
  } catch {
    // An unreadable file and one that is not JSON are the same mistake in the variable.
  }
  throw targetError(address, "credentials", `GOOGLE_SERVICE_ACCOUNT does not name a readable JSON key file: ${path}`)
}

class GcsSink implements PartSink {
  // A multiple of 256 KiB, as the protocol requires; one at a time, because each part starts where the previous one ended.
  readonly partBytes = 8 * 1024 * 1024
  readonly parallel = 1
  // The largest object is 5 TiB.
  readonly maximumParts = 655_360
  readonly #file: Gcs.File
  readonly #session: string
  /** Checksum of all parts so far; the SDK continues it from part to part. */
  #checksum: string | undefined

  constructor(file: Gcs.File, session: string) {
    this.#file = file
    this.#session = session
  }

  async put({ offset, bytes, last }: Part, signal: AbortSignal): Promise<void> {
    const stream = this.#file.createWriteStream({
      resumable: true,
      uri: this.#session,
      offset,
      chunkSize: this.partBytes,
      isPartialUpload: !last,
      validation: "crc32c",
      ...(this.#checksum === undefined ? {} : { resumeCRC32C: this.#checksum }),
    })
    stream.on("crc32c", (checksum: string) => {
      this.#checksum = checksum
    })
    await pipeline(slices(bytes), stream, { signal })
  }

  /** Nothing to do: the last part has created the object. */
  async commit(): Promise<void> {
    await Promise.resolve()
  }

  /** The SDK has no call for this. The session's URL is enough, no credentials are needed; status 499 means success. */
  async discard(signal: AbortSignal): Promise<void> {
    const answer = await fetch(this.#session, { method: "DELETE", headers: { "Content-Length": "0" }, signal })
    await answer.arrayBuffer()
    if (!answer.ok && ![404, 410, 499].includes(answer.status))
      throw new Error(`the upload's session cannot be deleted: HTTP ${answer.status}`)
  }

  close(): void {
    this.#checksum = undefined
  }
}
