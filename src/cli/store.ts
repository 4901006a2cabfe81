/** `reel store`: shows, checks, compacts and copies a recording. */
import {
  backupRecording,
  compactRecording,
  type DamagedBlock,
  type RecordingInfo,
  readRecordingInfo,
  salvageRecording,
  verifyRecording,
} from "../archive/index.ts"
import { formatInstant, formatLocalTime } from "../local-time.ts"
import { readRetainBytes, readRetainFor, retentionSettings } from "../recorder/index.ts"
import { enumerated, quoted, visible } from "../text/index.ts"
import { type CommandSyntax, list, type OptionValues, oneOf, optional, withDefault } from "./command-line/arguments.ts"
import { type Command, command } from "./command-line/command.ts"
import { type ExitCode, exitCodes } from "./command-line/exit-codes.ts"
import { parseOwnDirectory } from "./command-line/shared-options.ts"
import { directoryToRead } from "./export/connection/directory-to-read.ts"
import { givenLimits, ofKinds } from "./record/record-limits.ts"
import { alignedRows } from "./terminal/display-width.ts"
import { formatBytes, formatCount } from "./terminal/quantities.ts"
import type { Terminal } from "./terminal/terminal.ts"

// `reel store info`: what a recording holds, as a table or as JSON.

/** For programs. Times are RFC 3339, `null` where there is none; sizes are bytes. */
const infoJson = (info: RecordingInfo): string => {
  const { kinds, leases, growthPerDay, daysLeft, ...rest } = info
  const document = {
    ...rest,
    growthPerDay: growthPerDay ?? null,
    daysLeft: daysLeft === undefined ? null : Math.round(daysLeft * 10) / 10,
    kinds: kinds.map(({ since, until, removedThrough, ...kind }) => ({
      ...kind,
      since: instant(since),
      until: instant(until),
      removedThrough: instant(removedThrough),
      bytesPerEvent: kind.events === 0 ? null : Math.round((kind.storedBytes / kind.events) * 10) / 10,
    })),
    leases: leases.map(({ fromTime, ...lease }) => ({ ...lease, from: instant(fromTime) })),
  }
  return JSON.stringify(document, undefined, 2)
}

/** For people, a line each. */
const infoLines = (info: RecordingInfo, nowMs: number): ReadonlyArray<string> => {
  const local = (micros: number): string => (micros === 0 ? "-" : formatLocalTime(micros / 1000, nowMs))
  const head = ["KIND", "FROM", "UNTIL", "EVENTS", "BYTES", "PER EVENT", "GAPS"]
  const rows = info.kinds.map(({ gvk, since, removedThrough, until, events, storedBytes, gaps }) => [
    gvk,
    `${local(since)}${removedThrough > 0 ? "*" : ""}`,
    local(until),
    String(events),
    formatBytes(storedBytes),
    events === 0 ? "-" : formatBytes(Math.round(storedBytes / events)),
    String(gaps),
  ])
  const hasRemoved = info.kinds.some(({ removedThrough }) => removedThrough > 0)
  return [
    ...alignedRows([head, ...rows]),
    ...(hasRemoved ? ["* retention has removed what was before"] : []),
    `on disk: ${formatBytes(info.databaseBytes)}, of which ${formatBytes(info.freeBytes)} free, and ${formatBytes(info.logBytes)} of log; ${info.blocks} blocks`,
    growth(info),
    ...info.leases.map(
      ({ purpose, host, pid, since, fromTime }) =>
        `being read since ${formatLocalTime(Date.parse(since), nowMs)} by process ${pid} on ${host}: ${purpose}; kept ${fromTime === 0 ? "from the beginning" : `from ${local(fromTime)}`}`,
    ),
  ]
}

const growth = ({ growthPerDay, daysLeft, diskFreeBytes }: RecordingInfo): string => {
  const free = `${formatBytes(diskFreeBytes)} free on the disk`
  if (growthPerDay === undefined) return `growth: too little is recorded to tell; ${free}`
  const left =
    daysLeft === undefined
      ? ""
      : `: full in ${daysLeft < 10 ? daysLeft.toFixed(1) : Math.round(daysLeft)} days if nothing is removed`
  return `growth: ${formatBytes(growthPerDay)} a day; ${free}${left}`
}

