/**
 * An Azure block blob: staged in blocks, committed at the end.
 *
 * Azure has no call that removes staged blocks: they disappear when the blob is next committed, or after a week. So an aborted upload
 * commits the blob as it was before. If there was none, that is an empty blob, deleted at once; if there was one, it is that blob's own
 * blocks. Both happen only if no one else has written the blob meanwhile. A blob that was not made of blocks, or has tags, cannot be
 * committed as it was and is left alone; the rejection says that uncommitted blocks remain for a week.
 */
import { randomUUID } from "node:crypto"
import type * as Azure from "@azure/storage-blob"
import { connectAzure } from "./azure-account.ts"
import { type ImportPackage, loadSdk } from "./optional-package.ts"
import type { Part, PartSink } from "./part-writer.ts"
import type { StoreAddress } from "./target-address.ts"

/** Requests the blob, which proves that the container exists and may be read or written. */
export const openAzure = async (
  address: StoreAddress,
  contentType: string,
  environment: NodeJS.ProcessEnv,
  importing: ImportPackage,
): Promise<PartSink> => {
  const sdk = await loadSdk<typeof Azure>(importing, "@azure/storage-blob", address)
  const service = await connectAzure(sdk, address, environment, importing)
  const blob = service.getContainerClient(address.bucket).getBlockBlobClient(address.key)
  try {
    await blob.getProperties()
  } catch (cause) {
    // A signature that permits nothing but writing is enough.
    if (!is(cause, "BlobNotFound", "AuthorizationPermissionMismatch")) throw cause
  }
  return new AzureSink(blob, contentType)
}

/** How many times blocks are removed: a block under way may arrive after the first removal. */
const discardAttempts = 3

class AzureSink implements PartSink {
  readonly partBytes = 8 * 1024 * 1024
  readonly parallel = 2
  readonly maximumParts = 50_000
  readonly #blob: Azure.BlockBlobClient
  readonly #contentType: string
  /** Unique to this upload: two uploads of the same blob must not mix their blocks. */
  readonly #prefix = randomUUID()
  readonly #blocks: string[] = []

  constructor(blob: Azure.BlockBlobClient, contentType: string) {
    this.#blob = blob
    this.#contentType = contentType
  }

  async put({ number, bytes }: Part, signal: AbortSignal): Promise<void> {
    // An empty blob has no blocks.
    if (bytes.length === 0) return
    const block = Buffer.from(`${this.#prefix}-${String(number).padStart(6, "0")}`).toString("base64")
    this.#blocks[number - 1] = block
    await this.#blob.stageBlock(block, bytes, bytes.length, { abortSignal: signal })
  }

  async commit(signal: AbortSignal): Promise<void> {
    const blobHTTPHeaders = { blobContentType: this.#contentType }
    await this.#blob.commitBlockList(this.#blocks, { blobHTTPHeaders, abortSignal: signal })
  }

  async discard(abortSignal: AbortSignal): Promise<void> {
    if (this.#blocks.length === 0) return
    for (let attempt = 1; attempt <= discardAttempts; attempt++) {
      const before = await this.#committed(abortSignal)
      const staged = await this.#staged(abortSignal)
      if (staged === undefined) return
      if (before === undefined) await this.#discardNew(abortSignal)
      else await this.#restore(before, staged, abortSignal)
    }
    if ((await this.#staged(abortSignal)) !== undefined)
      throw new Error(`invisible blocks stay there for at most a week: they arrived after ${discardAttempts} removals`)
  }

  close(): void {
    this.#blocks.length = 0
  }

  async #committed(abortSignal: AbortSignal): Promise<Azure.BlobGetPropertiesResponse | undefined> {
    try {
      return await this.#blob.getProperties({ abortSignal })
    } catch (cause) {
      if (is(cause, "BlobNotFound")) return undefined
      throw cause
    }
  }

  async #discardNew(abortSignal: AbortSignal): Promise<void> {
    try {
      const empty = await this.#blob.commitBlockList([], { conditions: { ifNoneMatch: "*" }, abortSignal })
      await this.#blob.delete({ conditions: { ifMatch: empty.etag ?? "" }, abortSignal })
    } catch (cause) {
      // Another writer committed in between, which discarded our blocks.
      if (!is(cause, "BlobAlreadyExists", "ConditionNotMet", "BlobNotFound")) throw cause
    }
  }

  /** `undefined` if no block of ours is staged. */
  async #staged(abortSignal: AbortSignal): Promise<Azure.BlockBlobGetBlockListResponse | undefined> {
    try {
      const blocks = await this.#blob.getBlockList("all", { abortSignal })
      return blocks.uncommittedBlocks?.some(({ name }) => this.#blocks.includes(name)) ? blocks : undefined
    } catch (cause) {
      if (is(cause, "BlobNotFound")) return undefined
      throw cause
    }
  }

  async #restore(
    before: Azure.BlobGetPropertiesResponse,
    { committedBlocks: committed = [] }: Azure.BlockBlobGetBlockListResponse,
    abortSignal: AbortSignal,
  ): Promise<void> {
    const bytes = committed.reduce((sum, { size }) => sum + size, 0)
    if (bytes !== before.contentLength || (before.tagCount ?? 0) > 0)
      throw new Error("invisible blocks stay beside the previous blob until it is written again, for at most a week")
    try {
      await this.#blob.commitBlockList(
        committed.map(({ name }) => name),
        {
          conditions: { ifMatch: before.etag ?? "" },
          blobHTTPHeaders: headersOf(before),
          ...(before.metadata === undefined ? {} : { metadata: before.metadata }),
          ...(before.accessTier === undefined || before.accessTierInferred ? {} : { tier: before.accessTier }),
          abortSignal,
        },
      )
    } catch (cause) {
      if (!is(cause, "ConditionNotMet")) throw cause
    }
  }
}

const headersOf = (before: Azure.BlobGetPropertiesResponse): Azure.BlobHTTPHeaders => ({
  ...(before.contentType === undefined ? {} : { blobContentType: before.contentType }),
  ...(before.contentEncoding === undefined ? {} : { blobContentEncoding: before.contentEncoding }),
  ...(before.contentLanguage === undefined ? {} : { blobContentLanguage: before.contentLanguage }),
  ...(before.contentDisposition === undefined ? {} : { blobContentDisposition: before.contentDisposition }),
  ...(before.cacheControl === undefined ? {} : { blobCacheControl: before.cacheControl }),
  ...(before.contentMD5 === undefined ? {} : { blobContentMD5: before.contentMD5 }),
})

/** Whether the store's error has one of these codes; a response without a body has it in a header. */
const is = (cause: unknown, ...codes: ReadonlyArray<string>): boolean => {
  if (!(cause instanceof Error)) return false
  const { code, details } = cause as { readonly code?: unknown; readonly details?: { readonly errorCode?: unknown } }
  return [code, details?.errorCode].some((value) => typeof value === "string" && codes.includes(value))
}
