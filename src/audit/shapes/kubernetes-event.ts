/**
 * Events of `audit.k8s.io`, as an API server logs them. A request has an event for each of its stages; only the last one,
 * `ResponseComplete`, knows whether it succeeded.
 */
import {
  exactJsonIn,
  type JsonObject,
  type JsonValue,
  listIn,
  memberIn,
  microsOf,
  objectIn,
  textIn,
  withProperty,
} from "../../trace/index.ts"
import {
  type AuditEntry,
  type AuditedResource,
  type AuditLevel,
  changesObjects,
  isResource,
  unknownEntry,
  type WriteVerb,
  writeVerbs,
} from "./audited-write.ts"
import { authorOf, cloudAuthorOf, fieldManagerOf } from "./author.ts"

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
    ...["user", "impersonatedUser", "userAgent", "sourceIPs"],
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
  if (memberIn(object, "kind") === "Event" && textIn(object, "apiVersion").startsWith("audit.k8s.io/")) return object
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
  ["auditID", "stage", "verb"].every((name) => textIn(object, name) !== "")

/** What an event says. */
export const kubernetesEntry = (event: JsonObject): AuditEntry => {
  const time = microsOf(memberIn(event, "stageTimestamp")) ?? microsOf(memberIn(event, "requestReceivedTimestamp"))
  const verb = writeVerbOf(textIn(event, "verb"))
  const reference = objectIn(event, "objectRef")
  const noWrite: AuditEntry = { tag: "no-write", time }
  // A write to a path that is no resource has no reference.
  if (textIn(event, "stage") !== "ResponseComplete" || verb === undefined || reference === undefined) return noWrite
  const group = textIn(reference, "apiGroup")
  const [resource, subresource] = [textIn(reference, "resource"), textIn(reference, "subresource")]
  const version = textIn(reference, "apiVersion")
  if (!isResource({ group, version, resource })) return unknownEntry("an audit event whose objectRef names no resource")
  if (!changesObjects({ group, version, resource }, subresource)) return noWrite
  const code = memberIn(objectIn(event, "responseStatus"), "code")
  if (typeof code !== "number") return unknownEntry("an audit event without responseStatus.code")
  if (code < 200 || code > 299) return noWrite
  const query = queryOf(textIn(event, "requestURI"))
  const request = objectIn(event, "requestObject")
  if ((query.get("dryRun") ?? "") !== "" || isDryRun(request)) return noWrite
  if (time === undefined) return unknownEntry("an audit event without a valid stageTimestamp")
  const level = levels.find((each) => each === memberIn(event, "level")) ?? "unknown"
  const isNamespace = group === "" && resource === "namespaces"
  const write = {
    ...{ time, verb, group, version, resource, subresource, level, request },
    received: microsOf(memberIn(event, "requestReceivedTimestamp")) ?? time,
    author: authorOf(event),
    fieldManager: fieldManagerOf(event, query),
    id: textIn(event, "auditID"),
    // The reference to a namespace names it as its own namespace.
    namespace: isNamespace ? "" : textIn(reference, "namespace"),
    name: textIn(reference, "name"),
    uid: textIn(reference, "uid"),
    isTruncated: textIn(objectIn(event, "annotations"), truncatedAnnotation) === "true",
    isCreation: code === 201,
    isSelection: query.has("labelSelector") || query.has("fieldSelector"),
    response: objectIn(event, "responseObject"),
  }
  return { tag: "write", write }
}

const queryOf = (address: string): URLSearchParams => {
  const mark = address.indexOf("?")
  return new URLSearchParams(mark < 0 ? "" : address.slice(mark + 1))
}

/** Deletions and evictions may ask for it in their body. */
const isDryRun = (request: JsonObject | undefined): boolean =>
  listIn(request, "dryRun").length > 0 || listIn(objectIn(request, "deleteOptions"), "dryRun").length > 0

