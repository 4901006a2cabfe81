/**
 * The `Accept` header, read as the API server reads it: clauses by descending quality, more specific ones first, equal
 * ones in the client's order. Unknown parameters are ignored.
 */
import type { Failure } from "../answers/failure.ts"
import type { Resource } from "../kinds/resources.ts"

/** One clause: `application/json;as=Table;v=v1;g=meta.k8s.io`. Names and types in lower case. */
export interface AcceptClause {
  readonly type: string
  readonly subtype: string
  readonly parameters: ReadonlyMap<string, string>
}

/** Best first. An empty header gives no clause: the server chooses. */
export const parseAccept = (header: string): ReadonlyArray<AcceptClause> =>
  header
    .split(",")
    .filter((clause) => clause.trim() !== "")
    .map(parseClause)
    .sort((left, right) => right.quality - left.quality || specificity(right) - specificity(left))

/**
 * Whether the clause accepts `application/<subtype>`. `application/*` accepts nothing: the real server responds with
 * 406.
 */
export const takes = (clause: AcceptClause, subtype: string): boolean =>
  clause.type === "*" ? clause.subtype === "*" : clause.type === "application" && clause.subtype === subtype

const parseClause = (text: string): AcceptClause & { readonly quality: number } => {
  const [media = "", ...rest] = text.split(";").map((part) => part.trim())
  const [type = "", subtype = "*"] = media.toLowerCase().split("/")
  const parameters = new Map<string, string>()
  for (const parameter of rest) {
    const equals = parameter.indexOf("=")
    if (equals > 0) parameters.set(parameter.slice(0, equals).trim().toLowerCase(), parameter.slice(equals + 1).trim())
  }
  const quality = Number(parameters.get("q") ?? "1")
  return { type, subtype, parameters, quality: Number.isFinite(quality) ? quality : 1 }
}

const specificity = ({ type, subtype }: AcceptClause): number => (type === "*" ? 0 : subtype === "*" ? 1 : 2)

// 406: the server has no form that the client accepts.

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
 * The client accepts none of the server's media types. The real server also writes protobuf; this one lists its own
 * types. Where a watch is possible, the types that can be streamed follow.
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
