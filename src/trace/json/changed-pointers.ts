/**
 * Where two JSON values differ, as JSON pointers (RFC 6901): `/spec/replicas`, `/metadata/labels/app.kubernetes.io~1name`.
 *
 * For programs: each pointer follows from the values alone, and items of lists are compared by their position. For people there is
 * difference.ts, which finds an inserted item.
 */
import { isSameScalar } from "./difference.ts"
import { isJsonObject, type JsonValue } from "./exact-json.ts"

/**
 * The pointers of the smallest differing parts: a member or an item that is in one value only is one pointer. In the order of the members of
 * `before`, new ones last. The whole values are compared as objects, so the empty pointer occurs only if one of them is none.
 *
 * @param isLeftOut leaves out the part at a pointer with all below it
 * @throws RangeError if the values are nested too deeply for the engine's stack
 */
export const changedPointers = (
  before: JsonValue,
  after: JsonValue,
  isLeftOut: (pointer: string) => boolean = () => false,
): ReadonlyArray<string> => {
  const found: string[] = []
  const compare = (pointer: string, one: JsonValue | undefined, other: JsonValue | undefined): void => {
    if (isSameScalar(one, other) || isLeftOut(pointer)) return
    if (isJsonObject(one) && isJsonObject(other)) {
      for (const key of Object.keys(one)) compare(below(pointer, key), one[key], ownOf(other, key))
      for (const key of Object.keys(other))
        if (!Object.hasOwn(one, key)) compare(below(pointer, key), undefined, other[key])
    } else if (Array.isArray(one) && Array.isArray(other)) {
      for (let index = 0; index < Math.max(one.length, other.length); index++)
        compare(`${pointer}/${index}`, one[index], other[index])
    } else found.push(pointer)
  }
  compare("", before, after)
  return found
}

const ownOf = (object: Readonly<Record<string, JsonValue>>, key: string): JsonValue | undefined =>
  Object.hasOwn(object, key) ? object[key] : undefined

const below = (pointer: string, key: string): string =>
  `${pointer}/${key.includes("~") || key.includes("/") ? key.replaceAll("~", "~0").replaceAll("/", "~1") : key}`
