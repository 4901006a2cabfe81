/**
 * Blobs of an Azure container. Credentials, in this order: a connection string (`AZURE_STORAGE_CONNECTION_STRING`, which also names endpoints such as an
 * emulator's), the account's key, a shared access signature, and what Azure's default chain finds (workload identity, managed identity, `az login`). Both
 * spellings of the variables are read, Azure's (`AZURE_STORAGE_ACCOUNT`, `_KEY`) and SimKube's (`AZURE_STORAGE_ACCOUNT_NAME`, `_ACCOUNT_KEY`). A secret is
 * used only for the account it is configured for, never for another account that a URL names.
 */
import { Readable } from "node:stream"
import type * as Azure from "@azure/storage-blob"
import type { StorePlace } from "../addresses/target-address.ts"
import { lengthOf } from "../requests/requests.ts"
import { targetError } from "../requests/target-error.ts"
import { startUpload } from "./azure-upload.ts"
import {
  created,
  listedPrefix,
  loadSdk,
  type ObjectFacts,
  received,
  type Surroundings,
  sizeBy,
  type UploadingProvider,
} from "./provider.ts"

/** Contacts nothing. Rejects with a TargetError. */
export const openAzure = async (place: StorePlace, surroundings: Surroundings): Promise<UploadingProvider> => {
  const container = (await connect(place, surroundings)).getContainerClient(place.bucket)
  const look = async (key: string, abortSignal: AbortSignal): Promise<ObjectFacts> => {
    const { contentLength = 0, etag = "" } = await container.getBlobClient(key).getProperties({ abortSignal })
    return { size: contentLength, version: etag }
  }
  return {
    // A batch needs permissions of its own.
    removedAtOnce: 1,
    create: (key, parts, abortSignal) => {
      const conditions = { ifNoneMatch: "*" }
      const body = () => Readable.from(parts)
      return created(container.getBlockBlobClient(key).upload(body, lengthOf(parts), { conditions, abortSignal }))
    },
    read: async (key, range, abortSignal, arrived) => {
      let [offset, count, conditions]: [number, number | undefined, Azure.BlobRequestConditions] = [0, undefined, {}]
      if (range !== undefined && "last" in range) {
        // Azure knows no suffix of a blob, so its size is asked for.
        const facts = await look(key, abortSignal)
        if (facts.size === 0) return { bytes: new Uint8Array(0), ...facts }
        offset = Math.max(0, facts.size - range.last)
        conditions = { ifMatch: facts.version }
      } else if (range !== undefined) {
        offset = range.from
        count = range.until === undefined ? undefined : Math.max(1, range.until - range.from)
      }
      const options = { conditions, abortSignal, maxRetryRequests: 0 }
      const answer = await container.getBlobClient(key).download(offset, count, options)
      const bytes = await received((answer.readableStreamBody ?? []) as AsyncIterable<Uint8Array>, arrived)
      return { bytes, size: sizeBy(answer.contentRange, bytes), version: answer.etag ?? "" }
    },
    look,
    list: async ({ prefix, after, token, delimiter }, abortSignal) => {
      // Blobs from this one on, itself included; services and emulators older than version 2026-02-06 begin with the first of the prefix.
      const from = after?.startsWith(prefix) ? { startFrom: after } : {}
      const next = token === undefined ? {} : { continuationToken: token }
      const options = { prefix, ...from, abortSignal }
      const pages =
        delimiter === undefined
          ? container.listBlobsFlat(options).byPage(next)
          : container.listBlobsByHierarchy(delimiter, options).byPage(next)
      const { value: page } = await pages.next()
      const { blobItems: blobs = [], blobPrefixes = [] }: ListedBlobs = page?.segment ?? {}
      const entries = blobs.map(({ name: key, properties: { contentLength: bytes = 0, lastModified } }) => ({
        ...{ key, bytes, modifiedMs: lastModified.getTime() },
      }))
      // The token is empty with the last page.
      return {
        entries: [...entries, ...blobPrefixes.map(({ name }) => listedPrefix(name))],
        next: page?.continuationToken || undefined,
      }
    },
    remove: async ([key = ""], abortSignal) => {
      await container.deleteBlob(key, { abortSignal, deleteSnapshots: "include" })
    },
    upload: (key, contentType) => startUpload(container.getBlockBlobClient(key), contentType),
  }
}

/** A page of a list, with prefixes if it has a delimiter. */
interface ListedBlobs {
  readonly blobItems?: ReadonlyArray<Azure.BlobItem>
  readonly blobPrefixes?: ReadonlyArray<Azure.BlobPrefix>
}

/** The part of @azure/identity that is used here. */
interface IdentitySdk {
  readonly DefaultAzureCredential: new () => Azure.BlobServiceClient["credential"]
}

/** Rejects with a TargetError: `credentials` if no account is named, `package-missing` if only @azure/identity could help. */
const connect = async (place: StorePlace, surroundings: Surroundings): Promise<Azure.BlobServiceClient> => {
  const { environment = process.env } = surroundings
  const sdk = await loadSdk<typeof Azure>(place, surroundings, "@azure/storage-blob")
  const options = { retryOptions: { maxTries: 1 } }
  const wanted = place.host?.split(".", 1)[0]
  const connectionString = environment.AZURE_STORAGE_CONNECTION_STRING
  if (connectionString) {
    const service = fromConnectionString(place, () =>
      sdk.BlobServiceClient.fromConnectionString(connectionString, options),
    )
    if (wanted === undefined || service.accountName === wanted) return service
  }
  const named = environment.AZURE_STORAGE_ACCOUNT_NAME || environment.AZURE_STORAGE_ACCOUNT
  const account = wanted ?? named
  if (!account) {
    const reason = "no storage account is set; set AZURE_STORAGE_CONNECTION_STRING or AZURE_STORAGE_ACCOUNT_NAME"
    throw targetError(place, "credentials", reason)
  }
  const url = `https://${account}.blob.core.windows.net`
  if (account === named) {
    const key = environment.AZURE_STORAGE_ACCOUNT_KEY || environment.AZURE_STORAGE_KEY
    if (key) return new sdk.BlobServiceClient(url, new sdk.StorageSharedKeyCredential(account, key), options)
    const signature = environment.AZURE_STORAGE_SAS_TOKEN
    if (signature) return new sdk.BlobServiceClient(`${url}?${signature.replace(/^\?/, "")}`, undefined, options)
  }
  const identity = await loadSdk<IdentitySdk>(place, surroundings, "@azure/identity")
  return new sdk.BlobServiceClient(url, new identity.DefaultAzureCredential(), options)
}

const fromConnectionString = <Service>(place: StorePlace, read: () => Service): Service => {
  try {
    return read()
  } catch {
    // The SDK's message quotes the string, which is a secret.
    throw targetError(place, "credentials", "AZURE_STORAGE_CONNECTION_STRING is not a connection string")
  }
}
