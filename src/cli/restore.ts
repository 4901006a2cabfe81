/** `reel restore`: makes a data directory of a stream in an object store. */
import { openStore, readStorePlace } from "../blob/index.ts"
import { type Restored, restoreStream } from "../fleet/index.ts"
import { formatLocalTime } from "../local-time.ts"
import { visible } from "../text/index.ts"
import { type CommandSyntax, optional } from "./command-line/arguments.ts"
import { type Command, command } from "./command-line/command.ts"
import { exitCodes } from "./command-line/exit-codes.ts"
import { progressLine } from "./terminal/live-line.ts"
import { formatBytes, formatCount } from "./terminal/quantities.ts"
import { interruption } from "./terminal/terminal.ts"

const options = {
  into: optional(
    "DIR",
    "the data directory for the recording: new, empty, or one in which this was interrupted; required",
  ),
}

const syntax: CommandSyntax<typeof options> = {
  name: "reel restore",
  summary: "Makes a recording of what a recorder has sent to an object store.",
  description: [
    "Reads a stream, checks that it is whole, and writes the recording that it is of, which answers every question as the original does. A recorder can continue in it.",
    "If it is interrupted, the same command goes on where it ended. Nothing in the directory is taken for a recording before everything is there and was checked.",
    "Credentials for the store are those of its own tools, in the environment.",
  ],
  options,
  operand: {
    placeholder: "ADDRESS",
    help: "s3://BUCKET/PREFIX, gs://, azure://, or a directory with a stream",
    count: 1,
  },
  exitCodes: {
    failed: "nothing was restored; the message names the object and says why",
    interrupted: "stopped by Ctrl-C; the same command goes on from there",
  },
  examples: [
    "reel restore s3://history/clusters/prod --into /var/lib/kubereel",
    "reel restore ./backup/prod --into ./prod && reel history deploy/web --data-dir ./prod",
  ],
  seeAlso: ["reel store", "docs/reference/stream-format.md"],
}

/** The command. `nowMs`: ms since the Unix epoch. */
export const restoreCommand = (nowMs: () => number = Date.now): Command =>
  command(syntax, async ({ into }, terminal, [address = ""]) => {
    if (into === undefined) return "say where to, with --into DIR"
    const reading = readStorePlace(address)
    if (reading.tag === "refused") return reading.message
    using interrupted = interruption(terminal)
    using progress = progressLine(terminal)
    const { signal } = interrupted
    using store = await openStore(reading.place)
    try {
      const restored = await restoreStream(store, into, {
        signal,
        onProgress: ({ segments, allSegments, bytes }) =>
          progress.show(() => `restored ${segments} of ${allSegments} segments, ${formatBytes(bytes)}`),
      })
      progress.close()
      terminal.standardOutput.write(`${visible(sentence(restored, into, nowMs()))}\n`)
      return exitCodes.ok
    } catch (error) {
      if (!signal.aborted) throw error
      progress.close()
      terminal.say("interrupted; the same command goes on from there")
      return exitCodes.interrupted
    }
  })

const sentence = (
  { description, segments, bytes, blocks, lostBlocks, until }: Restored,
  into: string,
  nowMs: number,
): string => {
  const end = until === 0 ? "" : `, up to ${formatLocalTime(until / 1000, nowMs)}`
  const what = `${formatCount(segments, "segment")}, ${formatBytes(bytes)}, ${formatCount(blocks, "block")}`
  const lost =
    lostBlocks === 0 ? "" : `; damaged before they were archived, and gaps now: ${formatCount(lostBlocks, "block")}`
  return `restored cluster ${description.clusterUid} into ${into}${end}, and verified: ${what}${lost}`
}
