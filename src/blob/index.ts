/**
 * Object stores behind small ports: S3 and compatible, Google Cloud Storage, Azure, directories, and the addresses of their objects. `openStore` is
 * for many objects that are created once, `openTarget` writes and `openSource` reads one object of any size as a stream.
 *
 * Guarantee: an object is complete or absent; memory is bounded by the parts under way; credentials are never part of a message.
 */

export { type AllowedPlace, type AllowListReading, isAllowed, readAllowList } from "./allow-list.ts"
export type { BlobStore, ByteRange, ListedObject, ReadBytes } from "./blob-store.ts"
export { openSource } from "./open-source.ts"
export { openStore } from "./open-store.ts"
export { openTarget } from "./open-target.ts"
export type { ExportTarget, WrittenObject } from "./part-writer.ts"
export { openRangeCache } from "./range-cache.ts"
export {
  addressUrl,
  readSourcePath,
  readStorePlace,
  readStoreUrl,
  readTargetPath,
  type StoreAddress,
} from "./target-address.ts"
export { TargetError } from "./target-error.ts"
