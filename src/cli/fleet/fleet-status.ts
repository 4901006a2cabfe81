/** `reel fleet status`: the streams at or below some addresses, as a table or as JSON. */
import { type BlobStore, inParallel } from "../../blob/index.ts"
import {
  isStreamError,
  readStreamStatus,
  STREAMS_AT_ONCE,
  type StreamStatus,
  storeBelow,
  streamsBelow,
} from "../../fleet/index.ts"
import { formatInstant, formatLocalTime } from "../../local-time.ts"
import { visible, visibleInJson } from "../../text/index.ts"
import { type OptionValues, oneOf, type Reading, refused, value, withDefault } from "../command-line/arguments.ts"
import type { CommandTerminal } from "../command-line/command.ts"
import { type ExitCode, exitCodes } from "../command-line/exit-codes.ts"
import { alignedRows } from "../terminal/display-width.ts"
import { formatBytes, formatDuration } from "../terminal/quantities.ts"
import { opened } from "./opened-store.ts"

const parsePrice = (given: string): Reading<number> =>
  /^\d{1,6}(?:\.\d{1,6})?$/.test(given) ? value(Number(given)) : refused("must be a number such as 0.023")

export const statusOptions = {
  price: withDefault(
    "0.023",
    "NUMBER",
    "status: price of a GB for a month, in any currency; that of S3 Standard in most regions, in US dollars, is the default",
    parsePrice,
  ),
  output: withDefault("table", "-o FORMAT", "status: table for people, json for programs", oneOf("table", "json")),
}

/** A stream, or why it cannot be read. */
interface Found {
  readonly location: string
  readonly status?: StreamStatus
  readonly trouble?: string
}

export const status = async (
  { output, price }: OptionValues<typeof statusOptions>,
  terminal: CommandTerminal,
  addresses: ReadonlyArray<string>,
  nowMs: number,
): Promise<ExitCode> => {
  const found: Found[] = []
  for (const address of addresses) {
    using store = await opened(address)
    const prefixes = await streamsBelow(store)
    await inParallel(prefixes, STREAMS_AT_ONCE, async (prefix) => found.push(await statusOf(store, prefix)))
  }
  found.sort((one, other) => (one.location < other.location ? -1 : 1))
  const { standardOutput, say } = terminal
  const isSound = found.length > 0 && found.every(({ trouble }) => trouble === undefined)
  if (output === "json") {
    const items = found.map((each) => jsonOf(each, price, nowMs))
    standardOutput.write(`${visibleInJson(JSON.stringify({ items }, undefined, 2))}\n`)
  } else {
    if (found.length === 0) say("no streams found")
    else for (const line of table(found, price, nowMs)) standardOutput.write(`${line}\n`)
    for (const { trouble } of found) if (trouble !== undefined) say(trouble)
  }
  return isSound ? exitCodes.ok : exitCodes.incomplete
}

/** A damaged stream does not keep others from being shown; a store that cannot be read does. */
const statusOf = async (store: BlobStore, prefix: string): Promise<Found> => {
  const below = storeBelow(store, prefix)
  try {
    return { location: below.location, status: await readStreamStatus(below) }
  } catch (error) {
    if (!isStreamError(error)) throw error
    return { location: below.location, trouble: error.message }
  }
}

const costPerDay = (bytes: number, price: number): number => (bytes / 1e9) * (price / 30)

const jsonOf = ({ location, status: known, trouble }: Found, price: number, nowMs: number) => {
  if (known === undefined) return { location, trouble }
  const { description, from, until, gaps = null, bytesPerDay, ...rest } = known
  const instant = (micros: number) => (micros === 0 ? null : formatInstant(Math.round(micros)))
  return {
    ...{ location, clusterUid: description.clusterUid, stream: description.stream },
    ...{ from: instant(from), until: instant(until), ...rest, gaps },
    lagSeconds: until === 0 ? null : Math.max(0, Math.round(nowMs / 1000 - until / 1e6)),
    bytesPerDay: bytesPerDay === undefined ? null : Math.round(bytesPerDay),
    costPerDay: costPerDay(rest.bytes, price),
  }
}

const table = (found: ReadonlyArray<Found>, price: number, nowMs: number): ReadonlyArray<string> => {
  const rows = found.map(({ location, status: known }) => {
    if (known === undefined) return [visible(location), "cannot be read"]
    const { description, until, segments, compacted, bytes, gaps, bytesPerDay } = known
    return [
      ...[visible(location), description.clusterUid.slice(0, 8)],
      ...(until === 0 ? ["-", "-"] : [formatLocalTime(until / 1000, nowMs), formatDuration(nowMs - until / 1000)]),
      ...[gaps === undefined ? "-" : String(gaps), `${segments}+${compacted}`, formatBytes(bytes)],
      ...[bytesPerDay === undefined ? "-" : formatBytes(bytesPerDay), costPerDay(bytes, price).toFixed(4)],
    ]
  })
  const head = ["STREAM", "CLUSTER", "UNTIL", "LAG", "GAPS", "OBJECTS", "BYTES", "A DAY", "COST OF A DAY"]
  return alignedRows([head, ...rows])
}
