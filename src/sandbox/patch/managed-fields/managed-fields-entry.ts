/**
 * Entries of `metadata.managedFields`: reading those of an object, and sorting entries in the server's order. Sets of
 * the stored object are trusted to be canonical (this server wrote them); those in a request are read strictly.
 */

import { isEmptyObject, memberOf } from "../../../own-member.ts"
import { isEqualJson, isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../json/json-value.ts"
import { canonicalSet, type FieldSet, isEmptySet, union } from "./field-set.ts"
import { compareText } from "./path-element.ts"

/** A type and not an interface, so that it is assignable to a JSON value. Keys are written in this order. */
export type ManagedFieldsEntry = {
  readonly manager?: string
  readonly operation: "Apply" | "Update"
  readonly apiVersion: string
  /** RFC 3339 with whole seconds, UTC. */
  readonly time?: string
  readonly fieldsType: "FieldsV1"
  readonly fieldsV1: FieldSet
  readonly subresource?: string
}

export type ManagedFields = ReadonlyArray<ManagedFieldsEntry>

/** The writer: together with the operation this identifies an entry. */
export interface FieldManager {
  readonly manager: string
  readonly operation: "Apply" | "Update"
  readonly apiVersion: string
  /** Empty for the object itself. */
  readonly subresource: string
}

/** An `undefined` time is omitted: an entry without a time stays without one. */
export const makeEntry = (owner: FieldManager, time: string | undefined, fieldsV1: FieldSet): ManagedFieldsEntry => ({
  manager: owner.manager === "" ? "unknown" : owner.manager,
  operation: owner.operation,
  apiVersion: owner.apiVersion,
  ...(time === undefined ? {} : { time }),
  fieldsType: "FieldsV1",
  fieldsV1,
  ...(owner.subresource === "" ? {} : { subresource: owner.subresource }),
})

export const withFields = (entry: ManagedFieldsEntry, fieldsV1: FieldSet): ManagedFieldsEntry =>
  entry.fieldsV1 === fieldsV1 ? entry : { ...entry, fieldsV1 }

/** Appliers have one entry for all versions, updaters one for each version. */
export const isEntryOf = (entry: ManagedFieldsEntry, owner: FieldManager): boolean =>
  entry.operation === owner.operation &&
  (entry.manager ?? "") === (owner.manager === "" ? "unknown" : owner.manager) &&
  (entry.subresource ?? "") === owner.subresource &&
  (entry.operation === "Apply" || entry.apiVersion === owner.apiVersion)

/** The entries of a stored object, as they are. */
export const storedEntries = (object: JsonObject | undefined): ManagedFields => {
  const metadata = object === undefined ? undefined : memberOf(object, "metadata")
  const fields = isJsonObject(metadata) ? memberOf(metadata, "managedFields") : undefined
  return isJsonArray(fields) ? (fields as unknown as ManagedFields) : []
}

/**
 * The entries that a write starts from. A client may set them (to take over from another tool), reset them with `[]` or
 * `[{}]`, and often sends them back unchanged; with unreadable or absent entries those of the stored object stay.
 * Writes to a subresource cannot set them.
 */
export const entriesToStartFrom = (
  before: JsonObject | undefined,
  after: JsonObject,
  subresource: string,
): ManagedFields => {
  const stored = storedEntries(before)
  if (subresource !== "") return stored
  const metadata = memberOf(after, "metadata")
  const sent = isJsonObject(metadata) ? memberOf(metadata, "managedFields") : undefined
  if (!isJsonArray(sent) || sent === (stored as unknown)) return stored
  if (sent.length === 0 || (sent.length === 1 && isJsonObject(sent[0]) && isEmptyObject(sent[0]))) return []
  if (isEqualJson(sent, stored as unknown as JsonValue)) return stored
  const entries = readEntries(sent)
  return entries === undefined || entries.length === 0 ? stored : entries
}

/** `undefined` if one of them is not in the server's form. */
const readEntries = (sent: ReadonlyArray<JsonValue>): ManagedFields | undefined => {
  const entries: ManagedFieldsEntry[] = []
  for (const item of sent) {
    const entry = isJsonObject(item) ? readEntry(item) : undefined
    if (entry === undefined) return undefined
    const same = entries.findIndex((other) => managerIdentifier(other) === managerIdentifier(entry))
    // Of two entries of one manager the server keeps the last.
    if (same >= 0) entries[same] = entry
    else entries.push(entry)
  }
  return entries.filter((entry) => !isEmptySet(entry.fieldsV1))
}

const readEntry = (entry: JsonObject): ManagedFieldsEntry | undefined => {
  const { manager, operation, apiVersion, time, fieldsType, fieldsV1, subresource } = entry
  if (operation !== "Apply" && operation !== "Update") return undefined
  if (typeof apiVersion !== "string" || apiVersion === "" || fieldsType !== "FieldsV1") return undefined
  const fields = fieldsV1 === undefined || fieldsV1 === null ? {} : canonicalSet(fieldsV1)
  const ms = typeof time === "string" ? Date.parse(time) : Number.NaN
  if (fields === undefined || (typeof time === "string" && Number.isNaN(ms))) return undefined
  return {
    ...(typeof manager === "string" && manager !== "" ? { manager } : {}),
    operation,
    apiVersion,
    ...(Number.isNaN(ms) ? {} : { time: `${new Date(ms).toISOString().slice(0, 19)}Z` }),
    fieldsType,
    fieldsV1: fields,
    ...(typeof subresource === "string" && subresource !== "" ? { subresource } : {}),
  }
}

/** Appliers first, then by time, manager, version and subresource. */
export const inServerOrder = (entries: ManagedFields): ManagedFields => {
  const isInOrder = entries.every((entry, index) => {
    const before = entries[index - 1]
    return before === undefined || compareEntries(before, entry) <= 0
  })
  return isInOrder ? entries : [...entries].sort(compareEntries)
}

const compareEntries = (left: ManagedFieldsEntry, right: ManagedFieldsEntry): number =>
  compareText(left.operation, right.operation) ||
  compareText(left.time ?? "", right.time ?? "") ||
  compareText(left.manager ?? "", right.manager ?? "") ||
  compareText(left.apiVersion, right.apiVersion) ||
  compareText(left.subresource ?? "", right.subresource ?? "")

/** The text by which the server identifies managers, and sorts them if their times are equal. */
export const managerIdentifier = (entry: ManagedFieldsEntry): string =>
  JSON.stringify({
    ...(entry.manager === undefined ? {} : { manager: entry.manager }),
    operation: entry.operation,
    ...(entry.operation === "Update" ? { apiVersion: entry.apiVersion } : {}),
    ...(entry.subresource === undefined ? {} : { subresource: entry.subresource }),
  })

/** Beyond this number updaters are merged, the oldest first (the server's DefaultMaxUpdateManagers). */
const MAX_UPDATE_MANAGERS = 10

/** Merges the oldest updaters of a version into one called `ancient-changes`. */
export const withCappedUpdaters = (entries: ManagedFields): ManagedFields => {
  const updaters = entries.filter((entry) => entry.operation === "Update")
  if (updaters.length <= MAX_UPDATE_MANAGERS) return entries
  updaters.sort(
    (left, right) =>
      compareText(left.time ?? "", right.time ?? "") || compareText(managerIdentifier(left), managerIdentifier(right)),
  )
  const kept = new Set(entries)
  const buckets = new Map<string, ManagedFieldsEntry>()
  const firsts = new Map<string, ManagedFieldsEntry>()
  let count = updaters.length
  for (const entry of updaters) {
    if (count <= MAX_UPDATE_MANAGERS) break
    const version = entry.apiVersion
    const first = firsts.get(version)
    if (first === undefined) {
      firsts.set(version, entry)
      if (entry.manager === ANCIENT && entry.subresource === undefined) buckets.set(version, entry)
      continue
    }
    const bucket = buckets.get(version) ?? first
    kept.delete(bucket)
    kept.delete(entry)
    const owner: FieldManager = { manager: ANCIENT, operation: "Update", apiVersion: version, subresource: "" }
    const merged = makeEntry(owner, entry.time, union(entry.fieldsV1, bucket.fieldsV1))
    kept.add(merged)
    buckets.set(version, merged)
    count--
  }
  return [...kept]
}

const ANCIENT = "ancient-changes"
