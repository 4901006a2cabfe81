/** `reel fleet`: what is made of the streams of clusters in object stores. */
import { quoted } from "../text/index.ts"
import type { CommandSyntax } from "./command-line/arguments.ts"
import { type Command, command } from "./command-line/command.ts"
import { facts, factsOptions } from "./fleet/fleet-facts.ts"

const actions = ["facts"] as const

const syntax: CommandSyntax<typeof factsOptions> = {
  name: "reel fleet",
  summary: "Makes facts of a cluster's stream: Parquet files for query engines.",
  description: [
    "facts makes a file of the changes of each segment of a stream, for reel sql, DuckDB, Spark, Trino, ClickHouse, Athena and others. Each is created once; the next run goes on behind those that are there.",
    "Credentials for the store are those of its own tools, in the environment.",
  ],
  options: factsOptions,
  operand: {
    placeholder: "facts ADDRESS",
    help: "what to make, and of which stream: s3://BUCKET/PREFIX, gs://, azure://, or a directory",
    count: 2,
    choices: actions,
  },
  exitCodes: {
    ok: "facts: also after Ctrl-C with --watch",
    incomplete: "facts: the directory lacks the last segments",
    interrupted: "stopped by Ctrl-C; the next run goes on from there",
  },
  examples: [
    "reel fleet facts s3://recordings/production --data-dir /var/lib/kubereel/recording --watch",
    "reel fleet facts s3://recordings/production --data-dir ./production --to s3://recordings/all",
  ],
  seeAlso: ["reel sql", "reel restore", "docs/guides/query.md", "docs/reference/facts.md"],
}

/** The command. */
export const fleetCommand = (): Command =>
  command(syntax, async (given, terminal, [action = "", address = ""]) =>
    action === "facts" ? await facts(given, terminal, address) : `${quoted(action)} is not facts`,
  )
