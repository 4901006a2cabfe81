/** 406: the server has no form that the client accepts. */

import type { Failure } from "../answers/failure.ts"
import type { Resource } from "../kinds/resources.ts"

const written = "application/json, application/yaml"
const streamed = "application/json;stream=watch"

const refusal = (message: string, rest: Pick<Failure, "details"> = {}): Failure => ({
  type: "failure",
  code: 406,
  message,
  reason: "NotAcceptable",
  ...rest,
})

/**
 * The client accepts none of the server's media types. The real server also writes protobuf; this one lists its own types.
 * Where a watch is possible, the types that can be streamed follow.
 */
export const noMediaType = (isStreamable = false): Failure => {
  const types = isStreamable ? `${written}, ${streamed}` : written
  return refusal(`406: Not Acceptable\n\nAvailable representations: ${types}`, { details: {} })
}

/** The client accepts one of our media types, but only with a transformation that does not exist. */
export const noTransformation: Failure = refusal(`only the following media types are accepted: ${written}`)

/** The same for a watch, which cannot be YAML either. */
export const noStreamedTransformation: Failure = refusal(`only the following media types are accepted: ${streamed}`)

/**
 * A list was requested as one object's metadata, or one object as a list of metadata. For one custom object as a list,
 * the real server sends only a 500.
 */
export const wrongMetadataKind = (resource: Resource, isList: boolean): Failure => {
  if (resource.custom === true && !isList) return { type: "failure", code: 500, message: "content is not a list" }
  return refusal(
    isList
      ? "you requested PartialObjectMetadata, but the requested object is a list"
      : "you requested PartialObjectMetadataList, but the requested object is not a list",
  )
}
