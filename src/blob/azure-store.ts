/** Blobs of an Azure container for {@link BlobStore}, with the connection of {@link connectAzure}. A blob of up to 5,000 MiB is written in one request. */
import { Readable } from "node:stream"
import { buffer } from "node:stream/consumers"
import type * as Azure from "@azure/storage-blob"
import { connectAzure } from "./azure-target.ts"
import {
  type ByteRange,
  type ListedObject,
  type ListOptions,
  merged,
  type ReadBytes,
  type StoreProvider,
} from "./blob-store.ts"
import { type Ask, entriesOf, inParallel, lengthOf } from "./requests.ts"
import type { StorePlace } from "./target-address.ts"
import { hasCode, type ImportPackage, statusOf } from "./target-error.ts"

/** Removals under way: a batch needs permissions of its own. */
const removedAtOnce = 16

export const openAzureStore = async (
  place: StorePlace,
  environment: NodeJS.ProcessEnv,
  importing: ImportPackage,
): Promise<StoreProvider> => {
  const service = await connectAzure(place, environment, importing, 1)
  return new AzureStore(service.getContainerClient(place.bucket))
}

class AzureStore implements StoreProvider {
  readonly #container: Azure.ContainerClient

  constructor(container: Azure.ContainerClient) {
    this.#container = container
  }

  async create(key: string, parts: ReadonlyArray<Uint8Array>, ask: Ask): Promise<"created" | "exists"> {
    return (await this.#put(key, parts, { ifNoneMatch: "*" }, ask)) === undefined ? "exists" : "created"
  }

  async replace(
    key: string,
    bytes: Uint8Array,
    version: string,
    ask: Ask,
  ): Promise<{ readonly version: string } | "changed"> {
    const condition = version === "absent" ? { ifNoneMatch: "*" } : { ifMatch: version }
    const written = await this.#put(key, [bytes], condition, ask)
    return written === undefined ? "changed" : { version: written }
  }

  async read(key: string, range: ByteRange | undefined, abortSignal: AbortSignal): Promise<ReadBytes | undefined> {
    const blob = this.#container.getBlobClient(key)
    const properties = async () => {
      const { contentLength: size = 0, etag: version = "" } = await blob.getProperties({ abortSignal })
      return { size, version }
    }
    try {
      let [offset, count, conditions]: [number, number | undefined, Azure.BlobRequestConditions] = [0, undefined, {}]
      if (range !== undefined && "last" in range) {
        // Azure knows no suffix of a blob, so its size is asked for.
        const { size, version } = await properties()
        if (size === 0) return { bytes: new Uint8Array(0), size, version }
        offset = Math.max(0, size - range.last)
        conditions = { ifMatch: version }
      } else if (range !== undefined) {
        offset = range.from
        count = range.until === undefined ? undefined : Math.max(1, range.until - range.from)
      }
      const answer = await blob.download(offset, count, { conditions, abortSignal, maxRetryRequests: 0 })
      const bytes = answer.readableStreamBody === undefined ? Buffer.alloc(0) : await buffer(answer.readableStreamBody)
      const size = Number(/\/(\d+)$/.exec(answer.contentRange ?? "")?.[1] ?? answer.contentLength ?? bytes.length)
      return { bytes, size, version: answer.etag ?? "" }
    } catch (cause) {
      if (hasCode(cause, "BlobNotFound")) return undefined
      // The range begins past the end.
      if (statusOf(cause) === 416) return { bytes: new Uint8Array(0), ...(await properties()) }
      throw cause
    }
  }

  list(prefix: string, { delimiter }: ListOptions, ask: Ask): AsyncIterable<ListedObject> {
    return entriesOf(async (continuationToken) =>
      ask("list", 0, async (abortSignal) => {
        const options = { prefix, abortSignal }
        const settings = continuationToken === undefined ? {} : { continuationToken }
        const pages =
          delimiter === undefined
            ? this.#container.listBlobsFlat(options).byPage(settings)
            : this.#container.listBlobsByHierarchy(delimiter, options).byPage(settings)
        const page = (await pages.next()).value
        const blobs: ReadonlyArray<Azure.BlobItem> = page?.segment.blobItems ?? []
        const objects = blobs.map(({ name: key, properties: { contentLength: bytes = 0, lastModified } }) => ({
          key,
          bytes,
          modifiedMs: lastModified.getTime(),
        }))
        const { blobPrefixes: prefixes = [] }: { readonly blobPrefixes?: ReadonlyArray<Azure.BlobPrefix> } =
          page?.segment ?? {}
        // Empty with the last page.
        const token: string | undefined = page?.continuationToken || undefined
        return {
          entries: merged(
            objects,
            prefixes.map(({ name }) => name),
          ),
          token,
        }
      }),
    )
  }

  remove(keys: ReadonlyArray<string>, ask: Ask): Promise<void> {
    return inParallel(keys, removedAtOnce, (key) =>
      ask("remove", 0, async (abortSignal) => {
        try {
          await this.#container.deleteBlob(key, { abortSignal, deleteSnapshots: "include" })
        } catch (cause) {
          if (!hasCode(cause, "BlobNotFound")) throw cause
        }
      }),
    )
  }

  /** The SDK shares its connections, and keeps none open beyond their requests. */
  close(): void {
    return
  }

  /** The blob's new version; `undefined` if the condition was not met. */
  async #put(
    key: string,
    parts: ReadonlyArray<Uint8Array>,
    conditions: Azure.BlobRequestConditions,
    ask: Ask,
  ): Promise<string | undefined> {
    const size = lengthOf(parts)
    const blob = this.#container.getBlockBlobClient(key)
    try {
      const answer = await ask("write", size, (abortSignal) =>
        blob.upload(() => Readable.from(parts), size, { conditions, abortSignal }),
      )
      return answer.etag ?? ""
    } catch (cause) {
      if (hasCode(cause, "BlobAlreadyExists", "ConditionNotMet", "BlobNotFound")) return undefined
      throw cause
    }
  }
}
