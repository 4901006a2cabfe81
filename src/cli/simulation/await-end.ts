/** Waits for the end of one Simulation, shows how far it is, and says how it went by the exit code. */
import { backgroundClock } from "../../clock.ts"
import type { ApiClient } from "../../kube/index.ts"
import type { Simulation } from "../../simulation/index.ts"
import { visible } from "../../text/index.ts"
import type { CommandTerminal } from "../command-line/command.ts"
import { type ExitCode, exitCodes } from "../command-line/exit-codes.ts"
import { progressLine } from "../terminal/live-line.ts"
import { formatDuration } from "../terminal/quantities.ts"
import { interruption, isLive } from "../terminal/terminal.ts"
import { followSimulations } from "./follow-simulations.ts"
import { describeEnd, describeProgress, hasEnded } from "./simulation-lines.ts"

interface Awaited {
  /** The one that was created: another of its name does not count. */
  readonly simulation: Simulation
  readonly timeoutMs: number | undefined
  /** What to do about a simulation that continues without this command. Absent: none does. */
  readonly advice?: string
}

/**
 * Prints the reports of the repetitions to standard output, progress to standard error: a live line on a terminal, elsewhere a line for each state. Exit codes: finished 0, failed, deleted or
 * too late 1, writes refused 3, Ctrl-C 130, which leaves the Simulation as it is.
 */
export const awaitEnd = async (
  client: ApiClient,
  { simulation, timeoutMs, advice }: Awaited,
  terminal: CommandTerminal,
): Promise<ExitCode> => {
  const { standardOutput, standardError, environment } = terminal
  const { name, uid } = simulation.metadata
  const live = isLive(standardError, environment)
  using line = progressLine(terminal)
  const say = (text: string): void => line.around(() => terminal.say(text))
  let isLate = false
  using stop = interruption(terminal)
  const limit =
    timeoutMs === undefined
      ? undefined
      : backgroundClock.after(timeoutMs, () => {
          isLate = true
          stop.interrupt()
        })
  let last: Simulation | undefined
  let state: string | undefined
  try {
    const how = await followSimulations(client, {
      name,
      signal: stop.signal,
      onTrouble: say,
      take: (all) => {
        last = all.find(({ metadata }) => metadata.uid === uid)
        if (last === undefined) return true
        const text = describeProgress(last)
        line.show(() => text)
        if (!live && last.status?.state !== state) say(text)
        state = last.status?.state
        return hasEnded(last)
      },
    })
    line.close()
    if (how === "aborted") {
      const problem = isLate ? `not ended after ${formatDuration(timeoutMs ?? 0)}` : "interrupted"
      say(advice === undefined ? problem : `${problem}; ${advice}`)
      return isLate ? exitCodes.failed : exitCodes.interrupted
    }
    if (last === undefined) {
      say(`the Simulation ${name} was deleted before it had ended`)
      return exitCodes.failed
    }
    for (const text of describeEnd(last)) standardOutput.write(`${visible(text)}\n`)
    return exitCodeOf(last)
  } finally {
    limit?.cancel()
  }
}

const exitCodeOf = ({ status }: Simulation): ExitCode => {
  if (status?.state !== "Finished") return exitCodes.failed
  const isIncomplete = status.reports?.some(({ writesRefused }) => writesRefused > 0) ?? false
  return isIncomplete ? exitCodes.incomplete : exitCodes.ok
}
