/** Recordings by a real recorder of a sandbox, and what `reel` says of them. */
import { execFileSync } from "node:child_process"
import { createHash } from "node:crypto"
import { mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { join } from "node:path"
import { coverageCommand } from "../../src/cli/coverage.ts"
import { exportCommand } from "../../src/cli/export.ts"
import { type Ran, ran } from "./commands-in.ts"

export const reelExport = (...words: ReadonlyArray<string>): Promise<Ran> => ran(exportCommand(), words)
export const reelCoverage = (...words: ReadonlyArray<string>): Promise<Ran> => ran(coverageCommand(), words)

/** A copy of a data directory, by another process, because opening the files in this one would free a writer's locks. */
export const copyOf = (directory: string, copy: string, without: ReadonlyArray<string> = []): string => {
  mkdirSync(copy)
  execFileSync("cp", ["-r", `${directory}/.`, copy])
  for (const file of without) rmSync(join(copy, file), { force: true })
  return copy
}

/** Every file of a directory with the SHA-256 of its content. Only for a directory without a writer in this process. */
export const filesOf = (directory: string): ReadonlyArray<string> =>
  readdirSync(directory, { withFileTypes: true })
    // Not the leases of those who read it.
    .filter((entry) => entry.isFile())
    .map(({ name }) => name)
    .sort()
    .map(
      (name) =>
        `${name} ${createHash("sha256")
          .update(readFileSync(join(directory, name)))
          .digest("hex")}`,
    )
