/** The process `reel`: runs when bin/reel.js imports it, and exits with the command's exit code. */
import { exitCodes } from "./command-line/exit-codes.ts"
import { reel } from "./reel.ts"
import { processTerminal } from "./terminal/terminal.ts"

// In "reel help | head -1" the reader closes the pipe; a stack trace would be misleading.
process.stdout.on("error", () => {
  process.exitCode = exitCodes.failed
})

const code = await reel(process.argv.slice(2), processTerminal)
// Explicit exit: a handle that a command forgot must not keep a finished process alive. The callback of the empty write runs after
// all earlier writes to a pipe.
process.stdout.write("", () => process.exit(code))
