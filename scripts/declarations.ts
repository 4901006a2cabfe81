/**
 * Removes the declarations of dist/types that no export of the package reaches: three quarters of them, which would only be installed.
 *
 *   node scripts/declarations.ts    after `tsc -p tsconfig.types.json`; part of prepack
 */
import { existsSync, globSync, readdirSync, readFileSync, rmdirSync, rmSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

/** What declarations refer to: `from "./x.ts"`, `import("./x.ts")`, `import "./x.ts"`. */
const relativeImport = /(?:\bfrom\s*|\bimport\s*\(?\s*)"(\.[^"]+)"/g

/** The files that the exports of `package.json` reach, by absolute path. Throws if one of them does not exist. */
export const reachableDeclarations = (root: string): ReadonlySet<string> => {
  const { exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
    readonly exports: Readonly<Record<string, { readonly types: string }>>
  }
  const reached = new Set<string>()
  const open = Object.values(exports).map(({ types }) => join(root, types))
  for (let file = open.pop(); file !== undefined; file = open.pop()) {
    if (reached.has(file)) continue
    reached.add(file)
    for (const [, path = ""] of readFileSync(file, "utf8").matchAll(relativeImport)) {
      const target = join(dirname(file), path.replace(/(?:\.d)?\.[jt]s$/, ".d.ts"))
      // A module that was written as a declaration is not emitted, and its types are then those of the package that it is about.
      if (existsSync(target)) open.push(target)
    }
  }
  return reached
}

if (import.meta.main) {
  const root = fileURLToPath(new URL("..", import.meta.url))
  const reached = reachableDeclarations(root)
  const types = join(root, "dist/types")
  for (const path of globSync("**/*.d.ts", { cwd: types }))
    if (!reached.has(join(types, path))) rmSync(join(types, path))
  const folders = globSync("**/", { cwd: types }).toSorted((left, right) => right.length - left.length)
  for (const path of folders) if (readdirSync(join(types, path)).length === 0) rmdirSync(join(types, path))
  console.log(`declarations: ${reached.size} kept`)
}
