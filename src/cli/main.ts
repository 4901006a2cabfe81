/** The process `reel`: runs when bin/reel.js imports it, and exits with the command's exit code. */
import { type ExitCode, exitCodes } from "./command-line/exit-codes.ts"
import { commands, reel } from "./reel.ts"
import { invocation } from "./terminal/invocation.ts"
import { processTerminal } from "./terminal/terminal.ts"

// In "reel help | head -1" the reader closes the pipe; a stack trace would be misleading.
process.stdout.on("error", () => {
  process.exitCode = exitCodes.failed
})

const words = process.argv.slice(2)

/** Answers kubectl, which asks for completions of `kubectl reel`. */
const complete = async (): Promise<ExitCode> => {
  const { completionsOf } = await import("./completions.ts")
  process.stdout.write(await completionsOf(commands, words))
  return exitCodes.ok
}

const code = await (invocation.isCompleting ? complete() : reel(words, processTerminal))
// Explicit exit: a handle that a command forgot must not keep a finished process alive. The callback of the empty write runs after
// all earlier writes to a pipe.
process.stdout.write("", () => process.exit(code))
