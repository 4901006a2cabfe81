/**
 * Object stores behind one small port: S3 and compatible, Google Cloud Storage, Azure, and the addresses of their objects.
 *
 * Guarantee: an object is complete or absent; memory is bounded by the parts under way; credentials are never part of a message.
 */

export { type AllowedPlace, type AllowListReading, isAllowed, readAllowList } from "./allow-list.ts"
export { openSource } from "./open-source.ts"
export { openTarget } from "./open-target.ts"
export type { ExportTarget, WrittenObject } from "./part-writer.ts"
export { addressUrl, readSourcePath, readStoreUrl, readTargetPath, type StoreAddress } from "./target-address.ts"
export { TargetError } from "./target-error.ts"