const instant = (micros: number): string | null => (micros === 0 ? null : formatInstant(micros))

const options = {
  dataDir: optional("DIR", "the data directory of the recording; for info also the address of a stream; required"),
  to: optional("DIR", "salvage, backup: a new or empty directory for the copy; required"),
  output: withDefault("table", "-o FORMAT", "info: table for people, json for programs", oneOf("table", "json")),
  retainFor: list(
    "DURATION",
    "compact: also remove what is older, such as 30d; of a kind: v1.Event=1d",
    ofKinds((given) => readRetainFor(given)),
  ),
  retainBytes: list(
    "SIZE",
    "compact: also remove the oldest until the recording fits, such as 20Gi; of a kind: v1.Event=1Gi",
    ofKinds((given, gvk) => readRetainBytes(given, gvk !== undefined)),
  ),
}

type Given = OptionValues<typeof options>

const actions = ["info", "verify", "compact", "backup", "salvage"] as const
type Action = (typeof actions)[number]

const syntax: CommandSyntax<typeof options> = {
  name: "reel store",
  summary: "Shows what a recording takes, checks it, makes it smaller, copies it.",
  description: [
    "info shows what is recorded from when on, what it takes on disk by kind, how fast it grows, and who reads it.",
    "verify reads all of the recording, also while it is being written, and changes nothing. Damaged blocks of events are gaps in " +
      "exports, which contain everything else; other damage makes exports fail.",
    "compact removes from a recording that no recorder writes what nothing refers to any more, and gives free space back. A running recorder does this itself if its retention is limited.",
    "backup copies a recording, also while it is being written, and verifies the copy; a recorder can continue in it.",
    "salvage writes a copy without what is damaged, where a recorder can continue and exports work. It says what it recovered and what is lost.",
  ],
  options,
  operand: { placeholder: actions.join(" | "), help: "what to do", choices: actions },
  exitCodes: {
    failed: "nothing can be read",
    incomplete: "verify, backup: something is damaged; salvage: something is lost",
  },
  examples: [
    "reel store info --data-dir /var/lib/kubereel",
    "reel store verify --data-dir /var/lib/kubereel",
    "reel store backup --data-dir /var/lib/kubereel --to ./backup",
    "reel store compact --data-dir ./backup --retain-for 7d",
    "reel store salvage --data-dir /var/lib/kubereel --to ./salvaged",
  ],
  seeAlso: ["reel coverage", "reel record", "docs/guides/recordings.md"],
}

/** The command. */
export const storeCommand = (): Command =>
  command(syntax, async (given, terminal, [what]) => {
    const problem = problemOf(what, given)
    const action = actions.find((each) => each === what)
    const { dataDir } = given
    if (problem !== undefined || dataDir === undefined || action === undefined) return problem ?? ""
    return run(action, dataDir, given, terminal)
  })

const run = (what: Action, dataDir: string, given: Given, terminal: Terminal): ExitCode | Promise<ExitCode> => {
  const { to = "" } = given
  switch (what) {
    case "info":
      return info(dataDir, given, terminal)
    case "verify":
      return verify(dataDir, terminal)
    case "compact":
      return compact(dataDir, given, terminal)
    case "backup":
      return backUp(dataDir, to, terminal)
    case "salvage":
      return salvage(dataDir, to, terminal)
  }
}

const problemOf = (
  what: string | undefined,
  { dataDir, to, output, retainFor, retainBytes }: Given,
): string | undefined => {
  const all = enumerated(actions, "or")
  if (what === undefined) return `say what to do: ${all}`
  if (!actions.some((each) => each === what)) return `${quoted(what)} is none of ${all}`
  if (dataDir === undefined) return `${what} needs --data-dir`
  const own = what === "info" ? undefined : parseOwnDirectory(dataDir)
  if (own?._tag === "Refused") return `--data-dir ${quoted(dataDir)} ${own.reason}`
  const makesCopy = what === "salvage" || what === "backup"
  if (!makesCopy && to !== undefined) return "only salvage and backup have --to"
  if (what !== "info" && output !== "table") return "only info has --output"
  if (what !== "compact" && retainFor.length + retainBytes.length > 0)
    return "only compact has --retain-for and --retain-bytes"
  return makesCopy && to === undefined ? `${what} needs --to` : undefined
}

