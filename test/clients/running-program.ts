/** Programs of others, with what they print. */

import { spawn } from "node:child_process"
import { once } from "node:events"
import { text } from "node:stream/consumers"

export interface RunningProgram {
  /** What it printed so far, on both streams. */
  readonly output: () => string
  /** Ends it, and resolves when it has ended. */
  readonly stop: () => Promise<void>
}

/** Runs a program beside a sandbox. */
export const runProgram = (
  path: string,
  words: ReadonlyArray<string>,
  environment: Readonly<Record<string, string>> = {},
): RunningProgram => {
  const child = start(path, words, environment)
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

export interface EndedProgram {
  /** Exit code; `null` if a signal ended it. */
  readonly code: number | null
  readonly output: string
  readonly errors: string
}

/** Runs a program to its end. */
export const runToEnd = async (
  path: string,
  words: ReadonlyArray<string>,
  environment: Readonly<Record<string, string>> = {},
): Promise<EndedProgram> => {
  const child = start(path, words, environment)
  const [output, errors, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")])
  return { code, output, errors }
}

/** Whatever cluster the user works with is not the one that is meant. */
const start = (path: string, words: ReadonlyArray<string>, environment: Readonly<Record<string, string>>) => {
  const { KUBECONFIG: _never, ...env } = process.env
  return spawn(path, words, { env: { ...env, ...environment }, stdio: ["ignore", "pipe", "pipe"] })
}
