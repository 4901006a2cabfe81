/** `reel fleet`: looks after the streams of clusters in an object store. */
import { enumerated, quoted } from "../text/index.ts"
import { type CommandSyntax, oneOf, required, withDefault } from "./command-line/arguments.ts"
import { type Command, command } from "./command-line/command.ts"
import { diff, momentsOptions } from "./diff.ts"
import { events, eventsOptions } from "./events.ts"
import { askFleet } from "./fleet/ask-fleet.ts"
import { clustersOption } from "./fleet/clusters.ts"
import { compact, compactOptions } from "./fleet/fleet-compact.ts"
import { facts, factsOptions } from "./fleet/fleet-facts.ts"
import { index, indexOptions } from "./fleet/fleet-index.ts"
import { status, statusOptions } from "./fleet/fleet-status.ts"
import { history, historyOptions } from "./history.ts"
import { outputOption } from "./past/asking.ts"

const options = { ...compactOptions, ...statusOptions, ...factsOptions, ...indexOptions }

const actions = ["compact", "status", "facts", "index", "history", "events", "diff"] as const

const syntax: CommandSyntax<typeof options> = {
  name: "reel fleet",
  summary:
    "Looks after the streams of clusters in an object store: makes them small, shows how they are, makes facts of them and an index, asks them all.",
  description: [
    "compact makes few large objects of the many small ones that a recorder writes, of one stream. Run it once an hour or a day, beside the recorder. What was replaced is removed by a later run. The facts of each cluster and day that is over, if there are some at the address, become one file.",
    "status shows all streams at or below the addresses: until when each is recorded, how much it has and grows, and what a day of it costs.",
    "facts makes a file of the changes of each segment of a stream, for reel sql, DuckDB, Spark, Trino, ClickHouse, Athena and others. Each is created once; the next run goes on behind those that are there.",
    "index makes a DuckLake catalogue of the facts in a directory: changes and the views of reel sql, for DuckDB. The files stay where they are. It needs the package @duckdb/node-api, of the same version as the extension.",
    "history, events and diff ask many clusters at once what reel history, events and diff ask one. They have options of their own: reel fleet history --help.",
    "Credentials for the store are those of its own tools, in the environment.",
  ],
  options,
  operand: {
    placeholder: "compact ADDRESS | status ADDRESS... | facts ADDRESS | index DIR | history|events|diff ... ADDRESS",
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

const askedOptions = {
  clusters: clustersOption,
  sort: withDefault(
    "time",
    "ORDER",
    "time: all clusters together, by their recorders' clocks; cluster: one after the other",
    oneOf("time", "cluster"),
  ),
}

/** What the commands that ask many clusters say of themselves alike. */
const asked = {
  description: [
    "The clusters are the streams below ADDRESS, which comes last. Each line begins with the name of its cluster; JSON has it as cluster. The present is the end of each recording, unless that is more than five minutes ago: then the cluster lacks what follows. Nothing is printed before all clusters have been asked.",
  ],
  exitCodes: { incomplete: "a cluster cannot be read, or lacks something; standard error says which and what" },
  seeAlso: ["reel fleet", "reel history", "reel events", "reel diff", "docs/guides/fleet.md"],
}

const historyTable = { ...historyOptions, ...askedOptions }
const historySyntax: CommandSyntax<typeof historyTable> = {
  ...asked,
  name: "reel fleet history",
  summary: "Shows every recorded change of an object, or of all objects of a kind, in many clusters.",
  options: historyTable,
  operand: {
    placeholder: "KIND/NAME ADDRESS",
    help: "the object, or its kind, and the clusters",
    count: 2,
    isRepeated: true,
  },
  examples: [
    "reel fleet history deploy/web -n shop --since 24h --clusters 'prod-*' s3://recordings",
    "reel fleet history deploy --field 'spec.template.spec.containers[*].image' --since 24h s3://recordings",
  ],
}

const eventsTable = { ...eventsOptions, ...askedOptions }
const eventsSyntax: CommandSyntax<typeof eventsTable> = {
  ...asked,
  name: "reel fleet events",
  summary: "Shows what changed in a stretch of time in many clusters, of all recorded kinds or some.",
  options: eventsTable,
  operand: { placeholder: "ADDRESS", help: "the clusters", count: 1 },
  examples: ["reel fleet events --since 10m -k nodes --clusters 'eu/*' s3://recordings"],
}

const { clusters } = askedOptions
const diffTable = { at: required("TIME..TIME", "the two moments"), ...momentsOptions, output: outputOption, clusters }
const diffSyntax: CommandSyntax<typeof diffTable> = {
  ...asked,
  name: "reel fleet diff",
  summary: "Shows what is different between two moments in many clusters, one cluster after the other.",
  options: diffTable,
  operand: {
    placeholder: "[KIND/NAME] ADDRESS",
    help: "the object, or its kind; and the clusters",
    count: 1,
    isRepeated: true,
  },
  examples: ["reel fleet diff deploy --at -24h..now -n shop s3://recordings"],
}

/** The command. `nowMicros`: µs since the Unix epoch. `importing`: loads DuckDB. */
export const fleetCommand = (
  nowMicros: () => number = () => Date.now() * 1000,
  importing?: (name: string) => Promise<unknown>,
): Command => {
  const ofMany: Readonly<Record<string, Command>> = {
    history: command(historySyntax, async (given, terminal, operands) =>
      askFleet(given, terminal, operands, nowMicros(), (object, asking) => history(given, object, asking)),
    ),
    events: command(eventsSyntax, async (given, terminal, operands) =>
      askFleet(given, terminal, operands, nowMicros(), (_, asking) => events(given, asking)),
    ),
    diff: command(diffSyntax, async (given, terminal, operands) =>
      askFleet({ ...given, sort: "cluster" }, terminal, operands, nowMicros(), (object, asking) =>
        diff(given, object, asking),
      ),
    ),
  }
  const ofStreams = command(syntax, async (given, terminal, [action = "", ...addresses]) => {
    if (action === "status") return await status(given, terminal, addresses, nowMicros() / 1000)
    const [address = "", ...others] = addresses
    if (!actions.some((each) => each === action))
      return `${quoted(action)} is none of ${enumerated(actions, "and")}; the action comes first`
    if (others.length > 0) return `${action} takes one address`
    if (action === "facts") return await facts(given, terminal, address)
    if (action === "index") return await index(given, terminal, address, importing)
    return await compact(given, terminal, address, nowMicros)
  })
  return {
    ...ofStreams,
    variants: Object.values(ofMany).map((each) => each.syntax),
    run: (argv, terminal) => {
      const [action = "", ...others] = argv
      const chosen = Object.hasOwn(ofMany, action) ? ofMany[action] : undefined
      return chosen === undefined ? ofStreams.run(argv, terminal) : chosen.run(others, terminal)
    },
  }
}
