/**
 * Whether a state of the target contains what a replay applied. What the target's server, admission and controllers add is no difference:
 * only fields that were applied are compared.
 *
 * | applied                    | equal if observed                                                                     |
 * | -------------------------- | ------------------------------------------------------------------------------------- |
 * | object                     | has equal values for all its members; other members do not matter                     |
 * | list of objects            | has an equal element for each, in this order; other elements may be between them      |
 * | list of anything else      | is the same list                                                                      |
 * | null, "", 0, false, {}, [] | is the same or absent: servers leave out empty values                                 |
 * | number                     | has the same value: 1.0 is 1                                                          |
 *
 * A member or element that the state applied before had and this one lacks must be gone, or have another value.
 */
import { IntegralFloat, isJsonObject, type JsonObject, type JsonValue } from "../../trace/index.ts"
import type { FieldDifference } from "../report/fidelity-report.ts"

/** Differences that are reported of one state. */
const mostDifferences = 5
/** Characters of a value that are shown. */
const mostCharacters = 80

/**
 * The first differences, at most {@link mostDifferences}. `before`: what was applied to the object before; `isSecret`
 * leaves out the values.
 */
export const appliedDifferences = (
  applied: JsonValue,
  observed: JsonValue,
  before: JsonValue | undefined,
  isSecret = false,
): ReadonlyArray<FieldDifference> => {
  const found: FieldDifference[] = []
  const add = (path: string, wanted: JsonValue | undefined, got: JsonValue | undefined): boolean => {
    const shown = (value: JsonValue | undefined): string | undefined =>
      value === undefined ? undefined : isSecret ? "…" : shortText(value)
    found.push({ path, applied: shown(wanted), observed: shown(got) })
    return found.length >= mostDifferences
  }
  if (!compare(applied, observed, "", add) && before !== undefined) compareRemoved(before, applied, observed, "", add)
  return found
}

/** Returns whether to stop. */
type Add = (path: string, applied: JsonValue | undefined, observed: JsonValue | undefined) => boolean

const compare = (applied: JsonValue, observed: JsonValue | undefined, path: string, add: Add): boolean => {
  if (isJsonObject(applied)) {
    if (!isJsonObject(observed))
      return isEmpty(applied) && observed === undefined ? false : add(path, applied, observed)
    return Object.entries(applied).some(([key, value]) =>
      compare(value, ownOf(observed, key), memberPath(path, key), add),
    )
  }
  if (isList(applied) && isList(observed) && applied.some(isJsonObject))
    return compareElements(applied, observed, path, add)
  return isSame(applied, observed) || (observed === undefined && isEmpty(applied))
    ? false
    : add(path, applied, observed)
}

const compareElements = (applied: List, observed: List, path: string, add: Add): boolean => {
  let next = 0
  return applied.some((element, index) => {
    const at = observed.findIndex((candidate, position) => position >= next && isContained(element, candidate))
    if (at !== -1) {
      next = at + 1
      return false
    }
    // The element of that name, or at that place, says best what is different.
    const name = nameOf(element)
    const named = name === undefined ? observed[index] : observed.find((candidate) => nameOf(candidate) === name)
    return compare(element, named, `${path}[${name ?? index}]`, add)
  })
}

/** What was applied before and is not applied any more has to be gone. */
const compareRemoved = (
  before: JsonValue,
  applied: JsonValue,
  observed: JsonValue | undefined,
  path: string,
  add: Add,
): boolean => {
  if (isJsonObject(before) && isJsonObject(applied) && isJsonObject(observed))
    return Object.entries(before).some(([key, was]) => {
      const [is, got] = [ownOf(applied, key), ownOf(observed, key)]
      const at = memberPath(path, key)
      if (is !== undefined) return compareRemoved(was, is, got, at, add)
      return got !== undefined && !isEmpty(was) && isSame(was, got) ? add(at, undefined, got) : false
    })
  if (isList(before) && isList(applied) && isList(observed) && before.some(isJsonObject))
    return before.some((element) => {
      const name = nameOf(element)
      if (name === undefined || applied.some((other) => nameOf(other) === name)) return false
      const left = observed.find((candidate) => nameOf(candidate) === name)
      return left !== undefined && isContained(element, left) ? add(`${path}[${name}]`, undefined, left) : false
    })
  return false
}

const isContained = (applied: JsonValue, observed: JsonValue): boolean => !compare(applied, observed, "", () => true)

type List = ReadonlyArray<JsonValue>
const isList = (value: JsonValue | undefined): value is List => Array.isArray(value)

/** What tells elements of most of Kubernetes' lists apart. */
const nameOf = (element: JsonValue): string | undefined => {
  if (!isJsonObject(element)) return undefined
  for (const key of ["name", "uid", "key", "containerPort", "port", "type", "mountPath", "ip"]) {
    const value = ownOf(element, key)
    if (typeof value === "string" || typeof value === "number") return String(value)
  }
  return undefined
}

const isSame = (applied: JsonValue, observed: JsonValue | undefined): boolean => {
  if (isList(applied))
    return (
      isList(observed) &&
      applied.length === observed.length &&
      applied.every((element, index) => isSame(element, observed[index]))
    )
  if (isJsonObject(applied))
    return (
      isJsonObject(observed) && Object.entries(applied).every(([key, value]) => isSame(value, ownOf(observed, key)))
    )
  return plain(applied) === plain(observed)
}

const plain = (value: JsonValue | undefined): unknown => (value instanceof IntegralFloat ? value.value : value)

const isEmpty = (value: JsonValue): boolean => {
  if (isList(value)) return value.length === 0
  if (isJsonObject(value)) return Object.values(value).every(isEmpty)
  return value === null || value === "" || value === false || plain(value) === 0
}

const ownOf = (object: JsonObject, key: string): JsonValue | undefined =>
  Object.hasOwn(object, key) ? object[key] : undefined

const memberPath = (path: string, key: string): string =>
  /^[\w-]+$/.test(key) ? (path === "" ? key : `${path}.${key}`) : `${path}[${JSON.stringify(key)}]`

const shortText = (value: JsonValue): string => {
  const text = JSON.stringify(value, (_, each) => (typeof each === "bigint" ? String(each) : plain(each as JsonValue)))
  return text.length > mostCharacters ? `${text.slice(0, mostCharacters - 1)}…` : text
}
