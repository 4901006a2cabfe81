/** Filters that ask for too much are rejected before they cost anything. */
import { expect, test } from "vitest"
import {
  filterLimitFault,
  maximumEntries,
  maximumEntryLength,
  maximumPatterns,
  maximumSelectors,
} from "../../../src/recorder/export/limits.ts"
import { readExportRequest } from "../../../src/recorder/export/request.ts"

const many = <Entry>(length: number, entry: (index: number) => Entry): Entry[] =>
  Array.from({ length }, (_, index) => entry(index))

const bodyOf = (filters: object) => ({
  start_ts: 0,
  end_ts: 1,
  export_path: "x.ndjson",
  filters: { excluded_namespaces: [], excluded_labels: [], ...filters },
})

const refusal = (filters: object): string => {
  const reading = readExportRequest(JSON.stringify(bodyOf(filters)))
  return reading.tag === "refused" ? `${reading.status}: ${reading.message}` : reading.tag
}

test("the largest filters that are allowed are read", () => {
  const half = maximumEntries / 2
  const filters = {
    names: many(half - maximumPatterns, (index) => `web-${index}`),
    kinds: many(half, () => "v1.Pod"),
    excluded_names: many(maximumPatterns, (index) => `*-${index}`),
    labels: many(maximumSelectors, (index) => `app=web-${index}`),
  }
  expect(refusal(filters)).toBe("request")
  expect(refusal({ names: ["x".repeat(maximumEntryLength)] })).toBe("request")
})

test.each([
  [
    { names: many(6000, String), kinds: many(4001, String) },
    "400: filters: 10001 entries in all lists together; at most 10000 are allowed",
  ],
  [
    { names: many(300, () => "a*"), excluded_namespaces: many(201, () => "?") },
    "400: filters: 501 entries with wildcards in all lists together; at most 500 are allowed",
  ],
  [
    { excluded_kinds: ["v1.Pod", "x".repeat(513)] },
    "400: filters.excluded_kinds[1]: 513 characters; at most 512 are allowed",
  ],
  [
    { labels: many(60, () => "a=b"), excluded_labels: many(41, () => "a=b") },
    "400: filters: 101 label selectors; at most 100 are allowed",
  ],
  [
    { labels: [{ matchExpressions: many(1000, () => ({ key: "a", operator: "In", values: ["b"] })) }] },
    "400: filters: label selectors of 43029 characters in JSON; at most 32768 are allowed",
  ],
])("filters beyond a limit are rejected with the limit: %#", (filters, message) => {
  expect(refusal(filters)).toBe(message)
})

test.each([
  null,
  7,
  [],
  {},
  { filters: null },
  { filters: [] },
  { filters: { names: 7, labels: { a: 1 } } },
  { filters: { names: [7, null] } },
])("what is no filter at all has other faults: %j", (body) => {
  expect(filterLimitFault(body)).toBeUndefined()
})

test("the faults of a large body are not all named, which would take seconds", () => {
  const unknown = (count: number) => Object.fromEntries(many(count, (index) => [`field-${index}`, 1]))
  expect(refusal(unknown(5000))).toBe("400: filters: more than 100 fields")
  const reading = readExportRequest(JSON.stringify({ ...bodyOf({}), ...unknown(5000) }))
  expect(reading).toMatchObject({ message: "not an export request: it has more than 100 fields" })
  const long = { ...unknown(90), names: many(3000, String) }
  expect(refusal(long)).toMatch(/^400: not an export request: [^;]*\["field-0"\]$/)
})