/** Whether an object is an entry of Cloud Logging with an audit log, of whatever service. */
export const isCloudLoggingEntry = (entry: JsonObject): boolean => objectIn(entry, "protoPayload") !== undefined

/**
 * An entry of Google's Cloud Logging with the audit log of a GKE cluster. The resource is read from `resourceName`
 * (`apps/v1/namespaces/shop/deployments/web`), because `methodName` changes the names of groups
 * (`rbac.authorization.k8s.io` becomes `authorization.rbac`). Entries have no URL, so a dry run is recognised only by
 * its body; its response has no resource version and is left out for that.
 */
export const cloudLoggingEntry = (entry: JsonObject): AuditEntry => {
  const payload = objectIn(entry, "protoPayload")
  const time = microsOf(memberIn(entry, "timestamp"))
  const noWrite: AuditEntry = { tag: "no-write", time }
  const method = textIn(payload, "methodName")
  if (method === "") return unknownEntry("an entry of Cloud Logging without protoPayload.methodName")
  const verb = writeVerbOf(method.slice(method.lastIndexOf(".") + 1))
  if (textIn(payload, "serviceName") !== "k8s.io" || verb === undefined) return noWrite
  const place = placeOf(textIn(payload, "resourceName"))
  if (place === undefined || !isResource(place))
    return unknownEntry("an entry of Cloud Logging without a readable protoPayload.resourceName")
  if (!changesObjects(place, place.subresource)) return noWrite
  // A code of google.rpc.Status: 0, which may be left out, is success.
  if ((memberIn(objectIn(payload, "status"), "code") ?? 0) !== 0) return noWrite
  const request = objectIn(payload, "request")
  const response = objectIn(payload, "response")
  if (isDryRun(request)) return noWrite
  if (time === undefined) return unknownEntry("an entry of Cloud Logging without a valid timestamp")
  const write = {
    ...{ time, received: time, verb, ...place, id: textIn(entry, "insertId"), uid: "" },
    ...{ author: cloudAuthorOf(payload), fieldManager: undefined },
    level: response !== undefined ? "RequestResponse" : request !== undefined ? "Request" : "Metadata",
    isTruncated: false,
    isCreation: verb === "create",
    isSelection: false,
    request: request && withoutType(request, place),
    response: response && withoutType(response, place),
  } as const
  return { tag: "write", write }
}

interface Place extends AuditedResource {
  readonly namespace: string
  readonly name: string
  readonly subresource: string
}

/** A third part of these after the name of a namespace is a subresource; any other one is a resource in the namespace. */
const namespaceSubresources: ReadonlySet<string> = new Set(["status", "finalize"])

/** `GROUP/VERSION[/namespaces/NAMESPACE]/RESOURCE[/NAME[/SUBRESOURCE]]`; the core group is `core`. */
const placeOf = (text: string): Place | undefined => {
  const [first = "", version = "", ...rest] = text.split("/")
  const isInNamespace = rest[0] === "namespaces" && rest.length > 2 && !namespaceSubresources.has(rest[2] ?? "")
  const [resource = "", name = "", subresource = ""] = isInNamespace ? rest.slice(2) : rest
  if (version === "" || resource === "") return undefined
  const namespace = isInNamespace ? (rest[1] ?? "") : ""
  return { group: first === "core" ? "" : first, version, resource, namespace, name, subresource }
}

/** Bodies are as the server has them, but for `@type`, which names group, version and kind where they themselves do not. */
const withoutType = (body: JsonObject, { group, version }: AuditedResource): JsonObject => {
  const type = textIn(body, "@type")
  let copy: Record<string, JsonValue> = {}
  const kind = type.slice(type.lastIndexOf(".") + 1)
  if (memberIn(body, "kind") === undefined && /^[A-Z][A-Za-z]*$/.test(kind))
    copy = { apiVersion: group === "" ? version : `${group}/${version}`, kind }
  for (const [name, value] of Object.entries(body)) if (name !== "@type") copy = withProperty(copy, name, value)
  return copy
}
