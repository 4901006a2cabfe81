/** What a worker keeps of the modules that are loaded in it, and of their watches. */
import type { Assignment } from "./definition.ts"
import type { ModuleProgress } from "./module-progress.ts"
import type { ModuleRunner } from "./module-runner.ts"
import type { WatchProgress } from "./watch-progress.ts"
import type { GuestWatch } from "./watch-value.ts"

/** One instance of a module in this thread. */
export interface Instance {
  readonly assignment: Assignment
  readonly runner: ModuleRunner
  /** The numbers of its subscriptions. */
  readonly subscriptions: Set<number>
  /** `undefined`: the module keeps no checkpoint. */
  readonly progress: ModuleProgress | undefined
  isPaused: boolean
  /** What its move waits for. */
  awaited: Awaited | undefined
}

/** What an instance that is held has to reach before it may depart. */
interface Awaited {
  readonly isSo: () => boolean
  readonly resolve: () => void
  readonly reject: (cause: Error) => void
}

/** Of a watch whose module keeps no checkpoint. */
export const withoutProgress = { progress: undefined, isFromBeginning: false, census: undefined, censusOf: undefined }

/** One watch of a guest, or the census of one. */
export interface Watch extends GuestWatch {
  readonly instance: Instance
  /** The guest's number. */
  readonly id: bigint
  /** The hub's number of the last row. */
  lastRow: number
  readonly progress: WatchProgress | undefined
  /** It begins with the present state. */
  readonly isFromBeginning: boolean
  /** The subscription of its census; one that is complete has been ended. */
  census: number | undefined
  /** It is the census of this subscription. */
  readonly censusOf: number | undefined
}
