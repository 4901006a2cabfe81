/**
 * Entries of Google's Cloud Logging with the audit log of a GKE cluster: `protoPayload` is an `AuditLog` whose `methodName` is
 * `io.k8s.apps.v1.deployments.create` and whose `resourceName` is `apps/v1/namespaces/shop/deployments/web`.
 *
 * The resource is read from `resourceName`: `methodName` changes the names of groups (`rbac.authorization.k8s.io` becomes
 * `authorization.rbac`). Entries have no URL, so a dry run is recognised only by its body; its response has no resource version and is left
 * out for that.
 */
import { type JsonObject, type JsonValue, withProperty } from "../../trace/json/exact-json.ts"
import { microsOf } from "../../trace/rfc3339.ts"
import { type AuditEntry, type AuditedResource, changesObjects, isResource, unknownEntry } from "./audited-write.ts"
import { member, objectMember, textMember } from "./json-fields.ts"
import { isDryRun, writeVerbOf } from "./kubernetes-event.ts"

/** Whether an object is an entry of Cloud Logging with an audit log, of whatever service. */
export const isCloudLoggingEntry = (entry: JsonObject): boolean => objectMember(entry, "protoPayload") !== undefined

/** What an entry says. Those of other services say nothing about objects. */
export const cloudLoggingEntry = (entry: JsonObject): AuditEntry => {
  const payload = objectMember(entry, "protoPayload")
  const time = microsOf(member(entry, "timestamp"))
  const noWrite: AuditEntry = { tag: "no-write", time }
  const method = textMember(payload, "methodName")
  if (method === "") return unknownEntry("an entry of Cloud Logging without protoPayload.methodName")
  const verb = writeVerbOf(method.slice(method.lastIndexOf(".") + 1))
  if (textMember(payload, "serviceName") !== "k8s.io" || verb === undefined) return noWrite
  const place = placeOf(textMember(payload, "resourceName"))
  if (place === undefined || !isResource(place))
    return unknownEntry("an entry of Cloud Logging without a readable protoPayload.resourceName")
  if (!changesObjects(place, place.subresource)) return noWrite
  // A code of google.rpc.Status: 0, which may be left out, is success.
  if ((member(objectMember(payload, "status"), "code") ?? 0) !== 0) return noWrite
  const request = objectMember(payload, "request")
  const response = objectMember(payload, "response")
  if (isDryRun(request)) return noWrite
  if (time === undefined) return unknownEntry("an entry of Cloud Logging without a valid timestamp")
  const write = {
    ...{ time, verb, ...place, id: textMember(entry, "insertId") },
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
  const type = textMember(body, "@type")
  let copy: Record<string, JsonValue> = {}
  const kind = type.slice(type.lastIndexOf(".") + 1)
  if (member(body, "kind") === undefined && /^[A-Z][A-Za-z]*$/.test(kind))
    copy = { apiVersion: group === "" ? version : `${group}/${version}`, kind }
  for (const name of Object.keys(body)) if (name !== "@type") copy = withProperty(copy, name, body[name] as JsonValue)
  return copy
}
