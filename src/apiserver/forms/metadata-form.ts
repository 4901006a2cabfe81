/** Objects reduced to their metadata: `PartialObjectMetadata` and its list, of meta.k8s.io/v1 or v1beta1. */

import { type Change, parseObject } from "../watch/change.ts"
import { type Form, listMetadata } from "./form.ts"

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
