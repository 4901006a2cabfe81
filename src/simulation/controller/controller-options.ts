/** What the controller of Simulations is given. */
import type { Clock } from "../../clock.ts"
import type { RunOptions } from "../../host/controller/running-controllers.ts"

/** Where the controller runs, what it may use, and who hears of it. */
export interface SimulationControllerOptions {
  /** The API server: an endpoint, a source of endpoints whose credentials change, or a transport. */
  readonly server: NonNullable<RunOptions["server"]>
  /** Namespace of the controller's Leases: that of the election and `sk-lease`, which decides whose turn it is. */
  readonly namespace: string
  /** Of several controllers one works. Default: there is only one, and no election. */
  readonly leaderElection?: { readonly identity?: string | undefined } | undefined
  /** The environment of hooks. Default: that of the process. */
  readonly hookEnvironment?: Readonly<Record<string, string | undefined>> | undefined
  /** Gets what hooks write, as it comes. Default: dropped; the end of it is in the status in any case. */
  readonly onHookOutput?: ((simulation: string, chunk: Buffer) => void) | undefined
  /** Gets what an operator should see, one line each. Default: standard error. */
  readonly onTrouble?: ((detail: string) => void) | undefined
  /** ms that hooks and runs under way may take at the end. Default 20,000: a pod has 30 s from SIGTERM on. */
  readonly shutdownTimeoutMs?: number | undefined
  /** Default: the machine's. */
  readonly clock?: Clock | undefined
  /** In [0, 1). Default `Math.random`. */
  readonly random?: (() => number) | undefined
}
