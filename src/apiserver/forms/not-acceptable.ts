/** 406: what the server says when it can make nothing that the client takes. */

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
 * The client takes none of the server's media types. The real server also writes protobuf; this one says what it has. Where
 * a watch might be asked for, what can be streamed follows.
 */
export const noMediaType = (isStreamable = false): Failure => {
  const types = isStreamable ? `${written}, ${streamed}` : written
  return refusal(`406: Not Acceptable\n\nAvailable representations: ${types}`, { details: {} })
}

/** The client takes a media type of ours, but only with a transformation that does not exist. */
export const noTransformation: Failure = refusal(`only the following media types are accepted: ${written}`)

/** The same of a watch, which YAML cannot be either. */
export const noStreamedTransformation: Failure = refusal(`only the following media types are accepted: ${streamed}`)

/**
 * A list was asked for as one object's metadata, or one object as a list of metadata. One custom object as a list gets
 * a mere 500 from the real server.
 */
export const wrongMetadataKind = (resource: Resource, isList: boolean): Failure => {
  if (resource.custom === true && !isList) return { type: "failure", code: 500, message: "content is not a list" }
  return refusal(
    isList
      ? "you requested PartialObjectMetadata, but the requested object is a list"
      : "you requested PartialObjectMetadataList, but the requested object is not a list",
  )
}
