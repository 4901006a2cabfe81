/** What a table was measured on, for the line above it. */
import { availableParallelism, cpus, loadavg, release, totalmem } from "node:os"

export interface Machine {
  readonly cpu: string
  readonly cores: number
  readonly memoryGb: number
  readonly kernel: string
  readonly node: string
  /** Processes that wanted a CPU in the minute before: other people's work. */
  readonly load: number
}

/** Ask before anything is measured. */
export const thisMachine = (): Machine => {
  const [first] = cpus()
  return {
    cpu: first === undefined ? "unknown CPU" : `${first.model.trim()}${first.speed > 0 ? ` ${first.speed} MHz` : ""}`,
    cores: availableParallelism(),
    memoryGb: Math.round(totalmem() / 1e9),
    kernel: release(),
    node: process.version,
    load: loadavg()[0] ?? 0,
  }
}

export const describeMachine = (machine: Machine): string => {
  const { cpu, cores, memoryGb, kernel, node, load } = machine
  const busy = load > cores / 4 ? `; BUSY before the start: load ${load.toFixed(1)}, figures are too high` : ""
  return `${cpu}, ${cores} cores, ${memoryGb} GB, Linux ${kernel}, Node ${node}${busy}`
}
