/**
 * Objects in S3 and compatible stores. Credentials, region and endpoint are found as the AWS SDK finds them: `AWS_*` variables, shared configuration
 * files, web identity, container and instance roles. Objects and parts carry the SDK's default checksums.
 */
import type * as S3 from "@aws-sdk/client-s3"
import type { StorePlace } from "../addresses/target-address.ts"
import { joined } from "../requests/requests.ts"
import {
  created,
  listedPrefix,
  loadSdk,
  type PartSink,
  rangeHeader,
  received,
  type Surroundings,
  sizeBy,
  type UploadingProvider,
  unless,
} from "./provider.ts"

/** ms within which a server must accept a connection, and longest silence on it: what a slow line needs for 4 MiB, of which buffers of the machine are full. */
const connectionMs = 5000
const silenceMs = 150_000

interface Connection {
  readonly sdk: typeof S3
  readonly client: S3.S3Client
}

/** Contacts nothing. Rejects with a TargetError. */
export const openS3 = async (place: StorePlace, surroundings: Surroundings): Promise<UploadingProvider> => {
  const connection = await connect(place, surroundings)
  const { sdk, client } = connection
  const Bucket = place.bucket
  return {
    removedAtOnce: 1000,
    create: (Key, parts, abortSignal) => {
      const input = { Bucket, Key, IfNoneMatch: "*", Body: joined(parts) }
      return created(client.send(new sdk.PutObjectCommand(input), { abortSignal }))
    },
    read: async (Key, range, abortSignal, arrived) => {
      const input = { Bucket, Key, ...rangeHeader(range) }
      const answer = await client.send(new sdk.GetObjectCommand(input), { abortSignal })
      const bytes = await received((answer.Body ?? []) as AsyncIterable<Uint8Array>, arrived)
      return { bytes, size: sizeBy(answer.ContentRange, bytes), version: answer.ETag ?? "" }
    },
    look: async (Key, abortSignal) => {
      const { ContentLength = 0, ETag = "" } = await client.send(new sdk.HeadObjectCommand({ Bucket, Key }), {
        abortSignal,
      })
      return { size: ContentLength, version: ETag }
    },
    list: async ({ prefix, after, token, delimiter }, abortSignal) => {
      const input = { Bucket, Prefix: prefix, StartAfter: after, ContinuationToken: token, Delimiter: delimiter }
      const page = await client.send(new sdk.ListObjectsV2Command(input), { abortSignal })
      const prefixes = (page.CommonPrefixes ?? []).map(({ Prefix = "" }) => listedPrefix(Prefix))
      const entries = (page.Contents ?? []).map(({ Key: key = "", Size: bytes = 0, LastModified }) => ({
        ...{ key, bytes, modifiedMs: LastModified?.getTime() ?? 0 },
      }))
      return { entries: [...entries, ...prefixes], next: page.IsTruncated ? page.NextContinuationToken : undefined }
    },
    remove: async (keys, abortSignal) => {
      const input = { Bucket, Delete: { Objects: keys.map((Key) => ({ Key })), Quiet: true } }
      const { Errors = [] } = await client.send(new sdk.DeleteObjectsCommand(input), { abortSignal })
      const fault = Errors.find(({ Code }) => Code !== "NoSuchKey")
      if (fault !== undefined)
        throw Object.assign(new Error(`${fault.Message} (${fault.Key})`), { code: fault.Code ?? "" })
    },
    upload: (Key, ContentType) => startUpload(connection, { Bucket, Key, ContentType }),
    close: () => client.destroy(),
  }
}

const connect = async (place: StorePlace, surroundings: Surroundings): Promise<Connection> => {
  const sdk = await loadSdk<typeof S3>(place, surroundings, "@aws-sdk/client-s3")
  const { host, region = await configuredRegion(sdk) } = place
  const options: S3.S3ClientConfig = {
    region,
    maxAttempts: 1,
    followRegionRedirects: true,
    requestHandler: { connectionTimeout: connectionMs, socketTimeout: silenceMs },
  }
  const { environment = process.env } = surroundings
  const isElsewhere = (environment.AWS_ENDPOINT_URL_S3 ?? environment.AWS_ENDPOINT_URL) !== undefined
  // Servers other than Amazon's seldom respond to bucket names as subdomains of their own.
  if (host === undefined) return { sdk, client: new sdk.S3Client({ ...options, forcePathStyle: isElsewhere }) }
  // What the URL names takes precedence over where the environment points s3://.
  const server = host.startsWith("amazonaws.")
    ? { endpoint: `https://s3.${region}.${host}` }
    : { endpoint: `https://${host}`, forcePathStyle: true }
  return { sdk, client: new sdk.S3Client({ ...options, ...server }) }
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

/** How many times parts are removed until the store lists none: a part under way may arrive after the first removal. */
const discardAttempts = 4

/** Begins a multipart upload. */
const startUpload = async (
  { sdk, client }: Connection,
  { ContentType, ...place }: { readonly Bucket: string; readonly Key: string; readonly ContentType: string },
): Promise<PartSink> => {
  // Parts carry checksums unless AWS_REQUEST_CHECKSUM_CALCULATION disables them; the upload must be announced accordingly, and completed with them.
  const isChecksummed = (await client.config.requestChecksumCalculation()) === "WHEN_SUPPORTED"
  const input = { ...place, ContentType, ...(isChecksummed ? { ChecksumAlgorithm: "CRC32" as const } : {}) }
  const { UploadId } = await client.send(new sdk.CreateMultipartUploadCommand(input))
  if (UploadId === undefined) throw new Error("the response has no upload ID")
  const upload = { ...place, UploadId }
  const Parts: S3.CompletedPart[] = []
  return {
    // S3 requires at least 5 MiB; two under way and one being filled are 24 MiB, and 10,000 of them 84 GB.
    partBytes: 8 * 1024 * 1024,
    parallel: 2,
    maximumParts: 10_000,
    put: async ({ number: PartNumber, bytes: Body }, abortSignal) => {
      const command = new sdk.UploadPartCommand({ ...upload, PartNumber, Body })
      const { ETag, ChecksumCRC32 } = await client.send(command, { abortSignal })
      Parts[PartNumber - 1] = { PartNumber, ETag, ...(isChecksummed ? { ChecksumCRC32 } : {}) }
    },
    commit: async (abortSignal) => {
      const command = new sdk.CompleteMultipartUploadCommand({ ...upload, MultipartUpload: { Parts } })
      await client.send(command, { abortSignal })
    },
    discard: async (abortSignal) => {
      for (let attempt = 1; attempt <= discardAttempts; attempt++) {
        await client.send(new sdk.AbortMultipartUploadCommand(upload), { abortSignal }).catch(unless("NoSuchUpload"))
        // Gone, or listing is not permitted: the store's response to the removal must be enough.
        const listing = await client.send(new sdk.ListPartsCommand(upload), { abortSignal }).catch(() => undefined)
        if ((listing?.Parts ?? []).length === 0) return
      }
      throw new Error(`parts of upload ${UploadId} are still there after ${discardAttempts} removals`)
    },
  }
}
