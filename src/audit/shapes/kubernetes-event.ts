/**
 * Events of `audit.k8s.io`, as an API server logs them. A request has an event for each of its stages; only the last one,
 * `ResponseComplete`, knows whether it succeeded.
 */
import { exactJsonIn, type JsonObject, type JsonValue, withProperty } from "../../trace/json/exact-json.ts"
import { microsOf } from "../../trace/rfc3339.ts"
import {
  type AuditEntry,
  type AuditLevel,
  changesObjects,
  isResource,
  unknownEntry,
  type WriteVerb,
  writeVerbs,
} from "./audited-write.ts"
import { arrayMember, member, objectMember, textMember } from "./json-fields.ts"

const levels: ReadonlyArray<AuditLevel> = ["Metadata", "Request", "RequestResponse"]

/** Set by an API server with `--audit-log-truncate-enabled` that has left out the bodies of an event. */
const truncatedAnnotation = "audit.k8s.io/truncated"

/** The verb if it is one that writes. */
export const writeVerbOf = (verb: string): WriteVerb | undefined => writeVerbs.find((each) => each === verb)

/** Members of an event that are read, by their names in small letters without signs; and the names that Azure gives two of them. */
const eventMembers: ReadonlyMap<string, string> = new Map([
  ...[
    ...[
      "level",
      "auditID",
      "stage",
      "requestURI",
      "verb",
      "objectRef",
      "responseStatus",
      "requestObject",
      "responseObject",
    ],
    ...["requestReceivedTimestamp", "stageTimestamp", "annotations"],
  ].map((name): [string, string] => [name.toLowerCase(), name]),
  ["requestreceivedtime", "requestReceivedTimestamp"],
  ["stagereceivedtime", "stageTimestamp"],
])

/** Longer names are not compared: with the ending that Azure gives columns. */
const longestName = 40

/**
 * The object as an event with Kubernetes' own names; `undefined` if it is none. Databases write names differently (`AuditId`, `audit_id`, `AuditID_s`), leave
 * out `kind` and `apiVersion`, as lists of the API do too, and keep objects as texts.
 */
export const auditEventIn = (object: JsonObject): JsonObject | undefined => {
  if (member(object, "kind") === "Event" && textMember(object, "apiVersion").startsWith("audit.k8s.io/")) return object
  if (isEvent(object)) return object
  const names = Object.keys(object)
  if (!names.some((name) => name.length < longestName && memberOf(name) === "auditID")) return undefined
  let event: Record<string, JsonValue> = {}
  for (const name of names) {
    const known = name.length < longestName ? memberOf(name) : undefined
    const value = object[name] as JsonValue
    const isObject = typeof value === "string" && value.startsWith("{")
    if (known !== undefined) event = withProperty(event, known, (isObject ? exactJsonIn(value) : undefined) ?? value)
  }
  return isEvent(event) ? event : undefined
}

const memberOf = (name: string): string | undefined =>
  eventMembers.get(
    name
      .replace(/_[sdgbt]$/, "")
      .replaceAll(/[^A-Za-z]/g, "")
      .toLowerCase(),
  )

const isEvent = (object: JsonObject): boolean =>
  ["auditID", "stage", "verb"].every((name) => textMember(object, name) !== "")

/** What an event says. */
export const kubernetesEntry = (event: JsonObject): AuditEntry => {
  const time = microsOf(member(event, "stageTimestamp")) ?? microsOf(member(event, "requestReceivedTimestamp"))
  const verb = writeVerbOf(textMember(event, "verb"))
  const reference = objectMember(event, "objectRef")
  const noWrite: AuditEntry = { tag: "no-write", time }
  // A write to a path that is no resource has no reference.
  if (textMember(event, "stage") !== "ResponseComplete" || verb === undefined || reference === undefined) return noWrite
  const group = textMember(reference, "apiGroup")
  const [resource, subresource] = [textMember(reference, "resource"), textMember(reference, "subresource")]
  const version = textMember(reference, "apiVersion")
  if (!isResource({ group, version, resource })) return unknownEntry("an audit event whose objectRef names no resource")
  if (!changesObjects({ group, version, resource }, subresource)) return noWrite
  const code = member(objectMember(event, "responseStatus"), "code")
  if (typeof code !== "number") return unknownEntry("an audit event without responseStatus.code")
  if (code < 200 || code > 299) return noWrite
  const query = queryOf(textMember(event, "requestURI"))
  const request = objectMember(event, "requestObject")
  if ((query.get("dryRun") ?? "") !== "" || isDryRun(request)) return noWrite
  if (time === undefined) return unknownEntry("an audit event without a valid stageTimestamp")
  const level = levels.find((each) => each === member(event, "level")) ?? "unknown"
  const isNamespace = group === "" && resource === "namespaces"
  const write = {
    ...{ time, verb, group, version, resource, subresource, level, request },
    id: textMember(event, "auditID"),
    // The reference to a namespace names it as its own namespace.
    namespace: isNamespace ? "" : textMember(reference, "namespace"),
    name: textMember(reference, "name"),
    isTruncated: textMember(objectMember(event, "annotations"), truncatedAnnotation) === "true",
    isCreation: code === 201,
    isSelection: query.has("labelSelector") || query.has("fieldSelector"),
    response: objectMember(event, "responseObject"),
  }
  return { tag: "write", write }
}

const queryOf = (address: string): URLSearchParams => {
  const mark = address.indexOf("?")
  return new URLSearchParams(mark < 0 ? "" : address.slice(mark + 1))
}

/** Deletions and evictions may ask for it in their body. */
export const isDryRun = (request: JsonObject | undefined): boolean =>
  arrayMember(request, "dryRun").length > 0 || arrayMember(objectMember(request, "deleteOptions"), "dryRun").length > 0
