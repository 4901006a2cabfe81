import type { Clock } from "../../../../src/clock.ts"
import { ModuleWorker } from "../../../../src/host/dispatcher/worker/module-worker.ts"
import type { ModuleWorkerReport } from "../../../../src/host/dispatcher/worker/module-worker-interface.ts"

const nothing = (): void => undefined

/** A worker in the thread of the test, without hub and executor; its rounds run when the test says so. */
export const workerAlone = (clock: Clock, lastSubscription = 0) => {
  const reports: ModuleWorkerReport[] = []
  const rounds: Array<() => void> = []
  let subscription = lastSubscription
  const worker = new ModuleWorker({
    clock,
    soon: (action) => rounds.push(action),
    operations: { request: nothing, delay: nothing, end: nothing, flush: nothing },
    report: (report) => reports.push(report),
    mark: { begin: nothing, end: nothing },
    nextSubscription: () => ++subscription,
  })
  const run = (): void => {
    for (let round = rounds.shift(); round !== undefined; round = rounds.shift()) round()
  }
  return { worker, reports, rounds, run }
}

export const assignmentOf = (module: string, incarnation: number, slot = 1) => ({
  module,
  incarnation,
  slot,
  compiled: undefined as never,
  env: [],
  maximumMemoryBytes: 65_536,
})
