/** What has changed between two states of an object, field by field, for people and for comparisons of two runs. */
import { isRecord } from "../../is-record.ts"
import { isSame } from "../../sandbox/rules/fields.ts"

/** A field that has changed. Absent members mean an absent field. */
export interface Difference {
  /** JSON pointer: `/spec/replicas`. */
  readonly path: string
  readonly before?: unknown
  readonly after?: unknown
}

/** What the server keeps for itself, and what changes with every write. */
const ofServer = new Set(["/metadata/resourceVersion", "/metadata/managedFields", "/metadata/generation"])

/** In the order of the members. Lists are compared as a whole, unless both have the same length. */
export const differencesOf = (before: unknown, after: unknown, path = ""): ReadonlyArray<Difference> => {
  if (ofServer.has(path) || isSame(before, after)) return []
  if (isRecord(before) && isRecord(after)) {
    const names = new Set([...Object.keys(before), ...Object.keys(after)])
    return [...names].flatMap((name) => differencesOf(before[name], after[name], `${path}/${escaped(name)}`))
  }
  if (Array.isArray(before) && Array.isArray(after) && before.length === after.length)
    return before.flatMap((item, index) => differencesOf(item, after[index], `${path}/${index}`))
  return [{ path, ...(before !== undefined && { before }), ...(after !== undefined && { after }) }]
}

const escaped = (name: string): string => name.replaceAll("~", "~0").replaceAll("/", "~1")
