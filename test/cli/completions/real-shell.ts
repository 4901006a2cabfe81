/** Shells that are installed here, which complete words with the scripts for them. */
import { execFileSync } from "node:child_process"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { completionsCommand } from "../../../src/cli/completions.ts"
import { commands } from "../../../src/cli/reel.ts"
import { capturedTerminal } from "../captured-terminal.ts"

/** A directory with the script, in which words are completed. */
export interface ShellDirectory extends Disposable {
  readonly directory: string
  /** The path of the script. */
  readonly script: string
}

/** The script of `reel` itself, beside a directory `recording` and the files `recent.txt` and `two words.ndjson`. */
export const shellDirectory = async (shell: string): Promise<ShellDirectory> => {
  const directory = mkdtempSync(join(tmpdir(), "kubereel-completions-"))
  const terminal = capturedTerminal()
  await completionsCommand(commands).run([shell], terminal)
  const script = join(directory, "script")
  writeFileSync(script, terminal.standardOutput.text())
  mkdirSync(join(directory, "recording"))
  for (const name of ["recent.txt", "two words.ndjson"]) writeFileSync(join(directory, name), "")
  return { directory, script, [Symbol.dispose]: () => rmSync(directory, { recursive: true }) }
}

/** Runs a shell in that directory and returns the lines that it prints. */
export const linesOf = (
  program: string,
  argv: ReadonlyArray<string>,
  { directory }: ShellDirectory,
): ReadonlyArray<string> =>
  execFileSync(program, argv, {
    cwd: directory,
    encoding: "utf8",
    env: { ...process.env, HOME: directory, LC_ALL: "C" },
  })
    .split("\n")
    .filter((line) => line !== "")
