/**
 * Which programs wrote an object between two of its states, by `metadata.managedFields`: the API server notes there which fields each manager set last, and
 * when, in whole seconds.
 *
 * A manager wrote if its entry is new, has gained fields or a later time. An entry that only lost fields says that
 * another manager wrote: a manager that sets a field to another value takes it away from its owner, and a removed field
 * leaves all entries that had it. So a removal names no manager, and neither do a deletion, an eviction and a binding:
 * the API server changes no entry for them.
 *
 * Entries of subresource `scale` have no time (Kubernetes 1.34), and a second write within one second leaves time and fields as they were. Such an entry
 * counts if it owns a field that has another value now, because only its last writer owns it.
 */
import { memberOf } from "../../own-member.ts"
import {
  exactJsonIn,
  formatExactJson,
  isJsonList,
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "./exact-json.ts"

/** A program that wrote an object. */
interface FieldManager {
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
 * The managers that wrote between two states of an object, most recent first, those without a time before the others. Without a state before: all that have
 * an entry. `undefined` if one of the states has no managedFields: then nothing is known. `time`: when the later state was recorded, µs since the Unix
 * epoch; without it, of two writes within one second the second one is not seen.
 */
export const managersBetween = (
  before: JsonObject | undefined,
  after: JsonObject,
  time?: number,
): ReadonlyArray<FieldManager> | undefined => {
  const [earlier, later] = [entriesOf(before), entriesOf(after)]
  if (later === undefined || (before !== undefined && earlier === undefined)) return undefined
  const known = new Map((earlier ?? []).map((entry) => [nameOf(entry), entry]))
  const wrote = later.filter((entry) => {
    if (placeholders.has(text(entry.manager))) return false
    const former = known.get(nameOf(entry))
    if (before === undefined || former === undefined || text(former.time) < text(entry.time)) return true
    const fields = fieldsOf(entry)
    if (hasGained(fieldsOf(former), fields)) return true
    return mayHideWrite(entry, time) && hasOtherValue(fields, before, after, later.map(fieldsOf))
  })
  const moment = ({ time: each }: FieldManager): string => each || "~"
  return wrote
    .map(managerOf)
    .sort((one, other) => (moment(one) < moment(other) ? 1 : moment(one) > moment(other) ? -1 : 0))
}

/** Names that the API server makes up: of entries that it merges when there are more than ten, and of fields older than the first server-side apply. */
const placeholders: ReadonlySet<string> = new Set(["ancient-changes", "before-first-apply"])

const entriesOf = (object: JsonObject | undefined): ReadonlyArray<JsonObject> | undefined => {
  const metadata = object?.metadata
  const entries = isJsonObject(metadata) ? metadata.managedFields : undefined
  return isJsonList(entries) ? entries.filter(isJsonObject) : undefined
}

const text = (value: JsonValue | undefined): string => (typeof value === "string" ? value : "")

/** What the API server tells entries apart by: an applier has one entry, whatever the API version. */
const nameOf = ({ manager, operation, subresource, apiVersion }: JsonObject): string =>
  JSON.stringify([manager, operation, subresource, operation === "Apply" ? "" : apiVersion].map(text))

const managerOf = (entry: JsonObject): FieldManager => ({
  manager: text(entry.manager),
  operation: text(entry.operation),
  subresource: text(entry.subresource),
  time: text(entry.time),
})

const fieldsOf = ({ fieldsV1 }: JsonObject): JsonObject => (isJsonObject(fieldsV1) ? fieldsV1 : {})

/** Whether a place in fieldsV1 is a field of the entry itself; otherwise only fields inside it are. */
const isField = (fields: JsonObject): boolean => Object.hasOwn(fields, ".") || Object.keys(fields).length === 0

const hasGained = (former: JsonObject, fields: JsonObject): boolean =>
  Object.entries(fields).some(([key, inner]) => {
    if (key === "." || !isJsonObject(inner)) return false
    const before = Object.hasOwn(former, key) ? former[key] : undefined
    if (!isJsonObject(before)) return true
    return (isField(inner) && !isField(before)) || hasGained(before, inner)
  })

/** s by which the recorded time of a write may be after the second in the entry: the rest of the second, and the way to the recorder. */
const longestDelay = 2

/** Whether the entry could be of a later write than its time says: it has no time, or the state was recorded within its second. */
const mayHideWrite = (entry: JsonObject, time: number | undefined): boolean => {
  if (text(entry.time) === "") return true
  const delay = time === undefined ? Number.NaN : time / 1e6 - Date.parse(text(entry.time)) / 1000
  return delay >= 0 && delay < longestDelay
}

/**
 * Whether any of the fields has different values in both states. One that is new or gone would change an entry. `all`: the fields of all entries, at the
 * same place.
 */
const hasOtherValue = (
  fields: JsonObject,
  before: JsonValue,
  after: JsonValue,
  all: ReadonlyArray<JsonObject>,
): boolean =>
  Object.entries(fields).some(([key, inner]) => {
    const [one, other] = [valueAt(before, key), valueAt(after, key)]
    if (one === undefined || other === undefined || !isJsonObject(inner)) return false
    const below = all.map((each) => memberOf(each, key)).filter(isJsonObject)
    if (hasMembers(inner)) return hasOtherValue(inner, one, other, below)
    // Only that the map is there is its own: what is in it belongs to others, or did when it was set.
    return (
      !below.some(hasMembers) && !isEmpty(one) && !isEmpty(other) && formatExactJson(one) !== formatExactJson(other)
    )
  })

const hasMembers = (fields: JsonObject): boolean => Object.keys(fields).some((each) => each !== ".")

const isEmpty = (value: JsonValue): boolean =>
  value !== null && typeof value === "object" && Object.keys(value).length === 0

/** The value at a key of fieldsV1: `f:` and a member's name, `k:` and members of an item, `v:` and an item, `i:` and its position. */
const valueAt = (value: JsonValue, key: string): JsonValue | undefined => {
  const rest = key.slice(2)
  if (key.startsWith("f:")) return isJsonObject(value) ? memberOf(value, rest) : undefined
  if (!isJsonList(value)) return undefined
  if (key.startsWith("i:")) return value[Number(rest)]
  const sought = exactJsonIn(rest)
  if (!key.startsWith("k:") || !isJsonObject(sought)) return undefined
  return value.find((item) => isJsonObject(item) && Object.entries(sought).every(([name, each]) => item[name] === each))
}
