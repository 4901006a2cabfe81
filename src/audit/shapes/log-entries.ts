/**
 * The entries in one JSON value of a log, whatever wraps them. Shapes may alternate within a file; each value is judged by itself:
 *
 * | shape | from |
 * | --- | --- |
 * | `{"kind":"Event","apiVersion":"audit.k8s.io/v1",…}` | the log file of an API server |
 * | `{"kind":"EventList",…,"items":[…]}` | its webhook |
 * | `{"@timestamp":…,"@message":…}`, `{"timestamp":…,"message":…}` | CloudWatch: Logs Insights, other exports |
 * | `{"logEvents":[{"message":…}]}`, `{"events":[{"message":…}]}` | CloudWatch: subscriptions; its command line |
 * | `{"results":[[{"field":"@message","value":…},…]]}` | CloudWatch: Logs Insights on the command line |
 * | `{"protoPayload":{…},"timestamp":…}` | GKE |
 *
 * A message is the entry itself or its text. An array has any of them.
 */
import { isJsonObject, type JsonValue, withProperty } from "../../trace/json/exact-json.ts"
import { type AuditEntry, unknownEntry } from "../audited-write.ts"
import { arrayMember, member, textMember } from "../json-fields.ts"
import { cloudLoggingEntry, isCloudLoggingEntry } from "./cloud-logging-entry.ts"
import { isAuditObject, kubernetesEntry } from "./kubernetes-event.ts"
import { parsedText } from "./parsed-text.ts"

/** Wrappings inside one another: no exporter has more than two. */
const deepest = 4

/** The entries in a value; one of no known shape is one unknown entry. */
export const entriesIn = (value: JsonValue | undefined, depth = 0): ReadonlyArray<AuditEntry> => {
  if (depth < deepest && Array.isArray(value))
    return (value as ReadonlyArray<JsonValue>).flatMap((each) => entriesIn(each, depth + 1))
  if (!isJsonObject(value)) return [unknownEntry(value === undefined ? "no JSON" : `JSON, but ${nameOf(value)}`)]
  if (isAuditObject(value, "Event")) return [kubernetesEntry(value)]
  if (isCloudLoggingEntry(value)) return [cloudLoggingEntry(value)]
  if (depth === deepest) return [unknownEntry("messages inside too many others")]
  const inside = (each: JsonValue): ReadonlyArray<AuditEntry> => entriesIn(each, depth + 1)
  // As in every list of the server's, the items have no kind of their own.
  if (isAuditObject(value, "EventList"))
    return arrayMember(value, "items").flatMap((item) =>
      isJsonObject(item) && textMember(item, "stage") !== "" ? kubernetesEntry(item) : inside(item),
    )
  const results = member(value, "results")
  if (Array.isArray(results)) return (results as ReadonlyArray<JsonValue>).flatMap((row) => inside(fieldsOf(row)))
  for (const name of ["logEvents", "events"]) {
    const wrapped = member(value, name)
    if (Array.isArray(wrapped)) return (wrapped as ReadonlyArray<JsonValue>).flatMap(inside)
  }
  for (const name of ["@message", "message"]) {
    const message = member(value, name)
    if (isJsonObject(message)) return inside(message)
    if (typeof message === "string") return messageEntries(message, inside)
  }
  return [unknownEntry(`an object with ${membersOf(value)}`)]
}

/** A row of results as one object. */
const fieldsOf = (row: JsonValue): JsonValue => {
  let fields: Record<string, JsonValue> = {}
  for (const each of Array.isArray(row) ? (row as ReadonlyArray<JsonValue>) : []) {
    const field = isJsonObject(each) ? each : undefined
    fields = withProperty(fields, textMember(field, "field"), member(field, "value") ?? null)
  }
  return fields
}

const messageEntries = (
  message: string,
  inside: (value: JsonValue) => ReadonlyArray<AuditEntry>,
): ReadonlyArray<AuditEntry> => {
  const value = parsedText(message)
  return value === undefined ? [unknownEntry("a message that is no JSON")] : inside(value)
}

const nameOf = (value: JsonValue): string =>
  value === null
    ? "null"
    : Array.isArray(value)
      ? "an array"
      : `a ${typeof value === "bigint" ? "number" : typeof value}`

/** The first names, which say best what wrote it. */
const membersOf = (object: object): string => {
  const names = Object.keys(object)
  if (names.length === 0) return "no members"
  const shown = names.slice(0, 5).map((name) => JSON.stringify(name.slice(0, 40)))
  return `${shown.join(", ")}${names.length > shown.length ? ", …" : ""}`
}
