/** The options of a write besides the object, and how they are sent. */

import type { CallOptions } from "./api-connection.ts"

/** The format of a PATCH body. */
export type PatchType = "json" | "merge" | "strategic-merge"

export const patchContentTypes: Readonly<Record<PatchType, string>> = {
  json: "application/json-patch+json",
  merge: "application/merge-patch+json",
  "strategic-merge": "application/strategic-merge-patch+json",
}

export interface WriteOptions extends CallOptions {
  /** Runs admission and validation and returns the outcome, but stores nothing. Default false. */
  readonly dryRun?: boolean
  /** The owner of the written fields. Default: derived by the server from the user agent. */
  readonly fieldManager?: string
  /** How unknown and repeated fields are treated. Default: the server's, which is `Warn`. */
  readonly fieldValidation?: "Ignore" | "Warn" | "Strict"
  /**
   * The request may arrive twice, for example a review, which changes nothing: it is sent again if an idle connection turns out to be
   * closed. Default false; applies are always repeatable.
   */
  readonly isRepeatable?: boolean
  /** For example `status` or `scale`, where the method does not set it itself. */
  readonly subresource?: string
}

export interface ApplyOptions extends WriteOptions {
  /** Required: fields that this manager set before and now leaves out are removed. */
  readonly fieldManager: string
  /** Takes fields over from other managers instead of failing. Default false. */
  readonly force?: boolean
}

export interface DeleteOptions extends CallOptions {
  readonly gracePeriodSeconds?: number
  /** Default: the kind's own, which is Background for nearly all. */
  readonly propagationPolicy?: "Background" | "Foreground" | "Orphan"
  /** Deletes only if the object still has this UID. */
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
