/** Programs that tests use if they are installed. In CI they have to be: a test that is skipped for want of a program would go unnoticed. */
import { spawnSync } from "node:child_process"

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
