/** A limit on the size of the files of this test's own process: what a full disk is to the actors in it. */
import { execFileSync } from "node:child_process"

/** The hard limit stays, so that this can be undone. */
export const limitFiles = (bytes: number | "unlimited"): void => {
  execFileSync("prlimit", ["--pid", String(process.pid), `--fsize=${bytes}:unlimited`])
}

/** Takes the limit off when it is disposed of, so that what was started before can be closed. */
export const unlimited: Disposable = { [Symbol.dispose]: () => limitFiles("unlimited") }
