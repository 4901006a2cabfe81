/**
 * Makes src/trace/transform/language/grammar.js of grammar.peggy. It is kept in the repository, because sources run without being built.
 *
 * npm run grammar writes it; npm run grammar -- --check fails if it is not what the grammar says. `npm run lint` includes the check.
 */
import { readFileSync, writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import peggy from "peggy"

const folder = new URL("../src/trace/transform/language/", import.meta.url)
const [source, target] = [new URL("grammar.peggy", folder), new URL("grammar.js", folder)]

const generated = peggy.generate(readFileSync(source, "utf8"), { format: "es", output: "source" })

if (process.argv.includes("--check")) {
  if (readFileSync(target, "utf8") !== generated) {
    console.error(`${fileURLToPath(target)} is not what grammar.peggy says: npm run grammar`)
    process.exitCode = 1
  }
} else writeFileSync(target, generated)
