/** `reel store`: looks for damage in a recording, and copies what is sound of it. */
import { isArchiveError } from "../archive/archive-errors.ts"
import { salvageRecording } from "../archive/damage/salvage-recording.ts"
import { type DamagedBlock, verifyRecording } from "../archive/damage/verify-recording.ts"
import { formatLocalTime } from "../local-time.ts"
import { quoted, visible } from "../recorder/configuration/quoted.ts"
import { type CommandSyntax, optional, text } from "./command-line/arguments.ts"
import { type Command, command } from "./command-line/command.ts"
import { type ExitCode, exitCodes } from "./command-line/exit-codes.ts"
import { UsageError } from "./command-line/usage-error.ts"
import type { Terminal } from "./terminal/terminal.ts"

const options = {
  dataDir: optional({ placeholder: "DIR", help: "the data directory of the recording; required", parse: text }),
  to: optional({ placeholder: "DIR", help: "salvage: a new or empty directory for the copy; required", parse: text }),
}

const syntax: CommandSyntax<typeof options> = {
  name: "reel store",
  summary: "Checks a recording for damage, and copies what is sound of a damaged one.",
  description: [
    "verify reads all of the recording, also while it is being written, and changes nothing. The exit code is 3 if anything is damaged. Damaged blocks of events are gaps in " +
      "exports, which contain everything else; other damage makes exports fail.",
    "salvage writes a copy without what is damaged, where a recorder can go on and exports work. The exit code is 3 if anything is lost.",
  ],
  options,
  operand: { placeholder: "verify | salvage", help: "what to do" },
  examples: [
    "reel store verify --data-dir /var/lib/kubereel",
    "reel store salvage --data-dir /var/lib/kubereel --to ./salvaged",
  ],
}

/** The command. */
export const storeCommand = (): Command =>
  command(syntax, async ({ dataDir, to }, terminal, [what]) => {
    const problem = problemOf(what, dataDir, to)
    if (problem !== undefined || dataDir === undefined) {
      terminal.standardError.write(`${new UsageError({ command: syntax.name, problem: problem ?? "" }).message}\n`)
      return exitCodes.usage
    }
    try {
      return to === undefined ? verify(dataDir, terminal) : salvage(dataDir, to, terminal)
    } catch (cause) {
      if (!isArchiveError(cause)) throw cause
      terminal.standardError.write(`${syntax.name}: ${visible(cause.message)}\n`)
      return exitCodes.failed
    }
  })

const problemOf = (
  what: string | undefined,
  dataDir: string | undefined,
  to: string | undefined,
): string | undefined => {
  if (what === undefined) return "say what to do: verify or salvage"
  if (what !== "verify" && what !== "salvage") return `${quoted(what)} is neither verify nor salvage`
  if (dataDir === undefined) return `${what} needs --data-dir`
  if (what === "verify" && to !== undefined) return "only salvage has --to"
  return what === "salvage" && to === undefined ? "salvage needs --to" : undefined
}

const verify = (directory: string, { standardOutput }: Terminal): ExitCode => {
  const { faults, damagedBlocks, blocks, checkpoints, isSound } = verifyRecording(directory)
  const say = (line: string): void => void standardOutput.write(`${visible(line)}\n`)
  for (const fault of faults) say(fault)
  for (const block of damagedBlocks) for (const line of linesOf(block)) say(line)
  say(
    isSound
      ? `sound: ${count(blocks, "block")}, ${count(checkpoints, "checkpoint")}`
      : `damaged: ${damagedBlocks.length} of ${count(blocks, "block")}, ${count(faults.length, "other fault")}`,
  )
  return isSound ? exitCodes.ok : exitCodes.incomplete
}

const linesOf = ({ lastSequence, fault, kinds }: DamagedBlock): ReadonlyArray<string> => [
  `the block up to event ${lastSequence} is damaged: ${fault}`,
  ...kinds.map(({ gvk, fromTime, toTime, events }) => {
    const [from, to] = [fromTime, toTime].map((micros) => formatLocalTime(micros / 1000, Date.now()))
    return `  ${gvk}: ${count(events, "change")} from ${from} to ${to}`
  }),
]

const salvage = (directory: string, target: string, { standardOutput }: Terminal): ExitCode => {
  const { lost, recovered, blocks, lostBlocks } = salvageRecording(directory, target)
  const say = (line: string): void => void standardOutput.write(`${visible(line)}\n`)
  for (const each of recovered) say(`recovered: ${each}`)
  for (const each of lost) say(`lost: ${each}`)
  say(`copied to ${target}: ${blocks - lostBlocks} of ${count(blocks, "block")}`)
  return lost.length === 0 ? exitCodes.ok : exitCodes.incomplete
}

const count = (number: number, what: string): string => `${number} ${what}${number === 1 ? "" : "s"}`
