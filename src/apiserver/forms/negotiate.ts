/**
 * The form of a response, chosen by the `Accept` header. The first clause that this server can satisfy counts; clauses
 * with an unknown transformation, or with a media type that it does not write (protobuf, CBOR), are skipped.
 */

import { badRequest, type Failure } from "../answers/failure.ts"
import type { Resource } from "../kinds/resources.ts"
import { type IncludeObject, tableForm } from "../table/table-form.ts"
import { type AcceptClause, parseAccept, takes } from "./accept.ts"
import type { Form } from "./form.ts"
import { type MetaVersion, metadataForm } from "./metadata-form.ts"
import { noMediaType, noStreamedTransformation, noTransformation, wrongMetadataKind } from "./not-acceptable.ts"
import { viewForm } from "./object-form.ts"

interface FormRequest {
  readonly resource: Resource
  /** The header as sent; if it is absent or empty, the server chooses. */
  readonly accept: string | undefined
  readonly query: URLSearchParams
  /** What the request asks for: one object, a list or a stream of objects. */
  readonly answer: "object" | "list" | "watch"
  /** ms since the Unix epoch. */
  readonly now: () => number
}

/** `undefined` for objects as they are stored, whose bytes are the same for every client. */
export const negotiateForm = (request: FormRequest): Form | Failure | undefined => {
  const { resource, accept = "", answer } = request
  const { storedAs } = resource
  const plain = storedAs === undefined ? undefined : viewForm(resource, storedAs)
  const clauses = parseAccept(accept)
  if (clauses.length === 0) return plain
  let isJson = false
  for (const clause of clauses) {
    if (!takes(clause, "json") && (answer === "watch" || !takes(clause, "yaml"))) continue
    isJson = true
    const target = targetOf(clause)
    if (target === undefined) return plain
    if (target === "unknown" || !streams(clause)) continue
    if (target.kind === "Table") return table(request, target.version)
    const isList = answer === "list"
    if ((target.kind === "PartialObjectMetadataList") !== isList) return wrongMetadataKind(resource, isList)
    return metadataForm(target.version)
  }
  return isJson || clauses.some(({ type }) => type === "application")
    ? refused(clauses, isJson, answer)
    : noMediaType(answer !== "object")
}

/** The types that the real server writes: a client that accepts only these gets the 406 of a server that lacks them. */
const realTypes = ["json", "yaml", "vnd.kubernetes.protobuf"]

const refused = (clauses: ReadonlyArray<AcceptClause>, isJson: boolean, answer: FormRequest["answer"]): Failure =>
  isJson || clauses.some((clause) => realTypes.some((subtype) => takes(clause, subtype)))
    ? answer === "watch"
      ? noStreamedTransformation
      : noTransformation
    : noMediaType(answer !== "object")

interface Target {
  readonly kind: "Table" | "PartialObjectMetadata" | "PartialObjectMetadataList"
  readonly version: MetaVersion
}

/** `undefined` when no transformation is asked for. */
const targetOf = ({ parameters }: AcceptClause): Target | "unknown" | undefined => {
  const [kind, group, version] = [parameters.get("as"), parameters.get("g"), parameters.get("v")]
  if (kind === undefined && group === undefined && version === undefined) return undefined
  if (group !== "meta.k8s.io" || (version !== "v1" && version !== "v1beta1")) return "unknown"
  if (kind !== "Table" && kind !== "PartialObjectMetadata" && kind !== "PartialObjectMetadataList") return "unknown"
  return { kind, version }
}

const streams = ({ parameters }: AcceptClause): boolean => {
  const stream = parameters.get("stream") ?? ""
  return stream === "" || stream === "watch"
}

const isIncludeObject = (value: string): value is IncludeObject =>
  value === "None" || value === "Metadata" || value === "Object"

const table = ({ resource, query, now }: FormRequest, version: MetaVersion): Form | Failure => {
  const include = query.get("includeObject") || "Metadata"
  if (isIncludeObject(include)) return tableForm(resource, { version, include, now })
  return badRequest(
    `Unable to convert to Table as requested: includeObject: Invalid value: ${JSON.stringify(include)}: ` +
      "must be 'Metadata', 'Object', 'None', or empty",
  )
}
