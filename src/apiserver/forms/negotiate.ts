/**
 * The form of a response, chosen by the `Accept` header. The first clause that this server can satisfy counts; clauses
 * with an unknown transformation, or with a media type that it does not write (protobuf, CBOR), are skipped.
 */

import { badRequest, type Failure } from "../answers/failure.ts"
import { type Change, parseObject } from "../kinds/change.ts"
import type { JsonObject, Resource } from "../kinds/resources.ts"
import { printerOf, withoutStatusCells } from "../table/printers.ts"
import {
  type AcceptClause,
  noMediaType,
  noStreamedTransformation,
  noTransformation,
  parseAccept,
  takes,
  wrongMetadataKind,
} from "./accept.ts"
import {
  bookmarkMetadata,
  bookmarkObject,
  type Form,
  listMetadata,
  type MetaVersion,
  metadataForm,
  partialMetadata,
  viewForm,
} from "./form.ts"

// Objects as a table of meta.k8s.io: one row each, made by the printer of the kind. In a watch every event is a table
// of one row, and only the first one names the columns.

/** The part of its object that a row carries besides the cells. */
type IncludeObject = "None" | "Metadata" | "Object"

interface TableOptions {
  readonly version: MetaVersion
  readonly include: IncludeObject
  /** ms since the Unix epoch, read for each row: ages in a watch keep growing. */
  readonly now: () => number
}

export const tableForm = (resource: Resource, { version, include, now }: TableOptions): Form => {
  const printer = printerOf(resource)
  const head = `{"kind":"Table","apiVersion":"meta.k8s.io/${version}","metadata":`
  let columns = JSON.stringify(printer.columns)
  const takeColumns = (): string => {
    const taken = columns
    columns = "null"
    return taken
  }
  const row = (object: JsonObject, shown: string, isStatusUnknown = false): string => {
    const conditions = isStatusUnknown ? [] : (printer.conditions?.(object) ?? [])
    const known = printer.cells(object, now())
    const members = [`"cells":${JSON.stringify(isStatusUnknown ? withoutStatusCells(printer, known) : known)}`]
    if (conditions.length > 0) members.push(`"conditions":${JSON.stringify(conditions)}`)
    return `{${members.join(",")},"object":${shown}}`
  }
  const rowOf = (change: Change): string => {
    const object = parseObject(change)
    const { isStatusUnknown } = change
    if (include === "None") return row(object, "null", isStatusUnknown)
    if (include === "Metadata") return row(object, partialMetadata(object.metadata, version), isStatusUnknown)
    return row(object, JSON.stringify(resource.storedAs?.fromStored(object) ?? object), isStatusUnknown)
  }
  const table = (revision: bigint, rows: string): string =>
    `${head}{"resourceVersion":"${revision}"},"columnDefinitions":${takeColumns()},"rows":[${rows}]}`
  return {
    frame: (metadata) => ({
      before: `${head}{${listMetadata(metadata)}},"columnDefinitions":${takeColumns()},"rows":[`,
      after: "]}",
    }),
    item: rowOf,
    object: (change) => table(change.revision, rowOf(change)),
    bookmark: (revision, initialEventsEnd) => {
      const metadata = bookmarkMetadata(revision, initialEventsEnd)
      if (include === "Object")
        return table(revision, row({ metadata }, bookmarkObject(resource, revision, initialEventsEnd)))
      // Clients that want no objects still need the marker that ends the initial events.
      const isShown = include === "Metadata" || initialEventsEnd
      return table(revision, row({ metadata }, isShown ? partialMetadata(metadata, version) : "null"))
    },
  }
}

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
