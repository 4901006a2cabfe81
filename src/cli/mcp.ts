/** `reel mcp`: the past as tools for assistants, over the Model Context Protocol on standard input and output. */
import type { Readable } from "node:stream"
import { zoneName } from "../local-time.ts"
import type { CommandSyntax } from "./command-line/arguments.ts"
import { type Command, command } from "./command-line/command.ts"
import { exitCodes } from "./command-line/exit-codes.ts"
import { UsageError } from "./command-line/usage-error.ts"
import { recorderVariables, temporaryVariables } from "./command-line/variables.ts"
import { ToolCalls } from "./mcp/tool-calls.ts"
import { serveTools } from "./mcp/tool-server.ts"
import { allTools } from "./mcp/tools/all-tools.ts"
import { faultOfPast, pastOptions } from "./past/past-places.ts"

const options = pastOptions

const syntax: CommandSyntax<typeof options> = {
  name: "reel mcp",
  summary: "Serves the past to assistants as tools, over the Model Context Protocol on standard input and output.",
  description: [
    "An assistant starts this command and asks what reel get, history, events, diff, why and coverage show. Nothing is changed. It ends with its standard input.",
  ],
  options,
  exitCodes: { ok: "the input ended, or Ctrl-C" },
  environment: [...recorderVariables, ...temporaryVariables],
  examples: [
    "reel mcp --server https://recorder.example.com --token-file token",
    "reel mcp --data-dir /var/lib/kubereel",
    "reel mcp --trace day.ndjson.zst",
  ],
  seeAlso: ["reel get", "reel history", "reel why", "docs/guides/history.md"],
}

/** The command. `now`: µs since the Unix epoch. */
export const mcpCommand = (now: () => number = () => Date.now() * 1000, input: Readable = process.stdin): Command =>
  command(syntax, async (given, terminal) => {
    const problem = faultOfPast(given)
    if (problem !== undefined) {
      terminal.standardError.write(`${new UsageError({ command: syntax.name, problem }).message}\n`)
      return exitCodes.usage
    }
    const calls = new ToolCalls(given, { terminal, now })
    try {
      const answer = calls.answer.bind(calls)
      const failure = await serveTools({ zone: zoneName(now() / 1000), tools: allTools, answer, input, terminal })
      if (failure === undefined) return exitCodes.ok
      terminal.standardError.write(`${syntax.name}: ${failure}\n`)
      return exitCodes.failed
    } finally {
      await calls.close()
    }
  })
