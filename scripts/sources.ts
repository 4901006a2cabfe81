/** The TypeScript of the project, parsed and counted, for the checks of its structure (house.ts, layers.ts). */
import { globSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { parseAst } from "rolldown/parseAst"

/** What counts in one file. */
export interface Counted {
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
      exported.push(...specifiers.map((each) => nameOf(each.exported)))
      if (isNode(node.declaration)) exported.push(...declaredBy(node.declaration))
    }
    for (const child of childrenOf(node)) visit(child)
  }
  visit(
    parseAst(
      text,
      { lang: file.endsWith(".d.ts") ? "dts" : file.endsWith(".tsx") ? "tsx" : "ts", astType: "ts" },
      file,
    ) as unknown as Node,
  )
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

/** All TypeScript of the project but what a program wrote. */
export const readSources = (root: string): ReadonlyArray<Counted> =>
  globSync("{src,test,bench,scripts,examples}/**/*.{ts,tsx}", {
    cwd: root,
    exclude: (path) => path.includes("node_modules"),
  })
    // AssemblyScript is another language; what tests bring along is data.
    .filter((file) => !/\/(assembly|assemblyscript|fixtures)\//.test(file))
    .toSorted()
    .map((file) => count(file, readFileSync(join(root, file), "utf8")))
