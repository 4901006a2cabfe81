/** `reel fleet compact`: makes few large objects of the small ones of a stream, and one file of the facts of each day. */
import { randomBytes } from "node:crypto"
import { tmpdir } from "node:os"
import { joinFacts } from "../../facts/index.ts"
import { compactStream, NoStreamError } from "../../fleet/index.ts"
import { readRetainFor } from "../../recorder/index.ts"
import { type OptionValues, optional, type Reading, refused, value, withDefault } from "../command-line/arguments.ts"
import type { CommandTerminal } from "../command-line/command.ts"
import { type ExitCode, exitCodes } from "../command-line/exit-codes.ts"
import { parseDuration } from "../command-line/instant.ts"
import { formatBytes, formatCount } from "../terminal/quantities.ts"
import { interruption } from "../terminal/terminal.ts"
import { opened } from "./opened-store.ts"

const parseKeep = (given: string): Reading<number> => {
  const [, years] = /^(\d{1,3})y$/.exec(given) ?? []
  const micros = readRetainFor(years === undefined ? given : `${Number(years) * 365}d`)
  return typeof micros === "number" ? value(micros) : refused(`${micros.problem}, or 1y`)
}

const parseGrace = (given: string): Reading<number> => {
  const micros = parseDuration(given)
  return micros === undefined ? refused("must be a duration such as 1h or 1d") : value(micros / 1000)
}

export const compactOptions = {
  keep: optional(
    "DURATION",
    "compact: also drop what is older, such as 1y or 90d, and what lives on is kept; up to a tenth longer. Default: everything is kept",
    parseKeep,
  ),
  grace: withDefault(
    "1d",
    "DURATION",
    "compact: how long objects stay that were replaced, for those who are reading them",
    parseGrace,
  ),
}

/** Temporary files are where TMPDIR says. `nowMicros`: µs since the Unix epoch. */
export const compact = async (
  { keep, grace }: OptionValues<typeof compactOptions>,
  terminal: CommandTerminal,
  address: string,
  nowMicros: () => number,
): Promise<ExitCode> => {
  using store = await opened(address)
  using interrupted = interruption(terminal)
  const { signal } = interrupted
  const print = (line: string): void => void terminal.standardOutput.write(`${line}\n`)
  try {
    const facts = await joinFacts(store, { nowMicros: nowMicros(), signal })
    if (facts.days > 0)
      print(`joined ${formatCount(facts.files, "file")} of facts into ${formatCount(facts.days, "file")}`)
    const stream = await compactStream(store, {
      ...{ temporaryDirectory: tmpdir(), keepMicros: keep, graceMs: grace, nowMicros, signal },
      randomId: () => randomBytes(8).toString("hex"),
    }).catch((error: unknown) => {
      // A place for the facts of many clusters has no stream.
      if (!(error instanceof NoStreamError) || !facts.isThere) throw error
      return undefined
    })
    if (stream === undefined) return exitCodes.ok
    const { segments, objects, readBytes, writtenBytes, removed, refused } = stream
    const sizes = `${formatBytes(readBytes)} into ${formatBytes(writtenBytes)}`
    const what = objects === 0 ? "nothing to compact" : `compacted ${formatCount(segments, "segment")}, ${sizes}`
    print(`${what}; removed ${formatCount(removed, "object")} that had been replaced`)
    if (refused !== undefined) terminal.say(`what has been replaced stays for now: ${refused}`)
    return exitCodes.ok
  } catch (error) {
    if (!signal.aborted) throw error
    terminal.say("interrupted; the next run goes on from there")
    return exitCodes.interrupted
  }
}
