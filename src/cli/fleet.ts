/** `reel fleet`: looks after the streams of clusters in an object store. */
import { quoted } from "../text/index.ts"
import type { CommandSyntax } from "./command-line/arguments.ts"
import { type Command, command } from "./command-line/command.ts"
import { compact, compactOptions } from "./fleet/fleet-compact.ts"
import { facts, factsOptions } from "./fleet/fleet-facts.ts"
import { index, indexOptions } from "./fleet/fleet-index.ts"
import { status, statusOptions } from "./fleet/fleet-status.ts"

const options = { ...compactOptions, ...statusOptions, ...factsOptions, ...indexOptions }

const actions = ["compact", "status", "facts", "index"] as const

const syntax: CommandSyntax<typeof options> = {
  name: "reel fleet",
  summary:
    "Looks after the streams of clusters in an object store: makes them small, shows how they are, makes facts of them and an index.",
  description: [
    "compact makes few large objects of the many small ones that a recorder writes, of one stream. Run it once an hour or a day, beside the recorder. What was replaced is removed by a later run.",
    "status shows all streams at or below the addresses: until when each is recorded, how much it has and grows, and what a day of it costs.",
    "facts makes a file of the changes of each segment of a stream, for reel sql, DuckDB, Spark, Trino, ClickHouse, Athena and others. Each is created once; the next run goes on behind those that are there.",
    "index makes a DuckLake catalogue of the facts in a directory: changes and the views of reel sql, for DuckDB. The files stay where they are. It needs the package @duckdb/node-api, of the same version as the extension.",
    "Credentials for the store are those of its own tools, in the environment.",
  ],
  options,
  operand: {
    placeholder: "compact ADDRESS | status ADDRESS... | facts ADDRESS | index DIR",
    help: "what to do, and with which streams: s3://BUCKET/PREFIX, gs://, azure://, or a directory",
    count: 2,
    isRepeated: true,
    choices: actions,
  },
  exitCodes: {
    ok: "facts: also after Ctrl-C with --watch",
    failed: "compact: nothing is lost, and the next run goes on; status: nothing can be read",
    incomplete:
      "status: one of the streams cannot be read, or there is none; facts: the directory lacks the last segments",
    interrupted: "stopped by Ctrl-C; the next run goes on from there",
  },
  examples: [
    "reel fleet compact s3://recordings/production --keep 1y",
    "reel fleet status s3://recordings",
    "reel fleet status s3://recordings -o json | jq '.items[] | select(.lagSeconds > 300).location'",
    "reel fleet facts s3://recordings/production --data-dir /var/lib/kubereel/recording --watch",
    "reel fleet facts s3://recordings/production --to s3://recordings/all",
    "reel fleet index /srv/recordings --catalog facts.ducklake",
  ],
  seeAlso: [
    "reel sql",
    "reel restore",
    "reel record",
    "docs/guides/fleet.md",
    "docs/guides/query.md",
    "docs/reference/facts.md",
  ],
}

/** The command. `nowMicros`: µs since the Unix epoch. `importing`: loads DuckDB. */
export const fleetCommand = (
  nowMicros: () => number = () => Date.now() * 1000,
  importing?: (name: string) => Promise<unknown>,
): Command =>
  command(syntax, async (given, terminal, [action = "", ...addresses]) => {
    if (action === "status") return await status(given, terminal, addresses, nowMicros() / 1000)
    const [address = "", ...others] = addresses
    if (!actions.some((each) => each === action)) return `${quoted(action)} is none of ${actions.join(", ")}`
    if (others.length > 0) return `${action} takes one address`
    if (action === "facts") return await facts(given, terminal, address)
    if (action === "index") return await index(given, terminal, address, importing)
    return await compact(given, terminal, address, nowMicros)
  })
