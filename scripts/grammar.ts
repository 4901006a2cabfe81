/**
 * Makes src/trace/transform/language/grammar.js, the parser of the transform language, of grammar.peggy. It is not in the repository: `npm ci` makes it
 * (`prepare`), and a build brings it up to date, with which tests, benchmarks and `npm start` begin.
 */
import { readFileSync, renameSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

/** Makes the parser below a root that has the grammar, unless it is younger. @throws what the file system throws, or the grammar's error */
export const makeParser = async (root: string): Promise<void> => {
  const grammar = join(root, "src/trace/transform/language/grammar.peggy")
  const parser = join(root, "src/trace/transform/language/grammar.js")
  const changedMs = (path: string): number | undefined => statSync(path, { throwIfNoEntry: false })?.mtimeMs
  const neededMs = changedMs(grammar)
  if (neededMs === undefined || (changedMs(parser) ?? 0) > neededMs) return
  const { default: peggy } = await import("peggy")
  const draft = `${parser}.${process.pid}.new`
  writeFileSync(draft, peggy.generate(readFileSync(grammar, "utf8"), { format: "es", output: "source" }))
  // In one step: a test may start programs of the sources meanwhile.
  renameSync(draft, parser)
}

if (import.meta.main) await makeParser(fileURLToPath(new URL("../", import.meta.url)))
