/**
 * Objects of S3 and compatible stores for {@link BlobStore}, with the connection of {@link connectS3}. An object of more than 64 MiB is a multipart
 * upload, whose completion is conditional as well.
 */
import type * as S3 from "@aws-sdk/client-s3"
import {
  type ByteRange,
  type ListedObject,
  type ListOptions,
  largestRequest,
  merged,
  type ReadBytes,
  rangeHeader,
  type StoreProvider,
} from "./blob-store.ts"
import { type Ask, entriesOf, inParallel, lengthOf, sliceOf } from "./requests.ts"
import { connectS3, startUpload } from "./s3-target.ts"
import type { StorePlace } from "./target-address.ts"
import { hasCode, type ImportPackage, statusOf } from "./target-error.ts"

/** Bytes of a part of a multipart upload, and how many are under way: the largest request in all. */
const partBytes = 16 * 1024 * 1024
const partsAtOnce = 4

/** Keys that one request removes; the limit of the protocol. */
const removedAtOnce = 1000

/** How often a multipart upload is begun anew because another writer completed one at the same moment: S3 demands that its parts are sent again. */
const conflicts = 4

export const openS3Store = async (
  place: StorePlace,
  environment: NodeJS.ProcessEnv,
  importing: ImportPackage,
): Promise<StoreProvider> => {
  const { sdk, client } = await connectS3(place, environment, importing, 1)
  return new S3Store(sdk, client, place.bucket)
}

class S3Store implements StoreProvider {
  readonly #sdk: typeof S3
  readonly #client: S3.S3Client
  readonly #bucket: string

  constructor(sdk: typeof S3, client: S3.S3Client, bucket: string) {
    this.#sdk = sdk
    this.#client = client
    this.#bucket = bucket
  }

