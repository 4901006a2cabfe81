/** `reel mcp`: the past as tools for assistants, over the Model Context Protocol on standard input and output. */
import type { Readable } from "node:stream"
import { zoneName } from "../local-time.ts"
import type { CommandSyntax } from "./command-line/arguments.ts"
import { type Command, command } from "./command-line/command.ts"
import { CommandFailed, exitCodes, Misasked } from "./command-line/exit-codes.ts"
import { recorderVariables, temporaryVariables } from "./command-line/shared-options.ts"
import { type PastTool, pastTool } from "./mcp/past-tool.ts"
import { readableItem } from "./mcp/readable-item.ts"
import { ToolCalls } from "./mcp/tool-calls.ts"
import { kindsIn, labels, namespace, optionalText, requiredText } from "./mcp/tool-parameters.ts"
import { serveTools } from "./mcp/tool-server.ts"
import { events, objectHistory, why } from "./mcp/tools/changes.ts"
import { getObjects } from "./mcp/tools/get-objects.ts"
import { coverage, kinds } from "./mcp/tools/recordings.ts"
import { readStretch } from "./past/moments.ts"
import { exactKinds } from "./past/object-name.ts"
import { askPast } from "./past/past-client.ts"
import { faultOfPast, pastOptions } from "./past/past-places.ts"

// The tool differences: what two moments differ in, as `reel diff` shows it.

const differences = pastTool({
  name: "differences",
  title: "What two moments differ in",
  description:
    "Objects that were created, deleted, replaced or changed between two moments, field by field. What happened in between and was undone is not in the answer; events has it.",
  parameters: {
    at: requiredText(
      "the two moments with two dots between them: 03:00..03:12, -1h..now, 2026-11-21T10:00:00Z..2026-11-21T11:00:00Z",
    ),
    kind: optionalText("only these kinds, with commas: pods,deploy; default: all"),
    name: optionalText("only objects of this name"),
    namespace,
    labels,
  },
  answer: async (given, answering) => {
    const { places, signal, lacks, page, leave } = answering
    const [place, another] = places
    if (place === undefined || another !== undefined)
      throw new Misasked("moments of one recording are compared, and this server has several")
    const named = kindsIn(given.kind ?? "")
    const kind = named.length === 0 ? undefined : await exactKinds(answering, named)
    const { name, namespace: within, labels: selector } = given
    const stretch = readStretch("at", given.at, answering)
    const answer = askPast(
      place,
      "differences",
      { kind, name, namespace: within, labels: selector, ...stretch },
      signal,
    )
    for (let next = await answer.next(); ; next = await answer.next()) {
      if (next.done === true) return lacks(next.value)
      const difference = next.value
      if (page.offer(() => readableItem(difference))) continue
      await answer.return({})
      return leave()
    }
  },
})

// All tools, in the order in which assistants see them.

const allTools: ReadonlyArray<PastTool> = [getObjects, objectHistory, events, differences, why, coverage, kinds]

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
    if (problem !== undefined) return problem
    const calls = new ToolCalls(given, { terminal, now })
    try {
      const answer = calls.answer.bind(calls)
      const failure = await serveTools({ zone: zoneName(now() / 1000), tools: allTools, answer, input, terminal })
      if (failure !== undefined) throw new CommandFailed(failure)
      return exitCodes.ok
    } finally {
      await calls.close()
    }
  })
