/**
 * Removes the declarations of dist/types that no export of the package reaches: three quarters of them, which would only be installed. Of a room's door,
 * which passes on what any other room uses, the lines stay that are reached.
 *
 *   node scripts/declarations.ts    after `tsc -p tsconfig.types.json`; part of prepack
 */
import { existsSync, globSync, readdirSync, readFileSync, rmdirSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join, relative } from "node:path"
import { fileURLToPath } from "node:url"
import { isDoor } from "./layers.ts"

/** What declarations refer to: `from "./x.ts"` with its names, `import("./x.ts").Name`, `import "./x.ts"`. */
const reference =
  /(?:\b(?:import|export)\s+(?:type\s+)?(?:\{([^}]*)\}|\*(?:\s+as\s+\w+)?)\s*from\s*|\bimport\s*\(?\s*)"(\.[^"]+)"(?:\)\.(\w+))?/g

/** The names in braces, as the module that is referred to calls them. */
const namesIn = (list: string): ReadonlyArray<string> =>
  list.split(",").flatMap((each) => /^\s*(?:type\s+)?(\w+)/.exec(each)?.[1] ?? [])

interface Reference {
  /** Absolute path of the declarations. */
  readonly file: string
  /** Undefined for all. */
  readonly names: ReadonlyArray<string> | undefined
  /** The whole statement. */
  readonly text: string
}

const referencesOf = (file: string): ReadonlyArray<Reference> =>
  [...readFileSync(file, "utf8").matchAll(reference)].map(([text, list, path = "", member]) => ({
    file: join(dirname(file), path.replace(/(?:\.d)?\.[jt]s$/, ".d.ts")),
    names: list === undefined ? (member === undefined ? undefined : [member]) : namesIn(list),
    text,
  }))

/**
 * The files that the exports of `package.json` reach, by absolute path, and of each what it still has to say: of doors the statements that are reached,
 * undefined for what stays whole. Throws if one of the files does not exist.
 */
export const reachableDeclarations = (root: string): ReadonlyMap<string, ReadonlySet<string> | undefined> => {
  const { exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
    readonly exports: Readonly<Record<string, { readonly types: string }>>
  }
  const types = join(root, "dist/types")
  const isDoorOfRoom = (file: string): boolean => {
    const source = relative(types, file).replace(/\.d\.ts$/, ".ts")
    return !source.startsWith("library/") && isDoor(`src/${source}`)
  }
  const reached = new Map<string, Set<string> | undefined>()
  const asked = new Set<string>()
  const open: Array<Omit<Reference, "text">> = Object.values(exports).map((each) => ({
    file: join(root, each.types),
    names: undefined,
  }))
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { file, names } = next
    const question = `${file} ${names?.join() ?? "*"}`
    if (asked.has(question)) continue
    asked.add(question)
    if (!isDoorOfRoom(file)) {
      if (reached.has(file)) continue
      reached.set(file, undefined)
      // A module that was written as a declaration is not emitted, and its types are then those of the package that it is about.
      open.push(...referencesOf(file).filter((each) => existsSync(each.file)))
      continue
    }
    const said = reached.get(file) ?? new Set()
    reached.set(file, said)
    for (const each of referencesOf(file)) {
      if (names !== undefined && each.names !== undefined && !each.names.some((name) => names.includes(name))) continue
      said.add(each.text)
      open.push({ file: each.file, names: each.names === undefined ? names : each.names })
    }
  }
  return reached
}

if (import.meta.main) {
  const root = fileURLToPath(new URL("..", import.meta.url))
  const reached = reachableDeclarations(root)
  const types = join(root, "dist/types")
  for (const path of globSync("**/*.d.ts", { cwd: types })) {
    const file = join(types, path)
    const said = reached.get(file)
    if (!reached.has(file)) rmSync(file)
    else if (said !== undefined) writeFileSync(file, `${[...said].join(";\n")};\n`)
  }
  const folders = globSync("**/", { cwd: types }).toSorted((left, right) => right.length - left.length)
  for (const path of folders) if (readdirSync(join(types, path)).length === 0) rmdirSync(join(types, path))
  console.log(`declarations: ${reached.size} kept`)
}
