/** An object in Google Cloud Storage, read in ranges with the connection of {@link connectGcs}. */

import { EventEmitter } from "node:events"
import { connectGcs } from "./gcs-target.ts"
import type { RangeSource } from "./open-source.ts"
import type { ImportPackage } from "./optional-package.ts"
import type { StoreAddress } from "./target-address.ts"
import { targetError } from "./target-error.ts"

/** The SDK puts more than ten listeners on one stream of each download, which Node would report as a leak. */
const listenersOfDownload = 20

/** Requests the object's metadata, which names its present version. */
export const openGcsSource = async (
  address: StoreAddress,
  environment: NodeJS.ProcessEnv,
  importing: ImportPackage,
): Promise<RangeSource> => {
  const { storage } = await connectGcs(address, environment, importing)
  EventEmitter.defaultMaxListeners = Math.max(EventEmitter.defaultMaxListeners, listenersOfDownload)
  const bucket = storage.bucket(address.bucket)
  const [metadata] = await bucket
    .file(address.key)
    .getMetadata()
    .catch((cause: unknown) => {
      throw isMissing(cause) ? targetError(address, "no-object", "there is no such object", "read") : cause
    })
  const file = bucket.file(address.key, { generation: metadata.generation ?? "" })
  return {
    size: Number(metadata.size ?? 0),
    read: async (offset, length) => {
      // The checksum that the store has is that of the whole object.
      const [bytes] = await file.download({ start: offset, end: offset + length - 1, validation: false })
      return bytes
    },
    close: () => undefined,
  }
}

/** The store has one status for a missing object and a missing bucket, and names the bucket in its message. */
const isMissing = (cause: unknown): boolean =>
  cause instanceof Error && "code" in cause && cause.code === 404 && !/bucket/i.test(cause.message)
