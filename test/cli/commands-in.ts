/** A folder for the files of each test, and commands that run in this process. */
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, expect } from "vitest"
import type { Command } from "../../src/cli/command-line/command.ts"
import { type CapturedTerminal, capturedTerminal } from "./captured-terminal.ts"

/** What a command printed, with `FOLDER` for the folder. */
export interface Ran {
  readonly code: number
  readonly output: string
  readonly error: string
}

export interface CommandFolder {
  readonly path: (name: string) => string
  /** Writes a file and returns its path. */
  readonly write: (name: string, bytes: Uint8Array | string) => string
  /** Names of the files in it, in order. */
  readonly names: () => ReadonlyArray<string>
  /** Nothing listens for signals afterwards. */
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
    run: async (command, argv, terminal = capturedTerminal()) => {
      const code = await command.run(argv, terminal)
      expect(terminal.listeners()).toBe(0)
      const text = (written: string): string => written.replaceAll(folder, "FOLDER")
      return { code, output: text(terminal.standardOutput.text()), error: text(terminal.standardError.text()) }
    },
  }
}