  async create(key: string, parts: ReadonlyArray<Uint8Array>, ask: Ask): Promise<"created" | "exists"> {
    const size = lengthOf(parts)
    if (size <= largestRequest)
      return (await this.#put(key, sliceOf(parts, 0, size), { IfNoneMatch: "*" }, ask)) === undefined
        ? "exists"
        : "created"
    for (let attempt = 1; ; attempt++) {
      const outcome = await this.#upload(key, parts, ask)
      if (outcome !== "conflict") return outcome
      if (attempt === conflicts) throw new Error(`other writers interfered with ${attempt} uploads`)
    }
  }

  async replace(
    key: string,
    bytes: Uint8Array,
    version: string,
    ask: Ask,
  ): Promise<{ readonly version: string } | "changed"> {
    const condition = version === "absent" ? { IfNoneMatch: "*" } : { IfMatch: version }
    const written = await this.#put(key, bytes, condition, ask)
    return written === undefined ? "changed" : { version: written }
  }

  async read(key: string, range: ByteRange | undefined, abortSignal: AbortSignal): Promise<ReadBytes | undefined> {
    const input = { ...this.#named(key), ...(range === undefined ? {} : { Range: rangeHeader(range) }) }
    try {
      const answer = await this.#client.send(new this.#sdk.GetObjectCommand(input), { abortSignal })
      const bytes = (await answer.Body?.transformToByteArray()) ?? new Uint8Array(0)
      const size = Number(/\/(\d+)$/.exec(answer.ContentRange ?? "")?.[1] ?? answer.ContentLength ?? bytes.length)
      return { bytes, size, version: answer.ETag ?? "" }
    } catch (cause) {
      if (hasCode(cause, "NoSuchKey")) return undefined
      if (statusOf(cause) !== 416) throw cause
      // The range begins past the end.
      const head = await this.#client.send(new this.#sdk.HeadObjectCommand(this.#named(key)), { abortSignal })
      return { bytes: new Uint8Array(0), size: head.ContentLength ?? 0, version: head.ETag ?? "" }
    }
  }

  list(prefix: string, { after, delimiter }: ListOptions, ask: Ask): AsyncIterable<ListedObject> {
    const input = { Bucket: this.#bucket, Prefix: prefix, StartAfter: after, Delimiter: delimiter }
    return entriesOf(async (ContinuationToken) => {
      const page = await ask("list", 0, (abortSignal) =>
        this.#client.send(new this.#sdk.ListObjectsV2Command({ ...input, ContinuationToken }), { abortSignal }),
      )
      const objects = (page.Contents ?? []).map(({ Key: key = "", Size: bytes = 0, LastModified }) => ({
        key,
        bytes,
        modifiedMs: LastModified?.getTime() ?? 0,
      }))
      const prefixes = (page.CommonPrefixes ?? []).map(({ Prefix = "" }) => Prefix)
      return { entries: merged(objects, prefixes), token: page.IsTruncated ? page.NextContinuationToken : undefined }
    })
  }

  async remove(keys: ReadonlyArray<string>, ask: Ask): Promise<void> {
    for (let at = 0; at < keys.length; at += removedAtOnce) {
      const Objects = keys.slice(at, at + removedAtOnce).map((Key) => ({ Key }))
      await ask("remove", 0, async (abortSignal) => {
        const input = { Bucket: this.#bucket, Delete: { Objects, Quiet: true } }
        const { Errors = [] } = await this.#client.send(new this.#sdk.DeleteObjectsCommand(input), { abortSignal })
        const fault = Errors.find(({ Code }) => Code !== "NoSuchKey")
        if (fault !== undefined)
          throw Object.assign(new Error(`${fault.Message} (${fault.Key})`), { code: fault.Code ?? "" })
      })
    }
  }

  close(): void {
    this.#client.destroy()
  }

  #named(key: string): { readonly Bucket: string; readonly Key: string } {
    return { Bucket: this.#bucket, Key: key }
  }

  /** The object's new version; `undefined` if the condition was not met. */
  async #put(
    key: string,
    Body: Uint8Array,
    condition: Pick<S3.PutObjectCommandInput, "IfMatch" | "IfNoneMatch">,
    ask: Ask,
  ): Promise<string | undefined> {
    const command = () => new this.#sdk.PutObjectCommand({ ...this.#named(key), ...condition, Body })
    try {
      const answer = await ask("write", Body.length, (abortSignal) => this.#client.send(command(), { abortSignal }))
      return answer.ETag ?? ""
    } catch (cause) {
      // 404: there is nothing to replace.
      if (statusOf(cause) === 412 || hasCode(cause, "NoSuchKey")) return undefined
      throw cause
    }
  }

  async #upload(key: string, parts: ReadonlyArray<Uint8Array>, ask: Ask): Promise<"created" | "exists" | "conflict"> {
    const size = lengthOf(parts)
    const upload = await ask("write", 0, () =>
      startUpload(this.#sdk, this.#client, this.#named(key), { onlyNew: true }),
    )
    try {
      const offsets = Array.from({ length: Math.ceil(size / partBytes) }, (_, index) => index * partBytes)
      await inParallel(offsets, partsAtOnce, (offset, index) => {
        const bytes = sliceOf(parts, offset, offset + partBytes)
        const part = { number: index + 1, offset, bytes, last: offset + partBytes >= size }
        return ask("write", bytes.length, (signal) => upload.put(part, signal))
      })
      await ask("write", 0, (signal) => upload.commit(signal))
      return "created"
    } catch (cause) {
      // Parts that cannot be removed now are left for the bucket's lifecycle rule: what happened to the object is known, and more important.
      await ask("write", 0, (signal) => upload.discard(signal)).catch(() => undefined)
      if (statusOf(cause) === 412) return "exists"
      if (hasCode(cause, "ConditionalRequestConflict")) return "conflict"
      // The answer to an earlier completion was lost, or someone ended the upload.
      if (hasCode(cause, "NoSuchUpload")) return (await this.#exists(key, ask)) ? "exists" : "conflict"
      throw cause
    }
  }

  async #exists(key: string, ask: Ask): Promise<boolean> {
    try {
      await ask("read", 0, (abortSignal) =>
        this.#client.send(new this.#sdk.HeadObjectCommand(this.#named(key)), { abortSignal }),
      )
      return true
    } catch (cause) {
      if (statusOf(cause) === 404) return false
      throw cause
    }
  }
}
