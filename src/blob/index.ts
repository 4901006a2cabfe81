/**
 * Object stores behind small ports: S3 and compatible, Google Cloud Storage, Azure, directories, and the addresses of their objects. `openStore` is
 * for many objects that are created once, `openTarget` writes and `openSource` reads one object of any size as a stream.
 *
 * Guarantee: an object is complete or absent; memory is bounded by the parts under way; credentials are never part of a message.
 */

export { type AllowedPlace, type AllowListReading, isAllowed, readAllowList } from "./addresses/allow-list.ts"
export {
  addressUrl,
  readSourcePath,
  readStorePlace,
  readStoreUrl,
  readTargetPath,
  type StoreAddress,
} from "./addresses/target-address.ts"
export { openSource } from "./objects/open-source.ts"
export { openTarget } from "./objects/open-target.ts"
export type { ExportTarget, WrittenObject } from "./objects/part-writer.ts"
export type { ByteRange, ListedObject, ReadBytes } from "./providers/provider.ts"
export { inParallel } from "./requests/requests.ts"
export { TargetError } from "./requests/target-error.ts"
export { type BlobStore, openStore } from "./stores/open-store.ts"
export { openRangeCache } from "./stores/range-cache.ts"
