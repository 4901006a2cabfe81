/** What goes with a module from one worker to another, beside its image. Plain data. */
import type { Released } from "../../executor/actor/operation-sender.ts"
import type { RunnerState } from "./module-runner.ts"
import type { GuestWatch } from "./watch-value.ts"

/** A watch of a guest. Its number at the hub is the same in all workers of a host. */
export interface DepartedWatch extends GuestWatch {
  readonly subscription: number
  /** The guest's number. */
  readonly id: bigint
  /** The hub's number of the last row that has come. */
  readonly lastRow: number
}

export interface Departure {
  readonly runner: RunnerState
  readonly watches: ReadonlyArray<DepartedWatch>
  /** Delays, and nothing else: a module departs without open requests. */
  readonly released: ReadonlyArray<Released>
  readonly isPaused: boolean
}
