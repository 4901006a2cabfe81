/**
 * Runs generated programs on objects: the `remove` commands of the transform language with equality tests, by the semantics in which SimKube runs
 * them (docs/facts/simkube.md): conditions from left to right, a variable is the set of matches that satisfy its test, a target is removed below each.
 */
import type { Body } from "./traces.ts"

type Path = ReadonlyArray<string | number>
type Variables = ReadonlyMap<string, ReadonlyArray<Path>>

const tokensOf = (path: string): ReadonlyArray<string> =>
  [...path.matchAll(/\$\w+|"([^"]*)"|\[(\*|\d+)\]|[\w-]+/g)].map(([whole, quoted, index]) =>
    quoted !== undefined ? quoted : index !== undefined ? `[${index}]` : whole,
  )

const valueAt = (root: unknown, path: Path): unknown =>
  path.reduce<unknown>((value, key) => (value as Record<string | number, unknown> | undefined)?.[key], root)

/** The concrete paths that a path matches in an object. */
const matches = (root: unknown, text: string, variables: Variables): ReadonlyArray<Path> => {
  const [head = "", ...rest] = tokensOf(text)
  let found: ReadonlyArray<Path> = head.startsWith("$") ? (variables.get(head) ?? []) : [[head]]
  for (const token of rest)
    found = found.flatMap((path): ReadonlyArray<Path> => {
      if (token !== "[*]") return [[...path, token]]
      const list = valueAt(root, path)
      return Array.isArray(list) ? list.map((_, index) => [...path, index]) : []
    })
  return found.filter((path) => valueAt(root, path) !== undefined)
}

const isMet = (root: unknown, test: string, variables: Variables): boolean => {
  const [left = "", right = ""] = test.split(" == ")
  const wanted = right.startsWith('"')
    ? [right.slice(1, -1)]
    : matches(root, right, variables).map((path) => valueAt(root, path))
  return matches(root, left, variables).some((path) => wanted.includes(valueAt(root, path)))
}

const removed = (root: unknown, path: Path): void => {
  const holder = valueAt(root, path.slice(0, -1))
  const last = path.at(-1) ?? ""
  if (Array.isArray(holder)) holder.splice(Number(last), 1)
  else delete (holder as Record<string, unknown>)[last]
}

/** The object after one command. */
const afterCommand = (body: Body, command: string): Body => {
  const root: unknown = structuredClone(body)
  const inner = command.slice("remove(".length, -");".length)
  const comma = inner.lastIndexOf(", ")
  const target = inner.slice(comma < 0 ? 0 : comma + 2)
  const variables = new Map<string, ReadonlyArray<Path>>()
  for (const condition of comma < 0 ? [] : inner.slice(0, comma).split(" && ")) {
    const [, variable, path, test] = /^(\$\w+) := (.*) \| (.*)$/.exec(condition) ?? []
    if (variable === undefined || path === undefined || test === undefined) {
      if (!isMet(root, condition, variables)) return body
      continue
    }
    const bound = matches(root, path, variables).filter((each) =>
      isMet(root, test, new Map([...variables, [variable, [each]]])),
    )
    if (bound.length === 0) return body
    variables.set(variable, bound)
  }
  // From the last one on, because removing an element moves those after it.
  for (const path of matches(root, target, variables).toReversed()) removed(root, path)
  return root as Body
}

/** The object after all commands of a program; comments and empty lines do nothing. */
export const afterProgram = (body: Body, lines: ReadonlyArray<string>): Body =>
  lines.filter((line) => line.startsWith("remove(")).reduce(afterCommand, body)
