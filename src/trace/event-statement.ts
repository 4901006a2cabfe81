/** What a Kubernetes Event says: its name, and the fields that differ in it, say nothing to a reader. */
import type { EventStatement } from "../timeline/index.ts"
import { isJsonObject, type JsonObject, type JsonValue } from "./json/exact-json.ts"

/** The kinds of Kubernetes Events: one object, in two groups. Their names begin with the name of the object that they are about. */
export const eventKinds: ReadonlyArray<string> = ["v1.Event", "events.k8s.io/v1.Event"]

/** `undefined`: the object is no Event. Of either group, and of Events that were written in the other one. */
export const eventStatement = (gvk: string, object: JsonObject | undefined): EventStatement | undefined => {
  if (object === undefined || !eventKinds.includes(gvk)) return undefined
  const about = object.involvedObject ?? object.regarding
  const { kind = "", name = "" } = isJsonObject(about) ? about : {}
  const source = isJsonObject(object.source) ? object.source.component : undefined
  const text = (value: JsonValue | undefined): string => (typeof value === "string" ? value : "")
  return {
    ...{ type: text(object.type), reason: text(object.reason), message: text(object.message) || text(object.note) },
    ...{ about: `${text(kind)} ${text(name)}`.trim(), source: text(source) || text(object.reportingComponent) },
  }
}

/** µs. A watch delivers a new object within seconds; clocks of servers differ by less, or everything is wrong. */
const longestDelivery = 60_000_000

const created = Buffer.from('"creationTimestamp":"')
/** `2026-11-28T05:39:11Z`, as every API server writes it. */
const timeLength = 20

/**
 * The object was created at most a minute before it was seen: otherwise it existed, and was in a list or entered a selection. False if it does not say
 * when it was created.
 * @param object its JSON as a server writes it: `metadata` comes before anything that may have the creation of something else
 * @param time when it was seen, in µs since the Unix epoch
 */
export const isCreation = (object: Uint8Array, time: number): boolean => {
  const bytes = Buffer.from(object.buffer, object.byteOffset, object.byteLength)
  const at = bytes.indexOf(created)
  if (at < 0) return false
  const from = at + created.length
  return wasJustCreated(Date.parse(bytes.toString("latin1", from, from + timeLength)) * 1000, time)
}

/** The same for a creation that was read; both in µs since the Unix epoch. */
export const wasJustCreated = (creation: number, time: number): boolean => time - creation <= longestDelivery
