/**
 * How large the house is, and how well kept: a table of its rooms, and totals that may not exceed those of scripts/house.json.
 *
 * `npm run house` prints both. `npm run lint` includes `--check`, which fails if a total does. `--write` records the present totals; a commit in which one
 * rises says why.
 */
import { globSync, readFileSync, writeFileSync } from "node:fs"
import { dirname, join, relative } from "node:path"
import { fileURLToPath } from "node:url"
import { parseAst } from "rolldown/parseAst"

/** What counts in one file. */
interface Counted {
  /** Below the project's root. */
  readonly file: string
  readonly code: number
  readonly comment: number
  readonly blank: number
  /** `x as T`, without `as const`. */
  readonly casts: number
  /** Lines of each function, arrow functions and methods included. */
  readonly functionLengths: ReadonlyArray<number>
  /** Positional parameters of each of them. */
  readonly parameterCounts: ReadonlyArray<number>
  readonly abortControllers: number
  readonly promises: number
  /** Modules below the root that it imports: which names, `*` for all. */
  readonly imports: ReadonlyArray<{ readonly file: string; readonly names: ReadonlyArray<string> }>
  readonly exported: ReadonlyArray<string>
}

interface Node {
  readonly type: string
  readonly start: number
  readonly end: number
  readonly [member: string]: unknown
}

const isNode = (value: unknown): value is Node => typeof value === "object" && value !== null && "type" in value

const childrenOf = (node: Node): ReadonlyArray<Node> => Object.values(node).flat().filter(isNode)

const functionTypes = new Set(["FunctionDeclaration", "FunctionExpression", "ArrowFunctionExpression"])

const isCast = ({ type, typeAnnotation }: Node): boolean => {
  if (type !== "TSAsExpression" || !isNode(typeAnnotation)) return false
  const { typeName } = typeAnnotation
  return !(isNode(typeName) && typeName.name === "const")
}

const nameOf = (node: unknown): string => (isNode(node) ? String(node.name ?? node.value) : "")

/** The names that a declaration declares: one, or those of `const a = 1, b = 2`. */
const declaredBy = (declaration: Node): ReadonlyArray<string> =>
  declaration.type === "VariableDeclaration"
    ? childrenOf(declaration).flatMap(({ id }) =>
        isNode(id) && id.type === "ObjectPattern"
          ? childrenOf(id).map((property) => nameOf(property.value))
          : [nameOf(id)],
      )
    : [nameOf(declaration.id)]

const linesOf = (text: string): Pick<Counted, "code" | "comment" | "blank"> => {
  let [code, comment, blank] = [0, 0, 0]
  let isComment = false
  for (const line of text
    .trimEnd()
    .split("\n")
    .map((each) => each.trim())) {
    if (!isComment && line.startsWith("/*")) isComment = true
    if (line === "") blank++
    else if (isComment || line.startsWith("//")) comment++
    else code++
    if (line.includes("*/")) isComment = false
  }
  return { code, comment, blank }
}

/** Counts one file. `file`: below the project's root. @throws SyntaxError if it is no TypeScript */
export const count = (file: string, text: string): Counted => {
  let [casts, abortControllers, promises] = [0, 0, 0]
  const functionLengths: number[] = []
  const parameterCounts: number[] = []
  const imports: Array<{ file: string; names: ReadonlyArray<string> }> = []
  const exported: string[] = []
  const from = (source: unknown, names: ReadonlyArray<string>): void => {
    const path = nameOf(source)
    if (path.startsWith(".")) imports.push({ file: join(dirname(file), path), names })
  }
  const visit = (node: Node): void => {
    if (isCast(node)) casts++
    if (functionTypes.has(node.type) && isNode(node.body)) {
      functionLengths.push(text.slice(node.start, node.end).split("\n").length)
      parameterCounts.push(Array.isArray(node.params) ? node.params.length : 0)
    }
    if (node.type === "NewExpression") {
      const callee = nameOf(node.callee)
      if (callee === "AbortController") abortControllers++
      if (callee === "Promise") promises++
    }
    if (node.type === "ImportExpression") from(node.source, ["*"])
    if (node.type === "TSImportType") from(node.source ?? node.argument, ["*"])
    const specifiers = Array.isArray(node.specifiers) ? node.specifiers.filter(isNode) : []
    if (node.type === "ImportDeclaration")
      from(
        node.source,
        specifiers.map(({ imported, type }) =>
          type === "ImportNamespaceSpecifier" ? "*" : type === "ImportDefaultSpecifier" ? "default" : nameOf(imported),
        ),
      )
    if (node.type === "ExportAllDeclaration") from(node.source, ["*"])
    if (node.type === "ExportNamedDeclaration") {
      if (node.source)
        from(
          node.source,
          specifiers.map(({ local }) => nameOf(local)),
        )
      else exported.push(...specifiers.map((each) => nameOf(each.exported)))
      if (isNode(node.declaration)) exported.push(...declaredBy(node.declaration))
    }
    for (const child of childrenOf(node)) visit(child)
  }
  visit(parseAst(text, { lang: file.endsWith(".d.ts") ? "dts" : "ts", astType: "ts" }, file) as unknown as Node)
  return {
    file,
    ...linesOf(text),
    casts,
    functionLengths,
    parameterCounts,
    abortControllers,
    promises,
    imports,
    exported,
  }
}

const roomOf = (file: string): string => file.split("/").slice(1, -1)[0] ?? "."

