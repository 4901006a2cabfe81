/** Programs that tests use if they are installed. In CI they have to be: a test that is skipped for want of a program would go unnoticed. */
import { spawnSync } from "node:child_process"
import { globSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"

/**
 * Whether a program is on the PATH. `option`: makes it print its version and end.
 *
 * @throws Error in CI (CI=true) if it is not, so that the test file fails
 */
export const isInstalled = (program: string, option = "--version", environment = process.env): boolean => {
  const isThere = spawnSync(program, [option], { env: environment }).error === undefined
  if (!isThere && environment.CI === "true")
    throw new Error(`${program} is not installed, and in CI its tests have to run: .ci/run installs it`)
  return isThere
}

/** The test files of a folder that import a module, directly or through others of the folder. Paths are relative to the working directory. */
export const testsThatImport = (module: string, folder: string): ReadonlyArray<string> => {
  const imported = new Map(
    globSync(`${folder}/**/*.ts`).map((file) => [
      file,
      [...readFileSync(file, "utf8").matchAll(/ from "(\.[^"]+)"/g)].map(([, path = ""]) => join(dirname(file), path)),
    ]),
  )
  const found = new Set([module])
  for (let size = 0; size < found.size; ) {
    size = found.size
    for (const [file, paths] of imported) if (paths.some((path) => found.has(path))) found.add(file)
  }
  return [...found].filter((file) => file.endsWith(".test.ts")).sort()
}
