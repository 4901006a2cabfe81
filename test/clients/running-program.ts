/** A program of others that runs beside a sandbox, with what it prints. */

import { spawn } from "node:child_process"

export interface RunningProgram {
  /** What it printed so far, on both streams. */
  readonly output: () => string
  /** Ends it, and resolves when it has ended. */
  readonly stop: () => Promise<void>
}

export const runProgram = (
  path: string,
  words: ReadonlyArray<string>,
  environment: Readonly<Record<string, string>> = {},
): RunningProgram => {
  const { KUBECONFIG: _never, ...env } = process.env
  const child = spawn(path, words, { env: { ...env, ...environment }, stdio: ["ignore", "pipe", "pipe"] })
  const parts: Buffer[] = []
  child.stdout.on("data", (part: Buffer) => parts.push(part))
  child.stderr.on("data", (part: Buffer) => parts.push(part))
  const ended = new Promise<void>((resolve, reject) => {
    child.on("error", reject)
    child.on("close", () => resolve())
  })
  // A failed start shows when the program is stopped, and in what the test waits for.
  ended.catch(() => undefined)
  return {
    output: () => Buffer.concat(parts).toString("utf8"),
    stop: async () => {
      child.kill("SIGTERM")
      await ended
    },
  }
}
