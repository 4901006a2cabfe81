/** `reel inspect` in a real terminal, which tmux is: real keys, another size, and what is left on the screen afterwards. */
import { readFileSync, writeFileSync } from "node:fs"
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

const skipped = !hasTerminals()

const traceIn = (directory: string): string => {
  const trace = join(directory, "a.sktrace")
  writeFileSync(trace, goldenTrace("recording"))
  return trace
}

test.skipIf(skipped)("a trace is looked through, in a window of any size, and the terminal is as before", async () => {
  const script = '"$0" "$1" inspect "$2"; echo "ended with $?"; read -r line'
  const words = ["sh", "-c", script, process.execPath, command, traceIn(temporaryDirectory())]
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
})

test.skipIf(skipped)("it goes on where it was after Ctrl-Z, and after a SIGSTOP that it does not notice", async () => {
  const directory = temporaryDirectory()
  traceIn(directory)
  terminal = await openTerminal(["bash", "--norc", "--noprofile", "-i"], { NODE: process.execPath, REEL: command })
  await terminal.type(`cd ${directory}; bash -c 'echo $$ > pid; exec "$NODE" "$REEL" inspect a.sktrace'\n`)
  await shows(/a\.sktrace {2}11 events/)
  await terminal.press("C-z")
  await shows(/Stopped/)
  await terminal.type("clear; fg\n")
  await shows(/a\.sktrace {2}11 events/)
  process.kill(Number(readFileSync(join(directory, "pid"), "utf8")), "SIGSTOP")
  await shows(/Stopped/)
  await terminal.type("clear; fg\n")
  await shows(/a\.sktrace {2}11 events/)
  await terminal.type("?")
  await shows(/^keys$/m)
  await terminal.type("q")
  await terminal.type("clear; echo ended with $?\n")
  await shows(/^ended with 0$/m)
})
