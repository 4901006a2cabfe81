/** What may be said of a write besides the object, and how it is sent. */

import type { CallOptions } from "./api-connection.ts"

/** How a PATCH body is to be read. */
export type PatchType = "json" | "merge" | "strategic-merge"

export const patchContentTypes: Readonly<Record<PatchType, string>> = {
  json: "application/json-patch+json",
  merge: "application/merge-patch+json",
  "strategic-merge": "application/strategic-merge-patch+json",
}

export interface WriteOptions extends CallOptions {
  /** Go through admission and validation and return the outcome, but store nothing. Default false. */
  readonly dryRun?: boolean
  /** Who owns the fields written. Default: what the server makes of the user agent. */
  readonly fieldManager?: string
  /** What becomes of unknown and repeated fields. Default: the server's, which is `Warn`. */
  readonly fieldValidation?: "Ignore" | "Warn" | "Strict"
  /**
   * The request may arrive twice, as a review may, which changes nothing: it is sent again when a resting connection turns out to
   * be closed. Default false; applies always may.
   */
  readonly isRepeatable?: boolean
  /** Such as `status` or `scale`, where the method does not name one itself. */
  readonly subresource?: string
}

export interface ApplyOptions extends WriteOptions {
  /** Required: what an apply leaves out is removed if this manager set it before. */
  readonly fieldManager: string
  /** Take fields over from other managers instead of failing. Default false. */
  readonly force?: boolean
}

export interface DeleteOptions extends CallOptions {
  readonly gracePeriodSeconds?: number
  /** Default: the kind's own, which is Background for nearly all. */
  readonly propagationPolicy?: "Background" | "Foreground" | "Orphan"
  /** Delete only if the object still is this one. */
  readonly uid?: string
  readonly resourceVersion?: string
  readonly dryRun?: boolean
}

/** The query with its question mark, or the empty string. */
export const writeQuery = (
  { dryRun = false, fieldManager, fieldValidation }: WriteOptions,
  force: boolean | undefined = undefined,
): string => {
  const query = new URLSearchParams()
  if (dryRun) query.set("dryRun", "All")
  if (fieldManager !== undefined) query.set("fieldManager", fieldManager)
  if (fieldValidation !== undefined) query.set("fieldValidation", fieldValidation)
  if (force === true) query.set("force", "true")
  return query.size === 0 ? "" : `?${query}`
}

export const deletionBody = ({ uid, resourceVersion, dryRun = false, signal: _, ...rest }: DeleteOptions): object => ({
  kind: "DeleteOptions",
  apiVersion: "v1",
  ...rest,
  ...(dryRun && { dryRun: ["All"] }),
  ...((uid !== undefined || resourceVersion !== undefined) && { preconditions: { uid, resourceVersion } }),
})
