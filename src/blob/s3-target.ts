/**
 * An object in S3 or a compatible store, written as a multipart upload. Credentials, region and endpoint are found as the AWS SDK finds
 * them: `AWS_*` variables, shared configuration files, web identity, container and instance roles. Parts carry the SDK's default checksums.
 */
import type * as S3 from "@aws-sdk/client-s3"
import type { Part, PartSink } from "./part-writer.ts"
import type { StoreAddress, StorePlace } from "./target-address.ts"
import { type ImportPackage, loadSdk } from "./target-error.ts"

/** ms within which a server must accept a connection, and longest silence on it. */
const connectionMs = 5000
const silenceMs = 60_000

/** Starts the upload, which proves that the bucket exists and is writable. */
export const openS3 = async (
  address: StoreAddress,
  contentType: string,
  environment: NodeJS.ProcessEnv,
  importing: ImportPackage,
): Promise<PartSink> => {
  const { sdk, client } = await connectS3(address, environment, importing)
  try {
    return await startUpload(sdk, client, { Bucket: address.bucket, Key: address.key }, { contentType })
  } catch (cause) {
    client.destroy()
    throw cause
  }
}

/** Begins a multipart upload. `onlyNew`: completing it fails with 412 if the object exists. */
export const startUpload = async (
  sdk: typeof S3,
  client: S3.S3Client,
  place: { readonly Bucket: string; readonly Key: string },
  { contentType, onlyNew = false }: { readonly contentType?: string; readonly onlyNew?: boolean },
): Promise<PartSink> => {
  // Parts carry checksums unless AWS_REQUEST_CHECKSUM_CALCULATION disables them; the upload must be announced accordingly.
  const checksummed = (await client.config.requestChecksumCalculation()) === "WHEN_SUPPORTED"
  const created = await client.send(
    new sdk.CreateMultipartUploadCommand({
      ...place,
      ContentType: contentType,
      ...(checksummed ? { ChecksumAlgorithm: "CRC32" } : {}),
    }),
  )
  if (created.UploadId === undefined) throw new Error("the response has no upload ID")
  return new S3Sink(sdk, client, { ...place, UploadId: created.UploadId }, { checksummed, onlyNew })
}

/** The client for an address. `attempts`: how often it sends a request. */
export const connectS3 = async (
  address: StorePlace,
  environment: NodeJS.ProcessEnv,
  importing: ImportPackage,
  attempts = 4,
): Promise<{ readonly sdk: typeof S3; readonly client: S3.S3Client }> => {
  const sdk = await loadSdk<typeof S3>(importing, "@aws-sdk/client-s3", address)
  const { host } = address
  const region = address.region ?? (await configuredRegion(sdk))
  const options: S3.S3ClientConfig = {
    region,
    maxAttempts: attempts,
    followRegionRedirects: true,
    requestHandler: { connectionTimeout: connectionMs, socketTimeout: silenceMs },
  }
  if (host === undefined) {
    const endpoint = environment.AWS_ENDPOINT_URL_S3 ?? environment.AWS_ENDPOINT_URL
    // Servers other than Amazon's seldom respond to bucket names as subdomains of their own.
    return { sdk, client: new sdk.S3Client({ ...options, forcePathStyle: endpoint !== undefined }) }
  }
  // What the URL names takes precedence over where the environment points s3://.
  const place = host.startsWith("amazonaws.")
    ? { endpoint: `https://s3.${region}.${host}` }
    : { endpoint: `https://${host}`, forcePathStyle: true }
  return { sdk, client: new sdk.S3Client({ ...options, ...place }) }
}

/** Without a configured region, the one where Amazon looks for buckets by default; self-hosted servers ignore it. */
const configuredRegion = async (sdk: typeof S3): Promise<string> => {
  const client = new sdk.S3Client({})
  try {
    return await client.config.region()
  } catch {
    return "us-east-1"
  } finally {
    client.destroy()
  }
}

/** Identifies the upload in every request. */
interface Upload {
  readonly Bucket: string
  readonly Key: string
  readonly UploadId: string
}

interface UploadMode {
  readonly checksummed: boolean
  readonly onlyNew: boolean
}

/** How many times parts are removed until the store lists none: a part under way may arrive after the first removal. */
const discardAttempts = 4

class S3Sink implements PartSink {
  // S3 requires at least 5 MiB; two under way and one being filled are 24 MiB, and 10,000 of them 84 GB.
  readonly partBytes = 8 * 1024 * 1024
  readonly parallel = 2
  readonly maximumParts = 10_000
  readonly #sdk: typeof S3
  readonly #client: S3.S3Client
  readonly #upload: Upload
  /** `checksummed`: whether the store requires each part's checksum again at the end. */
  readonly #mode: UploadMode
  readonly #parts: S3.CompletedPart[] = []

  constructor(sdk: typeof S3, client: S3.S3Client, upload: Upload, mode: UploadMode) {
    this.#sdk = sdk
    this.#client = client
    this.#upload = upload
    this.#mode = mode
  }

  async put({ number, bytes }: Part, signal: AbortSignal): Promise<void> {
    const command = new this.#sdk.UploadPartCommand({ ...this.#upload, PartNumber: number, Body: bytes })
    const answer = await this.#client.send(command, { abortSignal: signal })
    const { ETag, ChecksumCRC32 } = answer
    this.#parts[number - 1] = { PartNumber: number, ETag, ...(this.#mode.checksummed ? { ChecksumCRC32 } : {}) }
  }

  async commit(signal: AbortSignal): Promise<void> {
    const command = new this.#sdk.CompleteMultipartUploadCommand({
      ...this.#upload,
      MultipartUpload: { Parts: this.#parts },
      ...(this.#mode.onlyNew ? { IfNoneMatch: "*" } : {}),
    })
    await this.#client.send(command, { abortSignal: signal })
  }

  async discard(signal: AbortSignal): Promise<void> {
    for (let attempt = 1; attempt <= discardAttempts; attempt++) {
      try {
        await this.#client.send(new this.#sdk.AbortMultipartUploadCommand(this.#upload), { abortSignal: signal })
      } catch (cause) {
        if (isGone(cause)) return
        throw cause
      }
      try {
        const listing = await this.#client.send(new this.#sdk.ListPartsCommand(this.#upload), { abortSignal: signal })
        if ((listing.Parts ?? []).length === 0) return
      } catch {
        // Gone, or listing is not permitted: the store's response to the removal must be enough.
        return
      }
    }
    throw new Error(`parts of upload ${this.#upload.UploadId} are still there after ${discardAttempts} removals`)
  }

  close(): void {
    this.#client.destroy()
  }
}

const isGone = (cause: unknown): boolean => cause instanceof Error && cause.name === "NoSuchUpload"
