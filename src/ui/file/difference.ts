/**
 * What differs between two states of an object, for people. The same as the recorder says (src/trace/json/difference.ts, src/actors/reader/answer-items.ts), of
 * JSON as browsers parse it.
 */

import type { FieldChange } from "../source/source.ts"

/** Fields that differ in one step, beyond which there are more. */
const MOST_DIFFERENCES = 200

/** What every write changes, and what the managers say in other words. */
const bookkeeping: ReadonlySet<string> = new Set([
  "metadata.resourceVersion",
  "metadata.generation",
  "metadata.managedFields",
  "metadata.uid",
])

/** Members by which items of lists are told apart. */
const keys = ["name", "type", "mountPath", "containerPort", "port", "key", "uid", "ip", "devicePath", "topologyKey"]

type Members = Readonly<Record<string, unknown>>

/** Whether it is a JSON object. */
export const isMembers = (value: unknown): value is Members =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** The fields that differ, in the order of `before`, new ones last. */
export const differencesBetween = (
  before: unknown,
  after: unknown,
): { readonly differences: ReadonlyArray<FieldChange>; readonly hasMoreDifferences: boolean } => {
  const found: FieldChange[] = []
  compare("", before, after, found)
  return { differences: found.slice(0, MOST_DIFFERENCES), hasMoreDifferences: found.length > MOST_DIFFERENCES }
}

const compare = (path: string, one: unknown, other: unknown, found: FieldChange[]): void => {
  if (found.length > MOST_DIFFERENCES || Object.is(one, other) || bookkeeping.has(path)) return
  if (isMembers(one) && isMembers(other)) {
    for (const key of Object.keys(one))
      compare(memberPath(path, key), one[key], Object.hasOwn(other, key) ? other[key] : undefined, found)
    for (const key of Object.keys(other))
      if (!Object.hasOwn(one, key)) compare(memberPath(path, key), undefined, other[key], found)
  } else if (Array.isArray(one) && Array.isArray(other)) compareItems(path, one, other, found)
  else found.push({ path, ...(one !== undefined && { before: one }), ...(other !== undefined && { after: other }) })
}

const compareItems = (
  path: string,
  one: ReadonlyArray<unknown>,
  other: ReadonlyArray<unknown>,
  found: FieldChange[],
): void => {
  const key = keys.find((each) => isKey(one, each) && isKey(other, each))
  if (key === undefined || (one.length === 0 && other.length === 0)) {
    for (let index = 0; index < Math.max(one.length, other.length); index++)
      compare(`${path}[${index}]`, one[index], other[index], found)
    return
  }
  const later = new Map(other.map((item) => [keyIn(item, key), item]))
  for (const item of one) compare(`${path}[${key}=${keyIn(item, key)}]`, item, later.get(keyIn(item, key)), found)
  const earlier = new Set(one.map((item) => keyIn(item, key)))
  for (const [name, item] of later) if (!earlier.has(name)) compare(`${path}[${key}=${name}]`, undefined, item, found)
}

/** A name that needs no quotes in a path. */
const plainName = /^[^/.[\]"'\s*][^.[\]"'\s*]*$/

const memberPath = (path: string, key: string): string => {
  if (!plainName.test(key)) return `${path}[${JSON.stringify(key)}]`
  return path === "" ? key : `${path}.${key}`
}

/** Whether all items are told apart by the member. A path cannot contain every text. */
const isKey = (items: ReadonlyArray<unknown>, key: string): boolean => {
  const seen = new Set<string>()
  for (const item of items) {
    const name = isMembers(item) && Object.hasOwn(item, key) ? item[key] : undefined
    if ((typeof name !== "string" && typeof name !== "number") || /[\]\s]/.test(String(name))) return false
    seen.add(String(name))
  }
  return seen.size === items.length
}

const keyIn = (item: unknown, key: string): string => (isMembers(item) ? String(item[key]) : "")
