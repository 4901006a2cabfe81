/** The commit that was measured. */
import { spawnSync } from "node:child_process"

const git = (...args: ReadonlyArray<string>): string | undefined => {
  const { status, stdout } = spawnSync("git", args, { cwd: new URL("..", import.meta.url), encoding: "utf8" })
  return status === 0 ? stdout.trim() : undefined
}

/** The commit of this checkout, followed by `+` if files have changed since; `no commit` outside a checkout. */
export const currentCommit = (): string => {
  const commit = git("rev-parse", "--short", "HEAD")
  if (commit === undefined) return "no commit"
  // The tables themselves change while all scenarios are run.
  return git("status", "--porcelain", "--", "..", ":!results") === "" ? commit : `${commit}+`
}
