/** `reel fleet`: keeps the streams of clusters in an object store small, and shows how they are. */
import { quoted } from "../text/index.ts"
import type { CommandSyntax } from "./command-line/arguments.ts"
import { type Command, command } from "./command-line/command.ts"
import { compact, compactOptions } from "./fleet/fleet-compact.ts"
import { status, statusOptions } from "./fleet/fleet-status.ts"

const options = { ...compactOptions, ...statusOptions }

const actions = ["compact", "status"] as const

const syntax: CommandSyntax<typeof options> = {
  name: "reel fleet",
  summary: "Keeps the streams of clusters in an object store small, and shows how they are.",
  description: [
    "compact makes few large objects of the many small ones that a recorder writes, of one stream. Run it once an hour or a day, beside the recorder. What was replaced is removed by a later run.",
    "status shows all streams at or below the addresses: until when each is recorded, how much it has and grows, and what a day of it costs.",
    "Credentials for the store are those of its own tools, in the environment.",
  ],
  options,
  operand: {
    placeholder: "compact ADDRESS | status ADDRESS...",
    help: "what to do, and with which streams: s3://BUCKET/PREFIX, gs://, azure://, or a directory",
    count: 2,
    isRepeated: true,
    choices: actions,
  },
  exitCodes: {
    failed: "compact: nothing is lost, and the next run goes on; status: nothing can be read",
    incomplete: "status: one of the streams cannot be read, or there is none",
    interrupted: "stopped by Ctrl-C; the next run goes on from there",
  },
  examples: [
    "reel fleet compact s3://recordings/production --keep 1y",
    "reel fleet status s3://recordings",
    "reel fleet status s3://recordings -o json | jq '.items[] | select(.lagSeconds > 300).location'",
  ],
  seeAlso: ["reel restore", "reel record", "docs/guides/fleet.md"],
}

/** The command. `nowMicros`: µs since the Unix epoch. */
export const fleetCommand = (nowMicros: () => number = () => Date.now() * 1000): Command =>
  command(syntax, async (given, terminal, [action = "", ...addresses]) => {
    if (action === "status") return await status(given, terminal, addresses, nowMicros() / 1000)
    if (action !== "compact") return `${quoted(action)} is neither compact nor status`
    const [address = "", ...others] = addresses
    return others.length > 0 ? "compact takes one address" : await compact(given, terminal, address, nowMicros)
  })
