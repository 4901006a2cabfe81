/** `reel inspect` in a real terminal, which tmux is: real keys, another size, and what is left on the screen afterwards. */
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterEach, expect, test } from "vitest"
import { hasTerminals, openTerminal, type Terminal } from "../../../clients/terminal.ts"
import { eventually } from "../../../harness/eventually.ts"
import { temporaryDirectory } from "../../../harness/temporary-directory.ts"
import { goldenTrace } from "../../../trace/recording.ts"

const command = fileURLToPath(new URL("../../../../src/cli/main.ts", import.meta.url))

let terminal: Terminal | undefined
afterEach(async () => {
  await terminal?.close()
  terminal = undefined
})

const shows = (text: string | RegExp): Promise<void> =>
  eventually(async () => expect(await terminal?.screen()).toMatch(text))

test.skipIf(!(await hasTerminals()))(
  "a trace is looked through, in a window of any size, and the terminal is as before",
  async () => {
    const trace = join(temporaryDirectory(), "a.sktrace")
    writeFileSync(trace, goldenTrace("recording"))
    const words = [
      "sh",
      "-c",
      '"$0" "$1" inspect "$2"; echo "ended with $?"; read -r line',
      process.execPath,
      command,
      trace,
    ]
    terminal = await openTerminal(words, {})
    await shows(/a\.sktrace {2}11 events/)
    await terminal.type("/web")
    await terminal.press("Enter")
    await terminal.press("Space")
    await shows(/│apps\/v1\.Deployment team-a\/web/)
    await terminal.resize(30, 6)
    await shows(/^apps\/v1\.Deployment team-a\/web$/m)
    await terminal.resize(3, 2)
    await terminal.resize(100, 20)
    await terminal.press("Escape")
    await shows(/\? help {3}Space open/)
    await terminal.press("PageDown")
    await terminal.type("t")
    await shows(/CronJob team-b\/nightly/)
    await terminal.type("q")
    await shows(/^ended with 0$/m)
    expect(await terminal.screen()).not.toContain("CronJob")
  },
)
