/** The memory of a replay whose trace is much larger than memory: it is generated while it is read and never on disk. */
import { readMemory } from "../processes/process-watch.ts"
import { type RunOptions, runReplay } from "./replay-run.ts"
import { mostlyHeartbeats } from "./replay-workload.ts"

/** Bytes of one Deployment: longer than usual, because the server is to be written to a tenth as often as it would be otherwise. */
const objectBytes = 20_000
/** Of each ten states of one of them, nine differ in their status only, as in a cluster. */
const objects = 500

export interface PipedRun {
  /** Largest resident memory until a tenth of the trace was read, and until the end. */
  readonly earlyBytes: number
  readonly peakBytes: number
  readonly traceBytes: number
  readonly seconds: number
}

export const measurePiped = async (
  traceBytes: number,
  options: Omit<RunOptions, "workload" | "speed">,
): Promise<PipedRun> => {
  let earlyBytes: number | undefined
  let piped = 0
  const start = performance.now()
  const { peakBytes } = await runReplay({
    ...options,
    workload: mostlyHeartbeats(Math.ceil(traceBytes / objectBytes), objects, objectBytes),
    speed: "max",
    onPiped: (bytes, { pid }) => {
      piped = bytes
      if (bytes >= traceBytes / 10) earlyBytes ??= readMemory(pid).peak
    },
  })
  return {
    earlyBytes: earlyBytes ?? Number.NaN,
    peakBytes,
    traceBytes: piped,
    seconds: (performance.now() - start) / 1000,
  }
}
