/** Whole objects: the text around them in a list, and the form of kinds that are a view of another one. */

import { apiVersionOf } from "../../kube/gvk.ts"
import type { Resource, StoredAs } from "../kinds/resources.ts"
import { type Change, parseObject, typeMembers } from "../watch/change.ts"
import { type Form, type ListMetadata, listMetadata } from "./form.ts"

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
  members.push(`"resourceVersion":"${resourceVersion}"`)
  return { before: `{${apiVersion},"items":[`, after: `],${kind},"metadata":{${members.join(",")}}}` }
}

/** The object of a bookmark. Built-in kinds carry the zero value of their Go struct, custom ones only their metadata. */
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
