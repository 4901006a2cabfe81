/**
 * Files that take seconds to build, such as guests: each is built once in a run, by the first test file that needs it, and copied for all
 * others. Two processes that need it at the same time both build it.
 */
import { createHash } from "node:crypto"
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync } from "node:fs"
import { join } from "node:path"
import { runDirectoryVariable } from "./run-directory.ts"

/**
 * Writes to `output` what `build` writes to the path that it is given. `sources`: everything on which the result depends and that may change
 * while the run lasts, as it does when tests are watched. Outside a run it builds each time. Throws what `build` throws.
 */
export const buildOnce = (sources: ReadonlyArray<string>, output: string, build: (output: string) => void): void => {
  const run = process.env[runDirectoryVariable]
  // A study of bench/ that uses a guest of the tests.
  if (run === undefined) return build(output)
  const folder = join(run, "built")
  mkdirSync(folder, { recursive: true })
  const built = join(folder, createHash("sha256").update(JSON.stringify(sources)).digest("hex"))
  if (!existsSync(built)) {
    // Others see it complete or not at all.
    const own = `${built}-${process.pid}`
    build(own)
    renameSync(own, built)
  }
  copyFileSync(built, output)
}

/** The text of each file below a folder, with its path. */
export const textsBelow = (folder: string): ReadonlyArray<string> =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
    .sort()
    .flatMap((path) => [path, readFileSync(path, "utf8")])
