/**
 * The JSONPath of `additionalPrinterColumns`, as far as client-go and the API server's validation allow it: members
 * (`.spec.a`, `['a.b']`, `.a\.b`), indices from either end, slices, wildcards, recursive descent and filters
 * (`[?(@.type=="Ready")]`). An unreadable path finds nothing.
 */

import { isRecord } from "../../is-record.ts"

/** The first value that the path finds; `undefined` for none, or when the first is null. */
export const findFirst = (path: string, root: unknown): unknown => {
  let found: ReadonlyArray<unknown> = [root]
  for (const step of stepsOf(path)) found = found.flatMap((value) => step(value)).slice(0, mostValues)
  return found[0] ?? undefined
}

/** The number of values that are followed: a path made only of `..` would find more of them with every step. */
const mostValues = 10_000

/** Returns all values one step further. */
type Step = (value: unknown) => ReadonlyArray<unknown>

const parsed = new Map<string, ReadonlyArray<Step>>()

/** The number of paths that are kept parsed: a process sees few kinds, even though they are added and removed. */
const keptPaths = 1000

const stepsOf = (path: string): ReadonlyArray<Step> => {
  const known = parsed.get(path)
  if (known !== undefined) return known
  const steps = parse(path) ?? [() => []]
  if (parsed.size >= keptPaths) parsed.clear()
  parsed.set(path, steps)
  return steps
}

const token =
  /^(?:(?<descent>\.\.)|\.?(?<wildcard>\*|\[\*\])|\.?\[\?\((?<filter>(?:[^"'()]|"[^"]*"|'[^']*')*)\)\]|\.?\[(?<index>-?\d+)\]|\.?\[(?<slice>-?\d*:-?\d*(?::\d+)?)\]|\.?\[(?<quoted>'[^']*'|"[^"]*")\]|\.?(?<name>(?:\\.|[^.[\]\\*"'@?(){}\s])+))/

const parse = (path: string): ReadonlyArray<Step> | undefined => {
  const steps: Step[] = []
  let rest = path.trim()
  while (rest !== "" && rest !== ".") {
    const match = token.exec(rest)
    if (match === null) return undefined
    const step = stepOf(match.groups ?? {})
    if (step === undefined) return undefined
    steps.push(step)
    rest = rest.slice(match[0].length)
  }
  return steps
}

const stepOf = ({ descent, wildcard, filter, index, slice, quoted, name }: Record<string, string | undefined>) => {
  if (descent !== undefined) return descendants
  if (wildcard !== undefined) return valuesOf
  if (filter !== undefined) return filterStep(filter)
  if (index !== undefined) return indexStep(Number(index))
  if (slice !== undefined) return sliceStep(slice)
  if (quoted !== undefined) return memberStep(quoted.slice(1, -1))
  return memberStep((name ?? "").replace(/\\(.)/g, "$1"))
}

const memberStep =
  (name: string): Step =>
  (value) =>
    isRecord(value) && Object.hasOwn(value, name) ? [value[name]] : []

const valuesOf: Step = (value) => (value !== null && typeof value === "object" ? Object.values(value) : [])

const descendants: Step = (value) => [value, ...valuesOf(value).flatMap(descendants)]

const indexStep =
  (index: number): Step =>
  (value) => {
    const list = Array.isArray(value) ? value : []
    const found: unknown = list.at(index)
    return index < list.length && found !== undefined ? [found] : []
  }

const sliceStep = (text: string): Step => {
  const [from = "", to = "", step = ""] = text.split(":")
  const stride = Math.max(1, Number(step))
  return (value) =>
    (Array.isArray(value) ? value.slice(Number(from), to === "" ? undefined : Number(to)) : []).filter(
      (_, position) => position % stride === 0,
    )
}

const comparison = /^(?<left>.+?)\s*(?<operator>==|!=|<=|>=|<|>)\s*(?<right>.+)$/

/** Items of a list for which `@.path op literal` holds, or for which `@.path` exists. */
const filterStep = (text: string): Step | undefined => {
  const { left = text, operator, right = "" } = comparison.exec(text.trim())?.groups ?? {}
  if (!left.trim().startsWith("@")) return undefined
  const path = parse(left.trim().slice(1))
  if (path === undefined) return undefined
  const wanted = literal(right)
  return (value) =>
    (Array.isArray(value) ? value : []).filter((item: unknown) => {
      let found: ReadonlyArray<unknown> = [item]
      for (const step of path) found = found.flatMap((candidate) => step(candidate))
      if (found.length === 0) return false
      return operator === undefined || compare(found[0], operator, wanted)
    })
}

const literal = (text: string): string | number | boolean => {
  const quoted = /^(?:"(.*)"|'(.*)')$/.exec(text)
  if (quoted !== null) return quoted[1] ?? quoted[2] ?? ""
  return text === "true" ? true : text === "false" ? false : Number(text)
}

const compare = (value: unknown, operator: string, wanted: string | number | boolean): boolean => {
  if (typeof value !== typeof wanted) return operator === "!="
  const [left, right] = [value as string, wanted as string]
  switch (operator) {
    case "==":
      return left === right
    case "!=":
      return left !== right
    case "<":
      return left < right
    case "<=":
      return left <= right
    case ">":
      return left > right
    default:
      return left >= right
  }
}