const info = async (named: string, { output }: Given, { standardOutput, environment }: Terminal): Promise<ExitCode> => {
  const { directory, close } = await directoryToRead(named, { environment })
  close()
  const found = readRecordingInfo(directory, Date.now() * 1000)
  const lines = output === "json" ? infoJson(found) : infoLines(found, Date.now()).map(visible).join("\n")
  standardOutput.write(`${lines}\n`)
  return exitCodes.ok
}

const compact = (directory: string, { retainFor, retainBytes }: Given, { standardOutput }: Terminal): ExitCode => {
  const given = givenLimits(retainFor, retainBytes)
  const { kinds, ...limits } = retentionSettings({ kinds: [], source: "" }, given)
  const policy = { ...limits, kinds: new Map(kinds.map(({ gvk, ...own }) => [gvk, own])) }
  const { before, after, removedEvents } = compactRecording(directory, policy)
  const removed = removedEvents === 0 ? "" : `, ${formatCount(removedEvents, "event")} removed`
  standardOutput.write(`${formatBytes(before)} before, ${formatBytes(after)} now${removed}\n`)
  return exitCodes.ok
}

const backUp = async (directory: string, target: string, { standardOutput }: Terminal): Promise<ExitCode> => {
  const copy = await backupRecording(directory, target)
  if (copy.isSound) {
    standardOutput.write(`copied to ${visible(target)} and verified: ${formatCount(copy.blocks, "block")}\n`)
    return exitCodes.ok
  }
  const lines = [...copy.faults, ...copy.damagedBlocks.flatMap(linesOf)]
  for (const line of lines) standardOutput.write(`${visible(line)}\n`)
  standardOutput.write(`the copy in ${visible(target)} is damaged; check the recording with reel store verify\n`)
  return exitCodes.incomplete
}

const verify = (directory: string, { standardOutput }: Terminal): ExitCode => {
  const { faults, damagedBlocks, blocks, checkpoints, isSound } = verifyRecording(directory)
  const say = (line: string): void => void standardOutput.write(`${visible(line)}\n`)
  for (const fault of faults) say(fault)
  for (const block of damagedBlocks) for (const line of linesOf(block)) say(line)
  say(
    isSound
      ? `sound: ${formatCount(blocks, "block")}, ${formatCount(checkpoints, "checkpoint")}`
      : `damaged: ${damagedBlocks.length} of ${formatCount(blocks, "block")}, ${formatCount(faults.length, "other fault")}`,
  )
  return isSound ? exitCodes.ok : exitCodes.incomplete
}

const linesOf = ({ lastSequence, fault, kinds }: DamagedBlock): ReadonlyArray<string> => [
  `the block up to event ${lastSequence} is damaged: ${fault}`,
  ...kinds.map(({ gvk, fromTime, toTime, events }) => {
    const [from, to] = [fromTime, toTime].map((micros) => formatLocalTime(micros / 1000, Date.now()))
    return `  ${gvk}: ${formatCount(events, "change")} from ${from} to ${to}`
  }),
]

const salvage = (directory: string, target: string, { standardOutput }: Terminal): ExitCode => {
  const { lost, recovered, blocks, lostBlocks } = salvageRecording(directory, target)
  const say = (line: string): void => void standardOutput.write(`${visible(line)}\n`)
  for (const each of recovered) say(`recovered: ${each}`)
  for (const each of lost) say(`lost: ${each}`)
  say(`copied to ${target}: ${blocks - lostBlocks} of ${formatCount(blocks, "block")}`)
  return lost.length === 0 ? exitCodes.ok : exitCodes.incomplete
}
