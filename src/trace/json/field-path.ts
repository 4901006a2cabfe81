/**
 * Paths to fields as people write them: `spec.replicas`, `metadata.labels["app.kubernetes.io/name"]`, `spec.containers[0].image`,
 * `spec.containers[*].image`, `spec.containers[name=web].image`, or a JSON pointer (`/spec/replicas`). Total: a text that is no path comes with a reason.
 */
import { formatExactJson, isJsonList, isJsonObject, type JsonValue } from "./exact-json.ts"

/** One step: the member of an object, the item of a list, all items, or those items whose member has a value. */
type FieldStep =
  | { readonly tag: "member"; readonly name: string }
  | { readonly tag: "item"; readonly index: number }
  | { readonly tag: "items" }
  | { readonly tag: "named"; readonly member: string; readonly value: string }

export type FieldPath = ReadonlyArray<FieldStep>

/** Why a text is no path, on one line. */
interface FieldPathProblem {
  readonly problem: string
}

/** Longer ones are mistakes. */
const longestPath = 1024

const step =
  /(?:^|\.)([^.[\]"'\s]+)|\[(\d{1,9})\]|\[\*\]|\["((?:[^"\\]|\\.)*)"\]|\['([^']*)'\]|\[([A-Za-z][\w-]*)=([^\]]*)\]/y

/** Parses a path; it has at least one step. */
export const parseFieldPath = (text: string): FieldPath | FieldPathProblem => {
  if (text.length > longestPath) return { problem: `it is longer than ${longestPath} characters` }
  if (text.startsWith("/")) return fromPointer(text)
  const written = text.startsWith(".") ? text.slice(1) : text
  const steps: FieldStep[] = []
  for (let at = 0; at < written.length; at = step.lastIndex) {
    step.lastIndex = at
    const match = step.exec(written)
    if (match === null)
      return { problem: `${JSON.stringify(written.slice(at, at + 40))} does not continue a path such as spec.replicas` }
    steps.push(stepOf(match))
  }
  return steps.length === 0 ? { problem: "it is empty" } : steps
}

const stepOf = ([whole, member, index, quoted, single, key, value]: RegExpExecArray): FieldStep => {
  if (member !== undefined) return member === "*" ? { tag: "items" } : { tag: "member", name: member }
  if (index !== undefined) return { tag: "item", index: Number(index) }
  if (quoted !== undefined) return { tag: "member", name: quoted.replaceAll(/\\(.)/gs, "$1") }
  if (single !== undefined) return { tag: "member", name: single }
  if (key !== undefined) return { tag: "named", member: key, value: value ?? "" }
  return whole === "[*]" ? { tag: "items" } : { tag: "member", name: whole }
}

const fromPointer = (text: string): FieldPath =>
  text
    .slice(1)
    .split("/")
    .map((token) => {
      if (token === "*") return { tag: "items" }
      if (/^(?:0|[1-9]\d{0,8})$/.test(token)) return { tag: "item", index: Number(token) }
      return { tag: "member", name: token.replaceAll("~1", "/").replaceAll("~0", "~") }
    })

/** The values at a path, in order; none if the object has no such field. Items are also looked for among members: `/data/0`. */
export const valuesAt = (value: JsonValue | undefined, path: FieldPath, depth = 0): ReadonlyArray<JsonValue> => {
  if (value === undefined) return []
  const next = path[depth]
  if (next === undefined) return [value]
  const deeper = (inner: JsonValue | undefined): ReadonlyArray<JsonValue> => valuesAt(inner, path, depth + 1)
  if (isJsonList(value)) {
    switch (next.tag) {
      case "items":
        return value.flatMap(deeper)
      case "item":
        return deeper(value[next.index])
      case "named":
        return value.flatMap((item) =>
          isJsonObject(item) && Object.hasOwn(item, next.member) && String(item[next.member]) === next.value
            ? deeper(item)
            : [],
        )
      case "member":
        return []
    }
  }
  if (!isJsonObject(value)) return []
  if (next.tag === "items") return Object.keys(value).flatMap((key) => deeper(value[key]))
  const name = next.tag === "member" ? next.name : next.tag === "item" ? String(next.index) : undefined
  return name !== undefined && Object.hasOwn(value, name) ? deeper(value[name]) : []
}

/** Whether a path as {@link parseFieldPath} returns it. */
export const isFieldPath = (parsed: FieldPath | FieldPathProblem): parsed is FieldPath => Array.isArray(parsed)

/** The values at a path as one text, equal for equal values; `undefined` if there are none. */
export const fieldTextOf = (value: JsonValue | undefined, path: FieldPath): string | undefined => {
  const values = valuesAt(value, path)
  return values.length === 0 ? undefined : formatExactJson(values)
}
