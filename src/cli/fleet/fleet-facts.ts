/** `reel fleet facts`: makes Parquet files of a stream. */
import { setTimeout } from "node:timers/promises"
import { makeFacts } from "../../facts/index.ts"
import { quoted } from "../../text/index.ts"
import { flag, type OptionValues, optional, refused, value } from "../command-line/arguments.ts"
import type { CommandTerminal } from "../command-line/command.ts"
import { type ExitCode, exitCodes } from "../command-line/exit-codes.ts"
import { directoryToRead } from "../export/connection/directory-to-read.ts"
import { progressLine } from "../terminal/live-line.ts"
import { formatCount } from "../terminal/quantities.ts"
import { interruption } from "../terminal/terminal.ts"
import { opened } from "./opened-store.ts"

const clusterName = /^[\w.-]+$/

/** What stands behind the last slash of a URL, as people write it. */
const lastPartOf = (url: string): string => decodeURIComponent(url.slice(url.lastIndexOf("/") + 1))

export const factsOptions = {
  dataDir: optional(
    "DIR",
    "facts: a data directory of the stream: the recorder's own, or one of reel restore; default: the stream itself is read, by ranges",
  ),
  cluster: optional("NAME", "facts: the cluster's name in them; default: the last part of the address", (given) =>
    clusterName.test(given) ? value(given) : refused("must consist of letters, digits, ., _ and -"),
  ),
  to: optional(
    "ADDRESS",
    "facts: where to put them, such as a place that all clusters share; default: beside the stream",
  ),
  watch: flag({ help: "facts: then go on with what is recorded, until Ctrl-C" }),
}

/** ms between two looks at the store: recorders write every 20 s. */
const pauseMs = 10_000

/** A sentence: what is wrong with the command line. */
export const facts = async (
  { dataDir, cluster, to, watch }: OptionValues<typeof factsOptions>,
  terminal: CommandTerminal,
  address: string,
): Promise<ExitCode | string> => {
  using stream = await opened(address)
  using target = await opened(to ?? address)
  const named = cluster ?? lastPartOf(stream.location)
  if (!clusterName.test(named)) return `give the cluster a name, with --cluster: ${quoted(named)} cannot be one`
  const { environment, say } = terminal
  using interrupted = interruption(terminal)
  using progress = progressLine(terminal)
  const { signal } = interrupted
  let [segments, rows] = [0, 0]
  let close = (): void => undefined
  try {
    const read = await directoryToRead(dataDir ?? address, { environment, say, signal, everyMs: pauseMs })
    close = read.close
    const { directory } = read
    for await (const pass of makeFacts({ stream, target, directory, cluster: named, signal })) {
      segments += pass.segments
      rows += pass.rows
      progress.show(() => `facts up to segment ${pass.through}: ${formatCount(rows, "change")}`)
      if (pass.segments > 0) continue
      if (watch) {
        await setTimeout(pauseMs, undefined, { signal })
        await read.update()
        // What was created since a mirror was brought up to date is of the next run.
      } else if (pass.lacks === undefined || read.isMirror) break
      else {
        say(`${directory} does not have segment ${pass.lacks} yet`)
        return exitCodes.incomplete
      }
    }
  } catch (error) {
    if (!signal.aborted) throw error
    if (!watch) return exitCodes.interrupted
  } finally {
    close()
  }
  progress.close()
  terminal.standardOutput.write(`facts of ${formatCount(segments, "segment")}: ${formatCount(rows, "change")}\n`)
  return exitCodes.ok
}