/** Exports as `FILE NAME` that no other file imports, of those in `src`. Doors (`index.ts`) only pass on, and count as importers. */
export const unusedExports = (files: ReadonlyArray<Counted>): ReadonlyArray<string> => {
  const used = new Map<string, Set<string>>()
  for (const { imports } of files)
    for (const { file, names } of imports) {
      const found = used.get(file) ?? new Set()
      for (const name of names) found.add(name)
      used.set(file, found)
    }
  return files
    .filter(({ file }) => file.startsWith("src/"))
    .flatMap(({ file, exported }) =>
      exported
        .filter((name) => !(used.get(file)?.has(name) || used.get(file)?.has("*")))
        .map((name) => `${file} ${name}`),
    )
}

/** The folders of each room that import each other in a circle. */
export const circles = (files: ReadonlyArray<Counted>): ReadonlyArray<ReadonlyArray<string>> => {
  const edges = new Map<string, Set<string>>()
  for (const { file, imports } of files)
    for (const { file: other } of imports) {
      const [from, to] = [dirname(file), dirname(other)]
      if (from === to || roomOf(file) !== roomOf(other) || !file.startsWith("src/") || !other.startsWith("src/"))
        continue
      edges.set(from, (edges.get(from) ?? new Set()).add(to))
    }
  const reached = (from: string): ReadonlySet<string> => {
    const seen = new Set<string>()
    const open = [from]
    for (let each = open.pop(); each !== undefined; each = open.pop())
      for (const next of edges.get(each) ?? [])
        if (!seen.has(next)) {
          seen.add(next)
          open.push(next)
        }
    return seen
  }
  const all = new Map([...edges.keys()].map((folder) => [folder, reached(folder)]))
  const found = new Map<string, ReadonlyArray<string>>()
  for (const [folder, from] of all) {
    if (!from.has(folder)) continue
    const circle = [...from].filter((other) => all.get(other)?.has(folder)).toSorted()
    found.set(circle.join(" "), circle)
  }
  return [...found.values()]
}

const sum = <Value>(values: ReadonlyArray<Value>, of: (value: Value) => number): number =>
  values.reduce((total, value) => total + of(value), 0)

const sizeOf = ({ code, comment, blank }: Counted): number => code + comment + blank

/** Of `src`, if nothing else is said. */
export const totalsOf = (files: ReadonlyArray<Counted>): Readonly<Record<string, number>> => {
  const inFolder = (folder: string) => files.filter(({ file }) => file.startsWith(`${folder}/`))
  const src = inFolder("src")
  return {
    lines: sum(src, sizeOf),
    "lines of comment": sum(src, ({ comment }) => comment),
    files: src.length,
    "largest file": Math.max(...src.map(sizeOf)),
    casts: sum(src, ({ casts }) => casts),
    "functions over 60 lines": sum(src, (each) => each.functionLengths.filter((length) => length > 60).length),
    "functions with more than 4 parameters": sum(src, (each) => each.parameterCounts.filter((n) => n > 4).length),
    "folders in circles": circles(files).flat().length,
    "exports that no file imports": unusedExports(files).length,
    "new AbortController": sum(src, ({ abortControllers }) => abortControllers),
    "new Promise": sum(src, ({ promises }) => promises),
    "lines of test": sum(inFolder("test"), sizeOf),
  }
}

/** A line per room, largest first. */
const roomTable = (files: ReadonlyArray<Counted>): ReadonlyArray<Readonly<Record<string, number | string>>> =>
  [
    ...Map.groupBy(
      files.filter(({ file }) => file.startsWith("src/")),
      ({ file }) => roomOf(file),
    ),
  ]
    .map(([room, of]) => ({
      room,
      lines: sum(of, sizeOf),
      code: sum(of, ({ code }) => code),
      comment: sum(of, ({ comment }) => comment),
      files: of.length,
      "mean file": Math.round(sum(of, sizeOf) / of.length),
      "largest file": Math.max(...of.map(sizeOf)),
      casts: sum(of, ({ casts }) => casts),
      "in circles": circles(of).flat().length,
    }))
    .toSorted((one, other) => other.lines - one.lines)

/** All TypeScript of the project but what a program wrote. */
const readHouse = (root: string): ReadonlyArray<Counted> =>
  globSync("{src,test,bench,scripts,examples}/**/*.ts", {
    cwd: root,
    exclude: (path) => path.includes("node_modules"),
  })
    // AssemblyScript is another language; what tests bring along is data.
    .filter((file) => !/\/(assembly|assemblyscript|fixtures)\//.test(file))
    .toSorted()
    .map((file) => count(relative(root, join(root, file)), readFileSync(join(root, file), "utf8")))

if (import.meta.main) {
  const root = fileURLToPath(new URL("../", import.meta.url))
  const record = join(root, "scripts/house.json")
  const files = readHouse(root)
  const totals = totalsOf(files)
  if (process.argv.includes("--check")) {
    const allowed = JSON.parse(readFileSync(record, "utf8")) as Record<string, number>
    for (const [name, total] of Object.entries(totals)) {
      const limit = allowed[name] ?? 0
      if (total <= limit) continue
      console.error(`${name}: ${total}, the limit is ${limit} (scripts/house.json; npm run house)`)
      process.exitCode = 1
    }
  } else if (process.argv.includes("--write")) writeFileSync(record, `${JSON.stringify(totals, undefined, 2)}\n`)
  else if (process.argv.includes("--unused")) for (const each of unusedExports(files)) console.log(each)
  else {
    console.table(roomTable(files))
    console.table(totals)
    for (const circle of circles(files)) console.log(`a circle: ${circle.join(" ")}`)
  }
}
