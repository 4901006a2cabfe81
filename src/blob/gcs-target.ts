/**
 * An object of Google Cloud Storage, as a resumable upload, whose session is a URL of its own. Credentials are Google's application
 * default (`GOOGLE_APPLICATION_CREDENTIALS`, gcloud, workload identity, metadata server), or the key file that SimKube's
 * `GOOGLE_SERVICE_ACCOUNT` names. `STORAGE_EMULATOR_HOST` replaces the endpoint. The SDK compares the object's CRC32C at the end.
 */
import { readFile } from "node:fs/promises"
import { pipeline } from "node:stream/promises"
import { setImmediate } from "node:timers/promises"
import type * as Gcs from "@google-cloud/storage"
import { type ImportPackage, loadSdk } from "./optional-package.ts"
import type { Part, PartSink } from "./part-writer.ts"
import type { StoreAddress } from "./target-address.ts"
import { targetError } from "./target-error.ts"

/** s that the SDK goes on repeating a request; our own deadlines end it before. */
const repeatSeconds = 60

/** Begins the upload: from then on the bucket is known to be there and writable. */
export const openGcs = async (
  address: StoreAddress,
  contentType: string,
  environment: NodeJS.ProcessEnv,
  importing: ImportPackage,
): Promise<PartSink> => {
  const sdk = await loadSdk<typeof Gcs>(importing, "@google-cloud/storage", address)
  const storage = new sdk.Storage({
    retryOptions: {
      autoRetry: true,
      maxRetries: 3,
      maxRetryDelay: 8,
      totalTimeout: repeatSeconds,
      // A part names its place in the object, so sending it again is harmless.
      idempotencyStrategy: sdk.IdempotencyStrategy.RetryAlways,
    },
  })
  const keyFile = environment.GOOGLE_SERVICE_ACCOUNT
  if (keyFile && !environment.GOOGLE_APPLICATION_CREDENTIALS && !environment.STORAGE_EMULATOR_HOST) {
    // Read here: what the SDK says of a file that is no JSON quotes it.
    storage.authClient.jsonContent = await readKeyFile(keyFile, address)
  }
  const file = storage.bucket(address.bucket).file(address.key)
  const [session] = await file.createResumableUpload({ metadata: { contentType } })
  return new GcsSink(file, session)
}

/** bytes that are handed to the SDK at once: its CRC32C is JavaScript, and a whole part would hold this thread up for 100 ms. */
const sliceBytes = 256 * 1024

async function* slices(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += sliceBytes) {
    yield bytes.subarray(at, at + sliceBytes)
    await setImmediate()
  }
}

const readKeyFile = async (path: string, address: StoreAddress): Promise<object> => {
  try {
    const key: unknown = JSON.parse(await readFile(path, "utf8"))
    if (typeof key === "object" && key !== null) return key
  } catch {
    // A file that cannot be read and one that is no JSON are the same to whoever set the variable.
  }
  throw targetError(address, "credentials", `GOOGLE_SERVICE_ACCOUNT does not name a readable JSON key file: ${path}`)
}

class GcsSink implements PartSink {
  // A multiple of 256 KiB, as the protocol wants; one at a time, because each says where the one before ended.
  readonly partBytes = 8 * 1024 * 1024
  readonly parallel = 1
  // 5 TiB are the largest object.
  readonly maximumParts = 655_360
  readonly #file: Gcs.File
  readonly #session: string
  /** Of all parts so far; the SDK carries it on from one to the next. */
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

  /** The last part has made the object. */
  async commit(): Promise<void> {
    await Promise.resolve()
  }

  /** The SDK has no call for it. The session's URL is all that is needed, credentials are not; 499 is the protocol's yes. */
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
