/** `reel fleet`: what is made of the streams of clusters in object stores. */
import { setTimeout } from "node:timers/promises"
import { openStore, readStorePlace } from "../blob/index.ts"
import { makeFacts } from "../facts/index.ts"
import { type CommandSyntax, flag, optional, refused, value } from "./command-line/arguments.ts"
import { type Command, command } from "./command-line/command.ts"
import { exitCodes, Misasked } from "./command-line/exit-codes.ts"
import { progressLine } from "./terminal/live-line.ts"
import { formatCount } from "./terminal/quantities.ts"
import { interruption } from "./terminal/terminal.ts"

const options = {
  dataDir: optional("DIR", "a data directory of the stream: the recorder's own, or one of reel restore; required"),
  cluster: optional("NAME", "the cluster's name in the facts; default: the last part of the address", (given) =>
    /^[\w.-]+$/.test(given) ? value(given) : refused("must consist of letters, digits, ., _ and -"),
  ),
  to: optional(
    "ADDRESS",
    "where to put the facts, such as a place that all clusters share; default: beside the stream",
  ),
  watch: flag({ help: "then go on with what is recorded, until Ctrl-C" }),
}

const syntax: CommandSyntax<typeof options> = {
  name: "reel fleet",
  summary: "Makes facts of a cluster's stream: Parquet files for query engines.",
  description: [
    "Makes a file of the changes of each segment of the stream, for reel sql, DuckDB, Spark, Trino, ClickHouse, Athena and others. Each is created once; the command goes on behind those that are there.",
    "Credentials for the store are those of its own tools, in the environment.",
  ],
  options,
  operand: {
    placeholder: "facts ADDRESS",
    help: "what to make, and of which stream: s3://BUCKET/PREFIX, gs://, azure://, or a directory",
    count: 2,
    choices: ["facts"],
  },
  exitCodes: { ok: "also after Ctrl-C with --watch", incomplete: "the directory lacks the last segments" },
  examples: [
    "reel fleet facts s3://recordings/production --data-dir /var/lib/kubereel --watch",
    "reel fleet facts s3://recordings/production --data-dir ./prod --to s3://recordings/all",
  ],
  seeAlso: ["reel sql", "reel restore", "docs/guides/query.md", "docs/reference/facts.md"],
}

const placeOf = (address: string) => {
  const reading = readStorePlace(address)
  if (reading.tag === "refused") throw new Misasked(reading.message)
  return reading.place
}

/** The command. `pauseMs`: between two looks at the store. */
export const fleetCommand = (pauseMs = 10_000): Command =>
  command(syntax, async ({ dataDir: directory, cluster, to, watch }, terminal, [what = "", address = ""]) => {
    if (what !== "facts") return "only facts can be made"
    if (directory === undefined) return "name a data directory of the stream, with --data-dir"
    const place = placeOf(address)
    const named = cluster ?? /[\w.-]+$/.exec(place.key || place.bucket)?.[0]
    if (named === undefined) return "give the cluster a name, with --cluster"
    using interrupted = interruption(terminal)
    using progress = progressLine(terminal)
    const { signal } = interrupted
    const stream = await openStore(place)
    const target = to === undefined ? stream : await openStore(placeOf(to))
    let [segments, rows] = [0, 0]
    try {
      for await (const pass of makeFacts({ stream, target, directory, cluster: named, signal })) {
        segments += pass.segments
        rows += pass.rows
        progress.show(() => `facts up to segment ${pass.through}: ${formatCount(rows, "change")}`)
        if (pass.segments > 0) continue
        if (watch) await setTimeout(pauseMs, undefined, { signal })
        else if (pass.lacks === undefined) break
        else {
          terminal.say(`${directory} does not have segment ${pass.lacks} yet`)
          return exitCodes.incomplete
        }
      }
    } catch (error) {
      if (!signal.aborted) throw error
      if (!watch) return exitCodes.interrupted
    } finally {
      stream.close()
      target.close()
    }
    progress.close()
    terminal.standardOutput.write(`facts of ${formatCount(segments, "segment")}: ${formatCount(rows, "change")}\n`)
    return exitCodes.ok
  })
