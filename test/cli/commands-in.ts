/** Commands that run in this process, and a folder for the files of each test. */
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, expect } from "vitest"
import type { Command } from "../../src/cli/command-line/command.ts"
import { exitCodes } from "../../src/cli/command-line/exit-codes.ts"
import { until } from "../runtime/until.ts"
import { type CapturedTerminal, capturedTerminal } from "./captured-terminal.ts"

/** What a command printed. */
export interface Ran {
  readonly code: number
  readonly output: string
  readonly error: string
}

/** Runs a command to its end. Nothing listens for signals afterwards. */
export const ran = async (
  command: Pick<Command, "run">,
  argv: ReadonlyArray<string>,
  terminal: CapturedTerminal = capturedTerminal(),
): Promise<Ran> => {
  const code = await command.run(argv, terminal)
  expect(terminal.listeners()).toBe(0)
  return { code, output: terminal.standardOutput.text(), error: terminal.standardError.text() }
}

/** A command that serves until Ctrl-C. Disposing is Ctrl-C too, after which it must end in order. */
export interface Serving extends AsyncDisposable {
  readonly url: string
  /** What it printed when it had started. */
  readonly output: string
  readonly stop: () => Promise<void>
}

/** Resolves when it has said where it serves. */
export const serving = async (
  command: Pick<Command, "run">,
  argv: ReadonlyArray<string>,
  environment: Record<string, string> = {},
): Promise<Serving> => {
  const terminal = capturedTerminal({ environment })
  const { standardOutput, standardError } = terminal
  const ended = command.run(argv, terminal)
  await until(() => standardOutput.text().includes("Ctrl-C") || standardError.text() !== "")
  expect(standardError.text()).toBe("")
  const stop = async (): Promise<void> => {
    terminal.interrupt()
    expect([await ended, terminal.listeners()]).toEqual([exitCodes.ok, 0])
  }
  const output = standardOutput.text()
  return { url: /(?:API server|page) +([^ ,\n]+)/.exec(output)?.[1] ?? "", output, stop, [Symbol.asyncDispose]: stop }
}

export interface CommandFolder {
  readonly path: (name: string) => string
  /** Writes a file and returns its path. */
  readonly write: (name: string, bytes: Uint8Array | string) => string
  /** Names of the files in it, in order. */
  readonly names: () => ReadonlyArray<string>
  /** As {@link ran}, with `FOLDER` for the folder. */
  readonly run: (command: Command, argv: ReadonlyArray<string>, terminal?: CapturedTerminal) => Promise<Ran>
}

/** Call it at the top of a file of tests. */
export const commandsIn = (prefix: string): CommandFolder => {
  let folder = ""
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), prefix))
  })
  afterEach(() => rmSync(folder, { recursive: true, force: true }))
  const path = (name: string): string => join(folder, name)
  return {
    path,
    write: (name, bytes) => {
      writeFileSync(path(name), bytes)
      return path(name)
    },
    names: () => readdirSync(folder).toSorted(),
    run: async (command, argv, terminal) => {
      const { code, output, error } = await ran(command, argv, terminal)
      return { code, output: output.replaceAll(folder, "FOLDER"), error: error.replaceAll(folder, "FOLDER") }
    },
  }
}
