/**
 * An Azure block blob: staged in blocks, committed at the end.
 *
 * Azure has no call that removes staged blocks: they disappear when the blob is next committed, or after a week. So an
 * aborted upload commits the blob as it was before. If there was none, that is an empty blob, deleted at once; if there
 * was one, it is that blob's own blocks. Both happen only if no other client has written the blob meanwhile. A blob
 * that was not made of blocks, or has tags, cannot be committed as it was and is left alone; the rejection says that
 * uncommitted blocks remain for a week.
 */
import { randomUUID } from "node:crypto"
import type * as Azure from "@azure/storage-blob"
import { type PartSink, unless } from "./provider.ts"

/** How many times blocks are removed: a block under way may arrive after the first removal. */
const discardAttempts = 3

/** Requests the blob, which proves that the container exists and may be read or written. */
export const startUpload = async (blob: Azure.BlockBlobClient, blobContentType: string): Promise<PartSink> => {
  // A signature that permits nothing but writing is enough.
  await blob.getProperties().catch(unless("BlobNotFound", "AuthorizationPermissionMismatch"))
  /** Unique to this upload: two uploads of the same blob must not mix their blocks. */
  const prefix = randomUUID()
  const blocks: string[] = []
  /** `undefined` if no block of ours is staged. */
  const staged = async (abortSignal: AbortSignal): Promise<Azure.BlockBlobGetBlockListResponse | undefined> => {
    const found = await blob.getBlockList("all", { abortSignal }).catch(unless("BlobNotFound"))
    return found?.uncommittedBlocks?.some(({ name }) => blocks.includes(name)) ? found : undefined
  }
  return {
    partBytes: 8 * 1024 * 1024,
    parallel: 2,
    maximumParts: 50_000,
    put: async ({ number, bytes }, abortSignal) => {
      // An empty blob has no blocks.
      if (bytes.length === 0) return
      const block = Buffer.from(`${prefix}-${String(number).padStart(6, "0")}`).toString("base64")
      blocks[number - 1] = block
      await blob.stageBlock(block, bytes, bytes.length, { abortSignal })
    },
    commit: async (abortSignal) => {
      await blob.commitBlockList(blocks, { blobHTTPHeaders: { blobContentType }, abortSignal })
    },
    discard: async (abortSignal) => {
      if (blocks.length === 0) return
      for (let attempt = 1; attempt <= discardAttempts; attempt++) {
        const before = await blob.getProperties({ abortSignal }).catch(unless("BlobNotFound"))
        const left = await staged(abortSignal)
        if (left === undefined) return
        if (before === undefined) await discardNew(blob, abortSignal)
        else await restore(blob, before, left.committedBlocks ?? [], abortSignal)
      }
      if ((await staged(abortSignal)) !== undefined)
        throw new Error(
          `invisible blocks stay there for at most a week: they arrived after ${discardAttempts} removals`,
        )
    },
  }
}

/** Another writer committed in between, which discarded our blocks. */
const overtaken = unless("BlobAlreadyExists", "ConditionNotMet", "BlobNotFound")

const discardNew = async (blob: Azure.BlockBlobClient, abortSignal: AbortSignal): Promise<void> => {
  const empty = await blob.commitBlockList([], { conditions: { ifNoneMatch: "*" }, abortSignal }).catch(overtaken)
  if (empty !== undefined)
    await blob.delete({ conditions: { ifMatch: empty.etag ?? "" }, abortSignal }).catch(overtaken)
}

const restore = async (
  blob: Azure.BlockBlobClient,
  before: Azure.BlobGetPropertiesResponse,
  committed: ReadonlyArray<Azure.Block>,
  abortSignal: AbortSignal,
): Promise<void> => {
  const bytes = committed.reduce((sum, { size }) => sum + size, 0)
  if (bytes !== before.contentLength || (before.tagCount ?? 0) > 0)
    throw new Error("invisible blocks stay beside the previous blob until it is written again, for at most a week")
  const { contentType, contentEncoding, contentLanguage, contentDisposition, cacheControl, contentMD5 } = before
  const names = committed.map(({ name }) => name)
  await blob
    .commitBlockList(names, {
      conditions: { ifMatch: before.etag ?? "" },
      blobHTTPHeaders: {
        ...(contentType === undefined ? {} : { blobContentType: contentType }),
        ...(contentEncoding === undefined ? {} : { blobContentEncoding: contentEncoding }),
        ...(contentLanguage === undefined ? {} : { blobContentLanguage: contentLanguage }),
        ...(contentDisposition === undefined ? {} : { blobContentDisposition: contentDisposition }),
        ...(cacheControl === undefined ? {} : { blobCacheControl: cacheControl }),
        ...(contentMD5 === undefined ? {} : { blobContentMD5: contentMD5 }),
      },
      ...(before.metadata === undefined ? {} : { metadata: before.metadata }),
      ...(before.accessTier === undefined || before.accessTierInferred ? {} : { tier: before.accessTier }),
      abortSignal,
    })
    .catch(overtaken)
}
