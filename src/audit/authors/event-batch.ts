/** What an API server sends to its audit webhook: an EventList as JSON. */
import {
  type AuthoredWrite,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  memberIn,
  microsOf,
  textIn,
} from "../../trace/index.ts"
import { auditEventIn, kubernetesEntry } from "../shapes/kubernetes-event.ts"
import { authoredWrites } from "./authored-writes.ts"

/** Who wrote, according to one batch. */
interface AuthoredBatch {
  readonly tag: "batch"
  readonly events: number
  /** Events that cannot be read, of those. */
  readonly unknown: number
  readonly writes: ReadonlyArray<AuthoredWrite>
  /** µs since the Unix epoch, of the first and the last event; `undefined`: none has a time. */
  readonly range: { readonly from: number; readonly to: number } | undefined
}

/** `problem`: in words, which quote nothing. */
type BatchReading = AuthoredBatch | { readonly tag: "malformed"; readonly problem: string }

/** Reads a batch. Its bodies are not kept. Never throws. */
export const readAuditBatch = (text: string): BatchReading => {
  let list: JsonValue
  try {
    list = JSON.parse(text)
  } catch {
    return { tag: "malformed", problem: "the body is not JSON" }
  }
  const items = memberIn(list, "items")
  const isList = textIn(list, "kind") === "EventList" && textIn(list, "apiVersion").startsWith("audit.k8s.io/")
  if (!isList || !Array.isArray(items))
    return { tag: "malformed", problem: "the body is no EventList of audit.k8s.io with items" }
  const writes: AuthoredWrite[] = []
  const range = { from: Number.POSITIVE_INFINITY, to: Number.NEGATIVE_INFINITY }
  let unknown = 0
  for (const item of items) {
    const event = eventOf(item)
    const entry = event && kubernetesEntry(event)
    if (entry === undefined || entry.tag === "unknown") unknown++
    const time = microsOf(memberIn(event, "stageTimestamp"))
    if (time !== undefined) {
      range.from = Math.min(range.from, time)
      range.to = Math.max(range.to, time)
    }
    if (entry?.tag === "write") writes.push(...authoredWrites(entry.write))
  }
  const isTimed = range.to >= range.from
  return { tag: "batch", events: items.length, unknown, writes, range: isTimed ? range : undefined }
}

const eventOf = (item: JsonValue): JsonObject | undefined => (isJsonObject(item) ? auditEventIn(item) : undefined)
