/**
 * Fails on exports without a doc comment, in the rooms that have one for each: what it guarantees, in which units, and what it fails with. Part
 * of `npm run lint`.
 */
import { globSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

/** Folders of `src` in which every export has its own comment. */
const rooms = ["simulation", "validation"]

const declared = /^export (?:abstract |async )*(?:const|let|function|class|interface|type|enum) (\w+)/

/** `line NAME` of each export that has no doc comment directly before it. */
export const undocumentedIn = (text: string): ReadonlyArray<string> => {
  const lines = text.split("\n")
  return lines.flatMap((line, index) => {
    const name = declared.exec(line)?.[1]
    const isDocumented = lines[index - 1]?.trimEnd().endsWith("*/") === true
    return name === undefined || isDocumented ? [] : [`${index + 1} ${name}`]
  })
}

/** `FILE:line NAME`, below a root. */
export const undocumented = (root: string): ReadonlyArray<string> =>
  globSync(
    rooms.map((room) => `src/${room}/**/*.ts`),
    { cwd: root },
  )
    .toSorted()
    .flatMap((file) => undocumentedIn(readFileSync(join(root, file), "utf8")).map((place) => `${file}:${place}`))

if (import.meta.main) {
  const found = undocumented(fileURLToPath(new URL("../", import.meta.url)))
  for (const each of found) console.error(`${each} has no doc comment`)
  if (found.length > 0) process.exitCode = 1
}
