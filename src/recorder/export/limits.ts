/** Limits of an export: how long and how large it may be, and how much its filters may ask for. */
import { isRecord } from "../../is-record.ts"

export interface ExportLimits {
  /** ms from the request to the last byte. */
  readonly milliseconds: number
  /** bytes of the trace. */
  readonly bytes: number
}

/**
 * An hour: a place held for longer is denied to everyone else. No size limit: the client is responsible for its own disk, and operators who
 * pay for egress can set a limit.
 */
export const defaultExportLimits: ExportLimits = { milliseconds: 3_600_000, bytes: Number.POSITIVE_INFINITY }

/** The recorder's limits, or the request's where those are smaller. */
export const withinLimits = (
  own: ExportLimits,
  request: { readonly maximum_seconds?: number; readonly maximum_bytes?: number },
): ExportLimits => ({
  milliseconds: Math.min(own.milliseconds, (request.maximum_seconds ?? Number.POSITIVE_INFINITY) * 1000),
  bytes: Math.min(own.bytes, request.maximum_bytes ?? Number.POSITIVE_INFINITY),
})

// How much a request may ask to be compared with every name and object: the limits of its filters.
//
// Without them one request of a mebibyte took whole cores: 60,000 patterns over 137,716 events held up a recorder for 9 s, four such requests
// at once for 45 s. The limits are checked before anything is decoded, because naming each of 400,000 faulty entries alone took 1.8 s of the main
// thread. They are far above what people write.

/** Entries of all lists together. Exact names cost nothing per object, however many there are. */
export const maximumEntries = 10_000

/** Entries with wildcards of all lists together: a name is compared with each of them, in up to 0.5 µs. */
export const maximumPatterns = 500

/** Characters of an entry: `namespace/name` has at most 317, and a kind fewer. */
export const maximumEntryLength = 512

/** Label selectors of both lists together. */
export const maximumSelectors = 100

/** Characters of them in JSON: an object is compared with each requirement in them. */
const maximumSelectorsLength = 32_768

const patternLists = [
  "excluded_namespaces",
  "namespaces",
  "kinds",
  "excluded_kinds",
  "names",
  "excluded_names",
] as const
const selectorLists = ["excluded_labels", "labels"] as const

/** Fields of a request, and of its filters. More than an export request can have, and few enough to name the unknown ones quickly. */
const maximumFields = 100

/** Which limit a body exceeds; `undefined` if none, also for bodies that are invalid for other reasons. Takes some ms for the largest body. */
export const filterLimitFault = (body: unknown): string | undefined => {
  if (!isRecord(body)) return undefined
  if (hasMore(body, maximumFields)) return `not an export request: it has more than ${maximumFields} fields`
  const { filters } = body
  if (!isRecord(filters)) return undefined
  if (hasMore(filters, maximumFields)) return `filters: more than ${maximumFields} fields`
  const entries = patternLists.flatMap((list) => (Array.isArray(filters[list]) ? [{ list, given: filters[list] }] : []))
  const total = entries.reduce((sum, { given }) => sum + given.length, 0)
  if (total > maximumEntries)
    return `filters: ${total} entries in all lists together; at most ${maximumEntries} are allowed`
  let patterns = 0
  for (const { list, given } of entries)
    for (const [index, entry] of given.entries()) {
      if (typeof entry !== "string") continue
      if (entry.length > maximumEntryLength)
        return `filters.${list}[${index}]: ${entry.length} characters; at most ${maximumEntryLength} are allowed`
      if (/[*?]/.test(entry)) patterns++
    }
  if (patterns > maximumPatterns)
    return `filters: ${patterns} entries with wildcards in all lists together; at most ${maximumPatterns} are allowed`
  const selectors = selectorLists.flatMap((list) => (Array.isArray(filters[list]) ? [filters[list]] : []))
  const count = selectors.reduce((sum, given) => sum + given.length, 0)
  if (count > maximumSelectors) return `filters: ${count} label selectors; at most ${maximumSelectors} are allowed`
  const length = JSON.stringify(selectors).length
  return length > maximumSelectorsLength
    ? `filters: label selectors of ${length} characters in JSON; at most ${maximumSelectorsLength} are allowed`
    : undefined
}

/** Stops counting at the maximum, and makes no list of all keys. */
const hasMore = (object: Record<string, unknown>, maximum: number): boolean => {
  let count = 0
  for (const _ in object) if (++count > maximum) return true
  return false
}
