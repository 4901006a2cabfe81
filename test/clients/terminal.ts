/** A program in a terminal of its own, with what it shows and keys that are pressed: tmux is the terminal. */

import { execFile } from "node:child_process"
import { promisify } from "node:util"
import { isInstalled } from "../harness/installed-program.ts"
import { temporaryDirectory } from "../harness/temporary-directory.ts"

const run = promisify(execFile)

export interface Terminal {
  /** The text on the screen, without colours. */
  readonly screen: () => Promise<string>
  /** Types the text as it is. */
  readonly type: (text: string) => Promise<void>
  /** Presses one key by tmux' name of it, such as Enter or Escape. */
  readonly press: (key: string) => Promise<void>
  /** Makes the terminal larger or smaller. */
  readonly resize: (columns: number, rows: number) => Promise<void>
  /** Ends the program and its terminal. */
  readonly close: () => Promise<void>
}

/** Wide enough for all columns of a table, and high enough for the YAML of a Pod's metadata. */
const size = ["-x", "220", "-y", "200"]

/** Whether tmux is here. In CI it has to be. */
export const hasTerminals = (): boolean => isInstalled("tmux", "-V")

/** The screen stays as it was when the program ended. */
export const openTerminal = async (
  words: ReadonlyArray<string>,
  environment: Readonly<Record<string, string>>,
): Promise<Terminal> => {
  const directory = temporaryDirectory()
  // By its name alone: the whole path of a socket has at most 107 bytes, and a temporary directory may be deep.
  const tmux = async (...command: ReadonlyArray<string>): Promise<string> =>
    (await run("tmux", ["-S", "socket", "-f", "/dev/null", ...command], { cwd: directory })).stdout
  const settings = Object.entries(environment).flatMap(([name, value]) => ["-e", `${name}=${value}`])
  await tmux(
    "start-server",
    ";",
    "set-option",
    "-g",
    "remain-on-exit",
    "on",
    ";",
    "new-session",
    "-d",
    ...size,
    ...settings,
    "--",
    ...words,
  )
  return {
    screen: () => tmux("capture-pane", "-p"),
    type: async (text) => void (await tmux("send-keys", "-l", text)),
    press: async (key) => void (await tmux("send-keys", key)),
    resize: async (columns, rows) => void (await tmux("resize-window", "-x", String(columns), "-y", String(rows))),
    close: async () => void (await tmux("kill-server")),
  }
}
