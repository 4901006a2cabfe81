/** A question to many clusters: each is asked as a single one is, some at once, and the answers are put in one order. What they say for people is said once. */
import { inParallel } from "../../blob/index.ts"
import { visibleInJson } from "../../text/index.ts"
import type { CommandTerminal } from "../command-line/command.ts"
import { type ExitCode, exitCodes } from "../command-line/exit-codes.ts"
import { isExportError } from "../export/connection/export-errors.ts"
import { type Asking, askPlaces } from "../past/asking.ts"
import { UnknownWriters } from "../past/describe-change.ts"
import { UnknownKind } from "../past/object-name.ts"
import { ofDirectory } from "../past/past-places.ts"
import { progressLine } from "../terminal/live-line.ts"
import { interruption } from "../terminal/terminal.ts"
import { clustersAt, namesText } from "./clusters.ts"
import { SortedAnswers } from "./sorted-answers.ts"

/** Clusters that are asked at once: each has a file and a thread open meanwhile. */
const atOnce = 8

/** How answers are printed. */
interface Printed {
  readonly clusters: ReadonlyArray<string>
  readonly sort: "time" | "cluster"
  readonly output: string
}

/** What is said of clusters: a line once, with the names of those that it is about. */
class SaidOfClusters {
  readonly #names = new Map<string, Set<string>>()
  readonly #nothing = new Set<string>()

  note(name: string, line: string, isNothing = false): void {
    this.#names.set(line, (this.#names.get(line) ?? new Set()).add(name))
    if (isNothing) this.#nothing.add(line)
  }

  /** `asked`, `answered`: numbers of clusters. That something does not exist is left out if it does in one that answered. */
  lines(asked: number, answered: number, isEmpty: boolean): ReadonlyArray<string> {
    return [...this.#names].flatMap(([line, names]) => {
      if (names.size === asked) return [line]
      const isLeftOut = this.#nothing.has(line) && !isEmpty && names.size < answered
      return isLeftOut ? [] : [`${namesText([...names].sort())}: ${line}`]
    })
  }
}

/** Asks the clusters below an address, which is the last operand. `now`: µs since the Unix epoch. Rejects as `run` does, if it is not about one of them. @throws Misasked */
export const askFleet = async (
  { clusters: globs, sort, output }: Printed,
  terminal: CommandTerminal,
  operands: ReadonlyArray<string>,
  now: number,
  run: (object: ReadonlyArray<string>, asking: Asking) => Promise<ExitCode | undefined>,
): Promise<ExitCode> => {
  const clusters = await clustersAt(operands.at(-1) ?? "", globs)
  const width = Math.max(...clusters.map(({ name }) => name.length))
  using interrupted = interruption(terminal)
  using progress = progressLine(terminal)
  using answers = new SortedAnswers()
  const { signal } = interrupted
  const [said, unknown, nowMs] = [new SaidOfClusters(), new UnknownWriters(), now / 1000]
  const unknownKinds: UnknownKind[] = []
  let [ended, answered, isIncomplete] = [0, 0, false]
  let outcome: ExitCode | undefined
  await inParallel([...clusters.entries()], atOnce, async ([index, { name, address: dataDir }]) => {
    const say = (line: string): void => progress.around(() => terminal.say(`${name}: ${line}`))
    const head = output === "json" ? `{"cluster":${JSON.stringify(name)},` : `${name.padEnd(width)}  `
    try {
      const { code, missing } = await askPlaces(
        ofDirectory(dataDir),
        { terminal, say, signal },
        {
          ...{ nowMs, unknown, isOneOfMany: true, say: (line, isNothing) => said.note(name, line, isNothing) },
          print: (line, time = 0) => answers.add(time, index, head + (output === "json" ? line.slice(1) : line)),
        },
        (asking) => run(operands.slice(0, -1), asking),
      )
      answered++
      outcome ??= code
      isIncomplete ||= missing.isIncomplete
      for (const line of missing.lines(nowMs)) said.note(name, line)
    } catch (cause) {
      if (cause instanceof UnknownKind) unknownKinds.push(cause)
      else if (signal.aborted || !isOfCluster(cause)) throw cause
      else {
        isIncomplete = true
        say(cause.message)
      }
    }
    ended++
    progress.show(() => `asked ${ended} of ${clusters.length} clusters`)
  })
  progress.close()
  if (unknownKinds[0] !== undefined && unknownKinds.length === clusters.length) throw unknownKinds[0]
  for (const line of answers.lines(sort)) terminal.standardOutput.write(`${visibleInJson(line)}\n`)
  if (unknown.note !== undefined) terminal.say(unknown.note)
  for (const line of said.lines(clusters.length, answered, answers.isEmpty)) terminal.say(line)
  if (isIncomplete) return exitCodes.incomplete
  return answers.isEmpty ? (outcome ?? exitCodes.ok) : exitCodes.ok
}

/** Whether one cluster cannot be read; else the question is wrong, for all of them. */
const isOfCluster = (cause: unknown): cause is Error =>
  isExportError(cause) && !("status" in cause && Number(cause.status) >= 400 && Number(cause.status) < 500)
