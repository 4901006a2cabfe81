/** What an operator can see of the modules of a host and of their threads. */
import type { ModulePhase } from "./module-lifecycle.ts"
import type { InstanceStatistics } from "./worker/definition.ts"

/** One module. */
export interface ModuleStatus {
  readonly name: string
  /** `refused`: its file is no module that can run. */
  readonly phase: ModulePhase | "refused"
  /** Why the last instance ended, or why the module is refused. */
  readonly reason: string
  readonly restarts: number
  readonly isAlone: boolean
  readonly worker: string | undefined
  /** Rows of its watches that have not arrived, in all its instances: 0, or there is a bug. Each time its watch was ended, so it lists again. */
  readonly missed: number
  /** How often it has been moved to another worker. */
  readonly moves: number
  /** Absent while it is not running, or its worker does not answer. */
  readonly instance?: InstanceStatistics
}

/** A thread of modules. */
export interface WorkerStatus {
  readonly name: string
  /** False for the worker of a module that held up others. */
  readonly isShared: boolean
  readonly modules: number
  /** Share of its time that passed within modules, over the last seconds; from 0 to 1. */
  readonly busy: number
}
