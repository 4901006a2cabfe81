/**
 * Brings what history has changed into an object that controllers may have changed too: a merge of three states.
 *
 * - A field that history has changed gets the recorded value, whatever a controller wrote.
 * - Every other field stays as it is, whatever history had there.
 * - Lists whose elements all have a `type`, `name` or `uid` of their own (conditions, containers, owners) are merged element by element; lists
 *   of texts at `/metadata/finalizers` as sets; any other list counts as one field.
 */
import { isRecord } from "../../is-record.ts"
import { isSame } from "../../sandbox/index.ts"

/**
 * The present state with the changes from `before` to `after`. `undefined` means an absent value. The result shares parts with its arguments,
 * none of which is changed.
 */
export const mergeRecorded = (before: unknown, after: unknown, present: unknown, path = ""): unknown => {
  if (isSame(before, after)) return present
  if (isSame(before, present)) return after
  if (isRecord(after) && isRecord(present)) return mergeMembers(isRecord(before) ? before : {}, after, present, path)
  if (Array.isArray(after) && Array.isArray(present)) {
    const earlier = Array.isArray(before) ? before : []
    if (path === "/metadata/finalizers") return mergeSets(earlier, after, present)
    const key = keyOf(earlier, after, present)
    if (key !== undefined) return mergeElements(key, earlier, after, present, path)
  }
  return after
}

type Members = Readonly<Record<string, unknown>>

const mergeMembers = (before: Members, after: Members, present: Members, path: string): Members => {
  const names = new Set([...Object.keys(present), ...Object.keys(after)])
  const merged = [...names].map((name) => {
    const [earlier, later, now] = [before, after, present].map((one) =>
      Object.hasOwn(one, name) ? one[name] : undefined,
    )
    return [name, mergeRecorded(earlier, later, now, `${path}/${name}`)] as const
  })
  return Object.fromEntries(merged.filter(([, value]) => value !== undefined))
}

const mergeSets = (before: ReadonlyArray<unknown>, after: ReadonlyArray<unknown>, present: ReadonlyArray<unknown>) => {
  const removed = new Set(before.filter((one) => !after.includes(one)))
  const added = after.filter((one) => !before.includes(one))
  return [...new Set([...present.filter((one) => !removed.has(one)), ...added])]
}

/** The member that identifies the elements of all three lists. */
const keyOf = (...lists: ReadonlyArray<ReadonlyArray<unknown>>): string | undefined =>
  ["type", "uid", "name"].find((key) =>
    lists.every((list) => {
      const values = list.map((element) => (isRecord(element) ? element[key] : undefined))
      return values.every((value) => typeof value === "string") && new Set(values).size === values.length
    }),
  )

const mergeElements = (
  key: string,
  before: ReadonlyArray<unknown>,
  after: ReadonlyArray<unknown>,
  present: ReadonlyArray<unknown>,
  path: string,
): ReadonlyArray<unknown> => {
  const byKey = (list: ReadonlyArray<unknown>) => new Map(list.map((element) => [(element as Members)[key], element]))
  const [earlier, later, now] = [byKey(before), byKey(after), byKey(present)]
  const keys = [...new Set([...now.keys(), ...later.keys()])]
  return keys
    .map((one) => mergeRecorded(earlier.get(one), later.get(one), now.get(one), `${path}/${String(one)}`))
    .filter((element) => element !== undefined)
}
