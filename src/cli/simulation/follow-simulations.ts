/** Simulations as they change, over one watch: no polling, and no state between two reads is missed that is still there at the second. */
import { systemClock } from "../../clock.ts"
import { SharedInformer } from "../../host/index.ts"
import type { ApiClient } from "../../kube/index.ts"
import { type Simulation, simulationKind } from "../../simulation/index.ts"

interface FollowOptions {
  /** Only this one. Default: all. */
  readonly name: string | undefined
  /** Ends the watch. */
  readonly signal: AbortSignal
  /** Gets what hinders the watch, which continues. */
  readonly onTrouble: (detail: string) => void
  /** Gets the present ones, in the order of their names, at first and after each change. Returns whether that is all. */
  readonly take: (simulations: ReadonlyArray<Simulation>) => boolean
}

/** Resolves when `take` has returned true, or `signal` is aborted. */
export const followSimulations = (
  client: ApiClient,
  { name, signal, onTrouble, take }: FollowOptions,
): Promise<"done" | "aborted"> =>
  new Promise((resolve) => {
    const informer = new SharedInformer<Simulation>({
      connection: client.connection,
      kind: simulationKind,
      fieldSelector: name === undefined ? undefined : `metadata.name=${name}`,
      clock: systemClock,
      random: Math.random,
      onTrouble,
    })
    let isOver = false
    const end = (how: "done" | "aborted"): void => {
      if (isOver) return
      isOver = true
      informer.stop()
      signal.removeEventListener("abort", abort)
      resolve(how)
    }
    const abort = (): void => end("aborted")
    const look = (): void => {
      if (!isOver && informer.hasSynced && take(sorted(informer.cache.all()))) end("done")
    }
    signal.addEventListener("abort", abort, { once: true })
    informer.cache.onChange(look)
    // Also if there are none, of which no change would tell.
    void informer.synced.then(look)
    informer.start()
    if (signal.aborted) abort()
  })

const sorted = (simulations: Iterable<Simulation>): ReadonlyArray<Simulation> =>
  [...simulations].sort((left, right) => (left.metadata.name < right.metadata.name ? -1 : 1))
