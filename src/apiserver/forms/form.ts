/**
 * The form of objects in the response to one request. The usual form, objects as they are stored, needs none of this:
 * the same bytes are sent to every client. All others (tables, metadata only, another version of the kind) are made for
 * each client.
 *
 * A form belongs to one request: a watched table names its columns in its first event only.
 */

import type { Change } from "../watch/change.ts"

/** `metadata` of a list. */
export interface ListMetadata {
  readonly resourceVersion: bigint
  /** Absent on the last page. */
  readonly continueToken?: string
  readonly remainingItemCount?: number
}

export interface Form {
  /** The text around the items of a list. */
  frame(metadata: ListMetadata): { readonly before: string; readonly after: string }
  /** One item of a list, as JSON. */
  item(change: Change): string
  /** The response to a get, or the object inside a watch event, as JSON. */
  object(change: Change): string
  /** The object inside a bookmark, as JSON. */
  bookmark(version: bigint, initialEventsEnd: boolean): string
}

/** The members of a list's `metadata` in the order of Go's ListMeta. */
export const listMetadata = ({ resourceVersion, continueToken, remainingItemCount }: ListMetadata): string =>
  [
    `"resourceVersion":"${resourceVersion}"`,
    ...(continueToken === undefined ? [] : [`"continue":"${continueToken}"`]),
    ...(remainingItemCount === undefined ? [] : [`"remainingItemCount":${remainingItemCount}`]),
  ].join(",")
