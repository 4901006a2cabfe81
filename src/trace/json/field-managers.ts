/**
 * Who changed an object, by `metadata.managedFields`: the API server notes there which fields each manager set last, and when. The time has whole
 * seconds, so a manager is found by what it set as well.
 */
import { isJsonObject, type JsonObject, type JsonValue } from "./exact-json.ts"

/** A program that wrote an object. */
export interface FieldManager {
  /** `kubectl-client-side-apply`, `kube-controller-manager`. */
  readonly manager: string
  /** `Apply` or `Update`. */
  readonly operation: string
  /** `status`, `scale`; empty: the object itself. */
  readonly subresource: string
  /** RFC 3339, as the server wrote it. Empty if it did not. */
  readonly time: string
}

/**
 * The managers that wrote between two states of an object, most recent first: those whose entry is new or different. All of them if there was no state
 * before. `undefined` if the later state has no managedFields: then nothing is known.
 */
export const managersBetween = (
  before: JsonObject | undefined,
  after: JsonObject,
): ReadonlyArray<FieldManager> | undefined => {
  const later = entriesOf(after)
  if (later === undefined) return undefined
  const earlier = new Map((entriesOf(before) ?? []).map((entry) => [nameOf(entry), entry]))
  const wrote = later.filter((entry) => !isSame(earlier.get(nameOf(entry)), entry)).map(managerOf)
  return wrote.sort((one, other) => (one.time < other.time ? 1 : one.time > other.time ? -1 : 0))
}

const entriesOf = (object: JsonObject | undefined): ReadonlyArray<JsonObject> | undefined => {
  const metadata = object?.metadata
  const entries = isJsonObject(metadata) ? metadata.managedFields : undefined
  return Array.isArray(entries) ? (entries as ReadonlyArray<JsonValue>).filter(isJsonObject) : undefined
}

const text = (value: JsonValue | undefined): string => (typeof value === "string" ? value : "")

const nameOf = (entry: JsonObject): string =>
  JSON.stringify([text(entry.manager), text(entry.operation), text(entry.subresource), text(entry.apiVersion)])

const managerOf = (entry: JsonObject): FieldManager => ({
  manager: text(entry.manager),
  operation: text(entry.operation),
  subresource: text(entry.subresource),
  time: text(entry.time),
})

/** A write within the same second leaves the time as it was. */
const isSame = (one: JsonObject | undefined, other: JsonObject): boolean =>
  one !== undefined &&
  text(one.time) === text(other.time) &&
  JSON.stringify(one.fieldsV1 ?? null, exactly) === JSON.stringify(other.fieldsV1 ?? null, exactly)

/** fieldsV1 has no numbers, but foreign data may have any. */
const exactly = (_key: string, value: unknown): unknown => (typeof value === "bigint" ? String(value) : value)
