import { execFileSync } from "node:child_process"
import { temporaryDirectory } from "../harness/temporary-directory.ts"

/**
 * A copy of a data directory as a crash of its writer would leave it, removed when the test has ended. Copied by another process,
 * because opening and closing the files in this one would free the writer's locks.
 */
export const asIfCrashed = (directory: string): string => {
  const copy = temporaryDirectory()
  execFileSync("cp", ["-r", `${directory}/.`, copy])
  return copy
}
