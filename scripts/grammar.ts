/**
 * Generates src/trace/transform/language/grammar.js, the parser of the transform language, from grammar.peggy. It is not in the repository: a
 * build makes it, which tests, benchmarks and `npm start` run first, and so does `npm run lint`.
 */
import { readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

/**
 * Makes the parser below a root that has the grammar, unless the parser is newer than the grammar, Peggy and this file. A grammar with an error leaves no
 * parser, so that no outdated one is used. @throws what the file system throws, or the grammar's error
 */
export const makeParser = async (root: string): Promise<void> => {
  const grammar = join(root, "src/trace/transform/language/grammar.peggy")
  const parser = join(root, "src/trace/transform/language/grammar.js")
  const changedMs = (path: string): number | undefined => statSync(path, { throwIfNoEntry: false })?.mtimeMs
  if (changedMs(grammar) === undefined) return
  const tools = [fileURLToPath(import.meta.url), createRequire(import.meta.url).resolve("peggy")]
  const neededMs = Math.max(...[grammar, ...tools].map((path) => changedMs(path) ?? 0))
  if ((changedMs(parser) ?? 0) > neededMs) return
  const { default: peggy } = await import("peggy")
  const draft = `${parser}.${process.pid}.new`
  try {
    writeFileSync(draft, peggy.generate(readFileSync(grammar, "utf8"), { format: "es", output: "source" }))
    // In one step: a test may start programs of the sources meanwhile.
    renameSync(draft, parser)
  } catch (error) {
    rmSync(parser, { force: true })
    throw error
  }
}

if (import.meta.main) await makeParser(fileURLToPath(new URL("../", import.meta.url)))
