/**
 * The time at which an API server last wrote an object, as the object itself says: the latest `time` in `metadata.managedFields`, which the
 * server sets with every create, update, patch and apply that changes a field, and the time at which a graceful deletion was requested,
 * `deletionTimestamp` less `deletionGracePeriodSeconds`, which leaves `managedFields` as they are.
 *
 * All of them are whole seconds, rounded down. They are earlier than the write by what validation and admission webhooks take.
 */
import type { ObservedObject } from "../observed-object.ts"

/** `"time"` is no key of `fieldsV1`, whose keys begin with `f:`, `k:` or `v:`. White space: some proxies rewrite JSON. */
const managedTime = /"time"\s*:\s*"([^"]{20,40})"/g
const manager = /"manager"\s*:/g
const generation = /"generation"\s*:\s*(\d+)/
const observedGeneration = /"observedGeneration"\s*:\s*(\d+)/
const deletionTime = /"deletionTimestamp"\s*:\s*"([^"]{20,40})"/
const creationTime = /^"creationTimestamp"\s*:\s*"([^"]{20})"/
const gracePeriod = /"deletionGracePeriodSeconds"\s*:\s*(\d{1,9})/

/** ms since the Unix epoch, a whole second; `undefined` if the object says nothing. Some µs; never throws. */
export const lastWrittenMs = ({ bytes, start, end, scanned }: Readonly<ObservedObject>): number | undefined => {
  let last: number | undefined
  const { managedFieldsStart, managedFieldsEnd } = scanned
  if (managedFieldsEnd > managedFieldsStart) {
    const fields = bytes.toString("latin1", managedFieldsStart, managedFieldsEnd)
    for (const [, text] of fields.matchAll(managedTime)) last = later(last, Date.parse(text as string))
  }
  return later(last, deletionRequestedMs(bytes, start, end))
}

/**
 * Whether the last write may have left no time: writes of subresource `scale` do not (Kubernetes 1.34), so an entry of `managedFields` lacks it, and no
 * controller has observed the new generation yet.
 */
export const mayBeUntimed = ({ bytes, start, end, scanned }: Readonly<ObservedObject>): boolean => {
  const fields = bytes.toString("latin1", scanned.managedFieldsStart, scanned.managedFieldsEnd)
  if ([...fields.matchAll(manager)].length <= [...fields.matchAll(managedTime)].length) return false
  const object = bytes.toString("latin1", start, end)
  return generation.exec(object)?.[1] !== observedGeneration.exec(object)?.[1]
}

/** Whether a deletion of the object was requested and had to wait, for a grace period or for finalizers. */
export const wasTerminating = ({ bytes, start, end }: Readonly<ObservedObject>): boolean =>
  deletionRequestedMs(bytes, start, end) !== undefined

/** Whether the object says that it was created after this second, given as the server writes it: `2026-11-25T22:42:02Z`. */
export const hasCreationAfter = ({ bytes, start, end }: Readonly<ObservedObject>, second: string): boolean => {
  const found = bytes.indexOf(creationKey, start)
  if (found < 0 || found >= end) return false
  const created = creationTime.exec(bytes.toString("latin1", found, Math.min(end, found + 80)))?.[1]
  return created !== undefined && created > second
}

const deletionRequestedMs = (bytes: Buffer, start: number, end: number): number | undefined => {
  const found = bytes.indexOf(key, start)
  if (found < 0 || found >= end) return undefined
  // The two members follow each other in what servers write; a text or annotation of that name is no date there.
  const around = bytes.toString("latin1", Math.max(start, found - 60), Math.min(end, found + 120))
  const requested = Date.parse(deletionTime.exec(around)?.[1] ?? "")
  if (Number.isNaN(requested)) return undefined
  return requested - Number(gracePeriod.exec(around)?.[1] ?? 0) * 1000
}

const key = Buffer.from('"deletionTimestamp"')
const creationKey = Buffer.from('"creationTimestamp"')

const later = (one: number | undefined, other: number | undefined): number | undefined => {
  if (other === undefined || Number.isNaN(other)) return one
  return one === undefined || other > one ? other : one
}
