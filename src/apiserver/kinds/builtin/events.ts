/**
 * Events are stored once, as `v1`, and also served as `events.k8s.io/v1`, where most fields have other names.
 * Neither conversion loses anything, so an Event written as one may be changed as the other.
 */
import type { JsonObject, StoredAs } from "../resources.ts"

/** A field under both names, with the value that the kind writes when it is empty; `undefined` omits it. */
interface Field {
  readonly core: string
  readonly events: string
  readonly emptyCore?: unknown
  readonly emptyEvents?: unknown
}

/** In the order of the Go struct of `events.k8s.io/v1`. */
const fields: ReadonlyArray<Field> = [
  { core: "eventTime", events: "eventTime", emptyCore: null, emptyEvents: null },
  { core: "series", events: "series" },
  { core: "reportingComponent", events: "reportingController", emptyCore: "" },
  { core: "reportingInstance", events: "reportingInstance", emptyCore: "" },
  { core: "action", events: "action" },
  { core: "reason", events: "reason" },
  { core: "involvedObject", events: "regarding", emptyCore: {}, emptyEvents: {} },
  { core: "related", events: "related" },
  { core: "message", events: "note" },
  { core: "type", events: "type" },
  { core: "source", events: "deprecatedSource", emptyCore: {}, emptyEvents: {} },
  { core: "firstTimestamp", events: "deprecatedFirstTimestamp", emptyCore: null, emptyEvents: null },
  { core: "lastTimestamp", events: "deprecatedLastTimestamp", emptyCore: null, emptyEvents: null },
  { core: "count", events: "deprecatedCount" },
]

/** The same fields in the order of the Go struct of `v1`. */
const coreFields: ReadonlyArray<Field> = [
  "involvedObject",
  "reason",
  "message",
  "source",
  "firstTimestamp",
  "lastTimestamp",
  "count",
  "type",
  "eventTime",
  "series",
  "action",
  "related",
  "reportingComponent",
  "reportingInstance",
].flatMap((name) => fields.find(({ core }) => core === name) ?? [])

const isEmpty = (value: unknown): boolean => value === undefined || value === null || value === "" || value === 0

/** `renamed`: the name of each field in the object and in the result, and its value when it is empty. */
const eventOf = (
  apiVersion: string,
  { metadata, ...given }: JsonObject,
  renamed: ReadonlyArray<readonly [from: string, to: string, empty: unknown]>,
): JsonObject => {
  const result: Record<string, unknown> = { kind: "Event", apiVersion, metadata }
  for (const [from, to, empty] of renamed) {
    const value = isEmpty(given[from]) ? empty : given[from]
    if (value !== undefined) result[to] = value
  }
  return result
}

const toCore = coreFields.map(({ core, events, emptyCore }) => [events, core, emptyCore] as const)
const toEvents = fields.map(({ core, events, emptyEvents }) => [core, events, emptyEvents] as const)

export const storedAsCoreEvent: StoredAs = {
  gvk: { group: "", version: "v1", kind: "Event" },
  toStored: (event) => eventOf("v1", event, toCore),
  fromStored: (event) => eventOf("events.k8s.io/v1", event, toEvents),
}
