/**
 * The watches of all modules: each becomes a subscription of its worker at the hub, if the module may have it.
 *
 * Guaranteed: what concerns one watch happens in order (begun, paused, ended), however long the check of its permission takes, and watches do
 * not wait for each other. After the hub's thread has died every watch ends, and the guests list and watch again: only they know what
 * they have seen.
 */
import type * as Effect from "effect/Effect"
import type { Supervisor } from "../../runtime/supervisor.ts"
import type { WatchRequest } from "../guest/abi-values.ts"
import type { HubConfig, HubControl, HubReport } from "../hub/definition.ts"
import { InvalidSubscription } from "../hub/hub-selection.ts"
import { failureOf } from "./actor-calls.ts"

/** Why a module does not get a watch: an HTTP status code with the reason and message of a Kubernetes Status. */
export interface WatchRefusal {
  readonly code: number
  readonly reason: string
  readonly message: string
}

export interface WatchRegistryOptions {
  readonly hub: Pick<Supervisor<HubConfig, HubControl, HubReport>, "call">
  /** Whether the module may have the watch; `undefined`: it may. */
  readonly check: (module: string, request: WatchRequest) => Promise<WatchRefusal | undefined>
  /** Ends the watch of a worker; with `undefined` the guest gets no ERROR event. */
  readonly end: (worker: string, subscription: number, refusal: WatchRefusal | undefined) => void
}

interface Watch {
  isEnded: boolean
  /** What was last asked of the hub for it. */
  last: Promise<void>
}

export class WatchRegistry {
  readonly #options: WatchRegistryOptions
  /** By worker and its number of the subscription. */
  readonly #workers = new Map<string, Map<number, Watch>>()

  constructor(options: WatchRegistryOptions) {
    this.#options = options
  }

  /** Watches that have begun and not ended. */
  get size(): number {
    let size = 0
    for (const watches of this.#workers.values()) size += watches.size
    return size
  }

  begin(worker: string, module: string, subscription: number, request: WatchRequest): void {
    const watches = this.#workers.get(worker) ?? new Map<number, Watch>()
    this.#workers.set(worker, watches)
    const watch: Watch = { isEnded: false, last: Promise.resolve() }
    watches.set(subscription, watch)
    watch.last = this.#begin(worker, module, subscription, request, watch)
  }

  pause(worker: string, subscription: number, isPaused: boolean): void {
    this.#then(worker, subscription, () =>
      this.#options.hub.call("pause", { receiver: worker, id: subscription, isPaused }),
    )
  }

  /** Nothing reads it any more. */
  unwatch(worker: string, subscription: number): void {
    this.#then(worker, subscription, () =>
      this.#options.hub.call("unsubscribe", { receiver: worker, id: subscription }),
    )
    const watch = this.#workers.get(worker)?.get(subscription)
    if (watch !== undefined) watch.isEnded = true
    this.#workers.get(worker)?.delete(subscription)
  }

  /** The worker's thread has ended. Resolves when the hub has forgotten its subscriptions: their numbers may be used again. */
  async workerGone(worker: string): Promise<void> {
    const watches = [...(this.#workers.get(worker)?.values() ?? [])]
    this.#workers.delete(worker)
    for (const watch of watches) watch.isEnded = true
    await Promise.all(watches.map(({ last }) => last))
    await failureOf(this.#options.hub.call("release", { receiver: worker }))
  }

  /** A new life of the hub has begun: nothing comes for the watches of the former one. */
  hubRestarted(): void {
    for (const [worker, watches] of this.#workers) {
      for (const [subscription, watch] of watches) {
        watch.isEnded = true
        this.#options.end(worker, subscription, undefined)
      }
      watches.clear()
    }
  }

  async #begin(
    worker: string,
    module: string,
    subscription: number,
    request: WatchRequest,
    watch: Watch,
  ): Promise<void> {
    const { hub, check, end } = this.#options
    const refusal = await check(module, request)
    if (watch.isEnded) return
    if (refusal !== undefined) return end(worker, subscription, refusal)
    const { apiVersion, kind, namespace, labelSelector, fieldSelector, resourceVersion } = request
    const answer = await failureOf(
      hub.call("subscribe", {
        receiver: worker,
        id: subscription,
        gvk: `${apiVersion}.${kind}`,
        namespace,
        labelSelector,
        fieldSelector,
        view: "full",
        after: resourceVersion,
      }),
    )
    if (answer === undefined || watch.isEnded) return
    if (answer instanceof InvalidSubscription)
      end(worker, subscription, { code: 400, reason: "BadRequest", message: answer.message })
    // Of the hub's own failure its restart tells, unless it is only slow: then the guest asks once more.
    else end(worker, subscription, { code: 503, reason: "ServiceUnavailable", message: String(answer) })
  }

  #then(worker: string, subscription: number, call: () => Effect.Effect<unknown, unknown>): void {
    const watch = this.#workers.get(worker)?.get(subscription)
    if (watch === undefined) return
    watch.last = watch.last.then(async () => {
      // A hub that is gone has nothing to end or to pause.
      await failureOf(call())
    })
  }
}
