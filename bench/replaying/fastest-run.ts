/** Runs of scenario *replay* that are as fast as the target, and the bare client that makes the same writes before. */
import { measureBareClient } from "./bare-client.ts"
import { type RunOptions, runReplay } from "./replay-run.ts"

/** What `reel replay` uses unless told otherwise. */
export const connections = 16

export interface FastestRun {
  /** Writes a second: from the first moment of the trace to the last response, as the command reports it. */
  readonly rate: number
  /** From the first write received to the last one; `undefined` if the target does not tell. */
  readonly receivedRate: number | undefined
  /** The bare client's. */
  readonly limit: number
  /** Of the whole process, from its start to its end. */
  readonly cpuMsPerWrite: number
}

/** The bare client first: whatever it leaves for controllers to do slows the replay down, and not the limit. */
export const measureFastest = async (options: RunOptions): Promise<FastestRun> => {
  const limit = await measureBareClient({ ...options, connections })
  const { report, received, cpuSeconds } = await runReplay(options)
  const { accepted } = report.events
  const [first = 0, last = 0] = [received?.[0]?.[1], received?.at(-1)?.[1]]
  return {
    rate: (accepted * 1000) / report.run.durationMs,
    receivedRate: received && ((accepted - 1) * 1e6) / (last - first),
    limit,
    cpuMsPerWrite: (cpuSeconds * 1000) / accepted,
  }
}
