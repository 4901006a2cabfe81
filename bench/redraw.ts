/**
 * Writes everything that shows the kept results anew, without measuring: pages, charts, the overall table and the README's figures.
 *
 *   npm run bench:redraw
 */
import { globSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { keepFigures, keepPage, keepSummary, readResult } from "./report/result-files.ts"
import { partsOfAll } from "./scenarios.ts"

const names = globSync("**/*.json", { cwd: fileURLToPath(new URL("results", import.meta.url)) })
  .map((file) => file.replace(/\.json$/, ""))
  // The guard has a floor, no page.
  .filter((name) => name !== "guard")
for (const name of names.sort()) {
  const result = readResult(name)
  if (result !== undefined) await keepPage(name, result, console.error)
}
keepSummary(partsOfAll.map(({ name }) => name))
keepFigures()
