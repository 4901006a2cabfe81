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
import type { Part, PartSink } from "./part-writer.ts"
import type { StoreAddress, StorePlace } from "./target-address.ts"
import { hasCode, type ImportPackage, loadSdk, targetError } from "./target-error.ts"

/** Requests the blob, which proves that the container exists and may be read or written. */
export const openAzure = async (
  address: StoreAddress,
  contentType: string,
  environment: NodeJS.ProcessEnv,
  importing: ImportPackage,
): Promise<PartSink> => {
  const service = await connectAzure(address, environment, importing)
  const blob = service.getContainerClient(address.bucket).getBlockBlobClient(address.key)
  try {
    await blob.getProperties()
  } catch (cause) {
    // A signature that permits nothing but writing is enough.
    if (!hasCode(cause, "BlobNotFound", "AuthorizationPermissionMismatch")) throw cause
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
      if (hasCode(cause, "BlobNotFound")) return undefined
      throw cause
    }
  }

  async #discardNew(abortSignal: AbortSignal): Promise<void> {
    try {
      const empty = await this.#blob.commitBlockList([], { conditions: { ifNoneMatch: "*" }, abortSignal })
      await this.#blob.delete({ conditions: { ifMatch: empty.etag ?? "" }, abortSignal })
    } catch (cause) {
      // Another writer committed in between, which discarded our blocks.
      if (!hasCode(cause, "BlobAlreadyExists", "ConditionNotMet", "BlobNotFound")) throw cause
    }
  }

  /** `undefined` if no block of ours is staged. */
  async #staged(abortSignal: AbortSignal): Promise<Azure.BlockBlobGetBlockListResponse | undefined> {
    try {
      const blocks = await this.#blob.getBlockList("all", { abortSignal })
      return blocks.uncommittedBlocks?.some(({ name }) => this.#blocks.includes(name)) ? blocks : undefined
    } catch (cause) {
      if (hasCode(cause, "BlobNotFound")) return undefined
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
      if (!hasCode(cause, "ConditionNotMet")) throw cause
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

// The storage account of an Azure address, and the credentials for it. In this order: a connection string
// (`AZURE_STORAGE_CONNECTION_STRING`, which also names endpoints such as an emulator's), the account's key, a shared access signature, and
// what Azure's default chain finds (workload identity, managed identity, `az login`). Both spellings of the variables are read, Azure's
// (`AZURE_STORAGE_ACCOUNT`, `_KEY`) and SimKube's (`AZURE_STORAGE_ACCOUNT_NAME`, `_ACCOUNT_KEY`).
//
// A secret is used only for the account it is configured for, never for another account that a URL names.

/** The part of @azure/identity that is used here. */
interface IdentitySdk {
  readonly DefaultAzureCredential: new () => Azure.BlobServiceClient["credential"]
}

/** `attempts`: how often a request is sent. @throws TargetError `credentials` if no account is named, `package-missing` if only @azure/identity could help */
export const connectAzure = async (
  address: StorePlace,
  environment: NodeJS.ProcessEnv,
  importing: ImportPackage,
  attempts = 4,
): Promise<Azure.BlobServiceClient> => {
  const sdk = await loadSdk<typeof Azure>(importing, "@azure/storage-blob", address)
  const pipeline = { retryOptions: { maxTries: attempts, retryDelayInMs: 250, maxRetryDelayInMs: 4000 } }
  const wanted = address.host?.split(".", 1)[0]
  const connectionString = environment.AZURE_STORAGE_CONNECTION_STRING
  if (connectionString) {
    const service = fromConnectionString(address, () =>
      sdk.BlobServiceClient.fromConnectionString(connectionString, pipeline),
    )
    if (wanted === undefined || service.accountName === wanted) return service
  }
  const named = environment.AZURE_STORAGE_ACCOUNT_NAME || environment.AZURE_STORAGE_ACCOUNT
  const account = wanted ?? named
  if (!account) {
    const reason = "no storage account is set; set AZURE_STORAGE_CONNECTION_STRING or AZURE_STORAGE_ACCOUNT_NAME"
    throw targetError(address, "credentials", reason)
  }
  const url = `https://${account}.blob.core.windows.net`
  if (account === named) {
    const key = environment.AZURE_STORAGE_ACCOUNT_KEY || environment.AZURE_STORAGE_KEY
    if (key) return new sdk.BlobServiceClient(url, new sdk.StorageSharedKeyCredential(account, key), pipeline)
    const signature = environment.AZURE_STORAGE_SAS_TOKEN
    if (signature) return new sdk.BlobServiceClient(`${url}?${signature.replace(/^\?/, "")}`, undefined, pipeline)
  }
  const identity = await loadSdk<IdentitySdk>(importing, "@azure/identity", address)
  return new sdk.BlobServiceClient(url, new identity.DefaultAzureCredential(), pipeline)
}

const fromConnectionString = <Service>(address: StorePlace, read: () => Service): Service => {
  try {
    return read()
  } catch {
    // The SDK's message quotes the string, which is a secret.
    throw targetError(address, "credentials", "AZURE_STORAGE_CONNECTION_STRING is not a connection string")
  }
}
