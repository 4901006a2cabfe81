/** The machine that a table was measured on, for the line above it. */
import { availableParallelism, cpus, release, totalmem } from "node:os"
import { setTimeout as sleep } from "node:timers/promises"

/** ms in which other work on the machine is measured. */
const lookMs = 1000
/** Share of all CPUs that a quiet machine may use: clocks, logs, an idle cluster. */
const quietShare = 0.1

export interface Machine {
  readonly cpu: string
  readonly cores: number
  readonly memoryGb: number
  readonly kernel: string
  readonly node: string
  /** Share of all CPUs that other work used before anything was measured. */
  readonly busyShare: number
}

/** Takes a second. Call it before anything is measured. */
export const thisMachine = async (): Promise<Machine> => {
  const before = cpuTimes()
  await sleep(lookMs)
  const after = cpuTimes()
  return {
    cpu: cpus()[0]?.model.trim() ?? "unknown CPU",
    cores: availableParallelism(),
    memoryGb: Math.round(totalmem() / 1e9),
    kernel: release(),
    node: process.version,
    busyShare: 1 - (after.idle - before.idle) / (after.all - before.all),
  }
}

/** ms of all CPUs since the start of the machine. */
const cpuTimes = (): { readonly idle: number; readonly all: number } => {
  let idle = 0
  let all = 0
  for (const { times } of cpus()) {
    idle += times.idle
    all += times.user + times.nice + times.sys + times.idle + times.irq
  }
  return { idle, all }
}

export const describeMachine = ({ cpu, cores, memoryGb, kernel, node, busyShare }: Machine): string => {
  const share = `${Math.round(busyShare * 100)} % of the CPUs were busy before the start`
  const busy = busyShare > quietShare ? `; BUSY: ${share}, so figures are too high and ratios may be wrong` : ""
  return `${cpu}, ${cores} cores, ${memoryGb} GB, Linux ${kernel}, Node ${node}${busy}`
}
