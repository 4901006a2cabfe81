/**
 * What is different between two JSON values, as a list of fields that people can read: `spec.replicas: 2 → 3`.
 *
 * Items of lists are compared by their key where all of them have one (`name` of containers and variables, `type` of conditions, …) and no two the same:
 * then an inserted item is one difference and not a change of everything behind it. Otherwise they are compared by position.
 */
import { IntegralFloat, isJsonObject, type JsonObject, type JsonValue } from "./exact-json.ts"

/** One field that differs. */
export interface FieldDifference {
  /** As {@link parseFieldPath} reads it: `spec.template.spec.containers[name=web].image`. Empty: the whole value. */
  readonly path: string
  /** Absent: the field was not there. */
  readonly before?: JsonValue
  /** Absent: it is gone. */
  readonly after?: JsonValue
}

/** What to compare. */
interface DifferenceOptions {
  /** Whether to leave out the field with this path, and all below it. Default: nothing is. */
  readonly isLeftOut?: (path: string) => boolean
  /** Differences after which no more are looked for. Default: none. */
  readonly maximum?: number
}

/** By which member the items of a list are told apart, in this order: those by which the API server merges its own lists. */
const keys = ["name", "type", "mountPath", "containerPort", "port", "key", "uid", "ip", "devicePath", "topologyKey"]

/** In the order of the fields of `before`, new ones last. */
export const differencesBetween = (
  before: JsonValue | undefined,
  after: JsonValue | undefined,
  { isLeftOut = () => false, maximum = Number.POSITIVE_INFINITY }: DifferenceOptions = {},
): ReadonlyArray<FieldDifference> => {
  const found: FieldDifference[] = []
  const compare = (path: string, one: JsonValue | undefined, other: JsonValue | undefined): void => {
    if (found.length >= maximum || one === other || isLeftOut(path)) return
    if (isJsonObject(one) && isJsonObject(other)) return compareMembers(path, one, other)
    if (Array.isArray(one) && Array.isArray(other)) return compareItems(path, one, other)
    if (isSameScalar(one, other)) return
    found.push({ path, ...(one !== undefined && { before: one }), ...(other !== undefined && { after: other }) })
  }
  const compareMembers = (path: string, one: JsonObject, other: JsonObject): void => {
    for (const key of Object.keys(one))
      compare(memberPath(path, key), one[key], Object.hasOwn(other, key) ? other[key] : undefined)
    for (const key of Object.keys(other))
      if (!Object.hasOwn(one, key)) compare(memberPath(path, key), undefined, other[key])
  }
  const compareItems = (path: string, one: ReadonlyArray<JsonValue>, other: ReadonlyArray<JsonValue>): void => {
    const key = keyOf(one, other)
    if (key === undefined) {
      for (let index = 0; index < Math.max(one.length, other.length); index++)
        compare(`${path}[${index}]`, one[index], other[index])
      return
    }
    const later = new Map(other.map((item) => [keyIn(item, key), item]))
    for (const item of one) compare(`${path}[${key}=${keyIn(item, key)}]`, item, later.get(keyIn(item, key)))
    const earlier = new Set(one.map((item) => keyIn(item, key)))
    for (const [name, item] of later) if (!earlier.has(name)) compare(`${path}[${key}=${name}]`, undefined, item)
  }
  compare("", before, after)
  return found
}

/** Whether both are the same, and neither an object nor a list. Numbers that the parser keeps apart, such as 1 and 1.0, are the same to people. */
export const isSameScalar = (one: JsonValue | undefined, other: JsonValue | undefined): boolean => {
  const [left, right] = [one, other].map((each) => (each instanceof IntegralFloat ? each.value : each))
  return left === right || (typeof left === "number" && Object.is(left, right))
}

/** A name that needs no quotes in a path. A slash at its beginning would make the path a JSON pointer. */
const plainName = /^[^/.[\]"'\s*][^.[\]"'\s*]*$/

const memberPath = (path: string, key: string): string => {
  if (!plainName.test(key)) return `${path}[${JSON.stringify(key)}]`
  return path === "" ? key : `${path}.${key}`
}

const keyOf = (one: ReadonlyArray<JsonValue>, other: ReadonlyArray<JsonValue>): string | undefined =>
  one.length === 0 && other.length === 0 ? undefined : keys.find((key) => isKey(one, key) && isKey(other, key))

/** Whether all items are told apart by the member. A path cannot contain every text. */
const isKey = (items: ReadonlyArray<JsonValue>, key: string): boolean => {
  const seen = new Set<string>()
  for (const item of items) {
    const name = isJsonObject(item) && Object.hasOwn(item, key) ? item[key] : undefined
    if ((typeof name !== "string" && typeof name !== "number") || /[\]\s]/.test(String(name))) return false
    seen.add(String(name))
  }
  return seen.size === items.length
}

const keyIn = (item: JsonValue | undefined, key: string): string => String((item as JsonObject)[key])
