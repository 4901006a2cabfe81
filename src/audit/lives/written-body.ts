/** What a write says about the object after it: the object, a part of it, or nothing, and why. */
import type { JsonObject } from "../../trace/json/exact-json.ts"
import { type AuditedWrite, isWholeObject } from "../shapes/audited-write.ts"
import { member, objectMember, textMember } from "../shapes/json-fields.ts"
import type { LossReason } from "./losses.ts"
import { factsOf } from "./object-facts.ts"

/** The object after a create, update or patch. */
type WrittenBody =
  /** As the server has it. */
  | { readonly tag: "object"; readonly object: JsonObject }
  /** As the client sent it: without what the server filled in. */
  | { readonly tag: "sent"; readonly object: JsonObject; readonly name: string }
  /** As it was, with this metadata. */
  | { readonly tag: "metadata"; readonly partial: JsonObject }
  /** As it was, with the status of this object. */
  | { readonly tag: "sent-status"; readonly sent: JsonObject }
  /** Nothing was stored: a question to the server, or a dry run whose address is not in the log. */
  | { readonly tag: "nothing" }
  | { readonly tag: "unknown"; readonly reason: LossReason }

const unknown = (reason: LossReason): WrittenBody => ({ tag: "unknown", reason })

/** Why a write without usable bodies has none. */
export const whyWithoutBody = ({ isTruncated, level, verb }: AuditedWrite): LossReason => {
  if (isTruncated) return "truncated"
  if (level === "Metadata") return "metadata-level"
  return level === "Request" && verb === "patch" ? "patch-at-request-level" : "no-object"
}

/** Of a write to an object or to a subresource that is written as the whole object. */
export const bodyOf = (write: AuditedWrite): WrittenBody =>
  write.response === undefined ? sentBody(write) : returnedBody(write, write.response)

const returnedBody = (write: AuditedWrite, response: JsonObject): WrittenBody => {
  const { apiVersion, kind, name, resourceVersion } = factsOf(response)
  if (kind === "PartialObjectMetadata")
    return changesOnlyMetadata(write.request) ? { tag: "metadata", partial: response } : unknown("no-object")
  // A Status, or a Table, which clients may ask for instead of the object.
  if (kind === "" || kind === "Status" || apiVersion.startsWith("meta.k8s.io/")) return unknown("no-object")
  // What is stored has a name and a version.
  if (name === "" || resourceVersion === "") return { tag: "nothing" }
  return { tag: "object", object: response }
}

const changesOnlyMetadata = (request: JsonObject | undefined): boolean =>
  request === undefined || Object.keys(request).every((name) => ["apiVersion", "kind", "metadata"].includes(name))

const sentBody = (write: AuditedWrite): WrittenBody => {
  const { verb, subresource, request } = write
  const isWhole = (verb === "create" || verb === "update") && isWholeObject(subresource)
  if (request === undefined || !isWhole || member(request, "kind") === undefined) return unknown(whyWithoutBody(write))
  if (subresource === "status") return { tag: "sent-status", sent: request }
  if (subresource !== "" || objectMember(request, "metadata") === undefined) return unknown("no-object")
  const name = textMember(objectMember(request, "metadata"), "name") || write.name
  return name === "" ? unknown("generated-name") : { tag: "sent", object: request, name }
}
