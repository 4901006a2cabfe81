/** The process `reel`: runs when it is imported (bin/reel.js does), and ends the process with the command's exit code. */
import { exitCodes } from "./command-line/exit-codes.ts"
import { reel } from "./reel.ts"
import { processTerminal } from "./terminal/terminal.ts"

// "reel help | head -1": the reader is gone, there is nobody left to tell, and a stack trace would tell them the wrong thing.
process.stdout.on("error", () => {
  process.exitCode = exitCodes.failed
})

const code = await reel(process.argv.slice(2), processTerminal)
// Not left to the event loop: whatever a command forgot must not keep a finished process alive. The empty write comes after
// everything that is still under way to a pipe.
process.stdout.write("", () => process.exit(code))
