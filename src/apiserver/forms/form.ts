/**
 * The form of objects in the response to one request. The usual form, objects as they are stored, needs none of this:
 * the same bytes are sent to every client. All others (tables, metadata only, another version of the kind) are made for
 * each client.
 *
 * A form belongs to one request: a watched table names its columns in its first event only.
 */

import { apiVersionOf } from "../../kube/offline.ts"
import { type Change, parseObject, typeMembers } from "../kinds/change.ts"
import type { Resource, StoredAs } from "../kinds/resources.ts"

/** `metadata` of a list. */
export interface ListMetadata {
  readonly resourceVersion: bigint
  /** Absent on the last page. */
  readonly continueToken?: string
  readonly remainingItemCount?: number
  /** By which the list was filtered; absent: it has all shards. */
  readonly shardSelector?: string
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
export const listMetadata = ({
  resourceVersion,
  continueToken,
  remainingItemCount,
  shardSelector,
}: ListMetadata): string =>
  [
    `"resourceVersion":"${resourceVersion}"`,
    ...(continueToken === undefined ? [] : [`"continue":"${continueToken}"`]),
    ...(remainingItemCount === undefined ? [] : [`"remainingItemCount":${remainingItemCount}`]),
    ...shardInfo(shardSelector),
  ].join(",")

const shardInfo = (selector: string | undefined): ReadonlyArray<string> =>
  selector === undefined ? [] : [`"shardInfo":{"selector":${JSON.stringify(selector)}}`]

// Whole objects: the text around them in a list, and the form of kinds that are a view of another one.

/** For custom kinds the metadata, resourceVersion included, comes after the items. */
export const objectFrame = (
  resource: Resource,
  metadata: ListMetadata,
): { readonly before: string; readonly after: string } => {
  const kind = `"kind":"${resource.gvk.kind}List"`
  const apiVersion = `"apiVersion":"${apiVersionOf(resource.gvk)}"`
  if (resource.custom !== true) {
    return { before: `{${kind},${apiVersion},"metadata":{${listMetadata(metadata)}},"items":[`, after: "]}" }
  }
  const { resourceVersion, continueToken = "", remainingItemCount: count } = metadata
  // The empty token of the last page is written for custom kinds only.
  const members = [`"continue":"${continueToken}"`, ...(count === undefined ? [] : [`"remainingItemCount":${count}`])]
  members.push(`"resourceVersion":"${resourceVersion}"`, ...shardInfo(metadata.shardSelector))
  return { before: `{${apiVersion},"items":[`, after: `],${kind},"metadata":{${members.join(",")}}}` }
}

/**
 * The object of a bookmark. Built-in kinds carry the zero value of their Go struct, custom ones only their metadata.
 */
export const bookmarkObject = (resource: Resource, version: bigint, initialEventsEnd: boolean): string => {
  const annotations = initialEventsEnd ? '"annotations":{"k8s.io/initial-events-end":"true"}' : ""
  const resourceVersion = `"resourceVersion":"${version}"`
  const members = resource.custom === true ? [annotations, resourceVersion] : [resourceVersion, annotations]
  const metadata = `"metadata":{${members.filter((member) => member !== "").join(",")}}`
  const zeroValue = resource.zeroValue === undefined ? "" : `,${resource.zeroValue}`
  return `{${typeMembers(resource)},${metadata}${zeroValue}}`
}

/** Objects stored as another kind, converted one by one. */
export const viewForm = (resource: Resource, storedAs: StoredAs): Form => {
  const convert = (change: Change): Readonly<Record<string, unknown>> => storedAs.fromStored(parseObject(change))
  return {
    frame: (metadata) => objectFrame(resource, metadata),
    item: (change) => {
      if (resource.custom === true) return JSON.stringify(convert(change))
      const { kind: _kind, apiVersion: _apiVersion, ...rest } = convert(change)
      return JSON.stringify(rest)
    },
    object: (change) => JSON.stringify(convert(change)),
    bookmark: (version, initialEventsEnd) => bookmarkObject(resource, version, initialEventsEnd),
  }
}

// Objects reduced to their metadata: `PartialObjectMetadata` and its list, of meta.k8s.io/v1 or v1beta1.

/** The members of ObjectMeta in the order in which Go encodes them. */
export const metadataOrder: ReadonlyArray<string> = [
  "name",
  "generateName",
  "namespace",
  "selfLink",
  "uid",
  "resourceVersion",
  "generation",
  "creationTimestamp",
  "deletionTimestamp",
  "deletionGracePeriodSeconds",
  "labels",
  "annotations",
  "ownerReferences",
  "finalizers",
  "managedFields",
]

export type MetaVersion = "v1" | "v1beta1"

/** The JSON of a PartialObjectMetadata. Custom objects are stored with sorted keys; here they get Go's order too. */
export const partialMetadata = (metadata: Readonly<Record<string, unknown>>, version: MetaVersion): string => {
  const ordered: Record<string, unknown> = {}
  for (const key of metadataOrder)
    if (metadata[key] !== undefined && Object.hasOwn(metadata, key)) ordered[key] = metadata[key]
  return `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/${version}","metadata":${JSON.stringify(ordered)}}`
}

/** `metadata` of the object in a bookmark. */
export const bookmarkMetadata = (version: bigint, initialEventsEnd: boolean): Record<string, unknown> => ({
  resourceVersion: String(version),
  ...(initialEventsEnd ? { annotations: { "k8s.io/initial-events-end": "true" } } : {}),
})

export const metadataForm = (version: MetaVersion): Form => {
  const object = (change: Change): string => partialMetadata(parseObject(change).metadata, version)
  return {
    frame: (metadata) => ({
      before:
        `{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/${version}",` +
        `"metadata":{${listMetadata(metadata)}},"items":[`,
      after: "]}",
    }),
    item: object,
    object,
    bookmark: (revision, initialEventsEnd) => partialMetadata(bookmarkMetadata(revision, initialEventsEnd), version),
  }
}
