/**
 * The watches of all modules: each becomes a subscription of its worker at the hub, if the module may have it.
 *
 * Guaranteed: what concerns one watch happens in order (begun, paused, ended), however long the check of its permission takes, and watches do
 * not wait for each other. After the hub's thread has died every watch ends, and the guests list and watch again: only they know what
 * they have seen. A right that is taken away ends its watches at the next {@link WatchRegistry.recheck}.
 * A module that asks again at once after each refusal is refused once a second.
 */
import type * as Effect from "effect/Effect"
import type { Clock, Timer } from "../../clock.ts"
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

/** `undefined`: the module may have the watch; `"not-yet"`: that will be known when its kind exists, so it is asked again. */
export type WatchAnswer = WatchRefusal | "not-yet" | undefined

/** What the hub watches for the request, and so what has to be checked: `apps/v1.Deployment`. */
export const gvkOf = ({ apiVersion, kind }: WatchRequest): string => `${apiVersion}.${kind}`

export interface WatchRegistryOptions {
  readonly clock: Pick<Clock, "after">
  readonly hub: Pick<Supervisor<HubConfig, HubControl, HubReport>, "call">
  /** Whether the module may have the watch. Never rejects. */
  readonly check: (module: string, request: WatchRequest) => Promise<WatchAnswer>
  /** Ends the watch of a worker; with `undefined` the guest gets no ERROR event. */
  readonly end: (worker: string, subscription: number, refusal: WatchRefusal | undefined) => void
}

/** ms for which a refusal is held back, as the executor does with a 429: guests retry without a pause. */
const refusalMs = 1000

interface Watch {
  readonly module: string
  readonly request: WatchRequest
  /** A check of its permission is under way. */
  isBeingChecked: boolean
  /** It has been allowed, so that the hub has it or will have it. */
  isSubscribed: boolean
  isPaused: boolean
  isEnded: boolean
  /** Until the module is told that it is refused. */
  refusal: Timer | undefined
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
    const watch: Watch = {
      module,
      request,
      isBeingChecked: false,
      isSubscribed: false,
      isPaused: false,
      isEnded: false,
      refusal: undefined,
      last: Promise.resolve(),
    }
    watches.set(subscription, watch)
    void this.#check(worker, subscription, watch)
  }

  /**
   * Asks for each watch once more. One that is no longer allowed (403) is ended at once; one that has waited for its kind begins. Any other
   * refusal is about the check, and ends no watch: while the API server does not respond, nothing comes from it either. Resolves when all
   * are done; a watch whose check is under way is left out.
   */
  async recheck(): Promise<void> {
    const checks: Promise<void>[] = []
    for (const [worker, watches] of this.#workers)
      for (const [subscription, watch] of watches) checks.push(this.#check(worker, subscription, watch))
    await Promise.all(checks)
  }

  pause(worker: string, subscription: number, isPaused: boolean): void {
    const watch = this.#workers.get(worker)?.get(subscription)
    if (watch === undefined) return
    watch.isPaused = isPaused
    if (watch.isSubscribed) this.#tellPaused(worker, subscription, watch)
  }

  /** Nothing reads it any more. */
  unwatch(worker: string, subscription: number): void {
    const watch = this.#workers.get(worker)?.get(subscription)
    if (watch === undefined) return
    watch.isEnded = true
    watch.refusal?.cancel()
    const receiver = { receiver: worker, id: subscription }
    if (watch.isSubscribed) this.#then(watch, () => this.#options.hub.call("unsubscribe", receiver))
    this.#workers.get(worker)?.delete(subscription)
  }

  /** The worker's thread has ended. Resolves when the hub has forgotten its subscriptions: their numbers may be used again. */
  async workerGone(worker: string): Promise<void> {
    const watches = [...(this.#workers.get(worker)?.values() ?? [])]
    this.#workers.delete(worker)
    // The worker's next life uses the numbers for other watches.
    for (const watch of watches) {
      watch.isEnded = true
      watch.refusal?.cancel()
    }
    await Promise.all(watches.map(({ last }) => last))
    await failureOf(this.#options.hub.call("release", { receiver: worker }))
  }

  /** Tells no worker anything any more. */
  close(): void {
    for (const watches of this.#workers.values())
      for (const watch of watches.values()) {
        watch.isEnded = true
        watch.refusal?.cancel()
      }
    this.#workers.clear()
  }

  /** A new life of the hub has begun: nothing comes for the watches of the former one. */
  hubRestarted(): void {
    for (const [worker, watches] of this.#workers) {
      for (const [subscription, watch] of watches) {
        watch.isEnded = true
        watch.refusal?.cancel()
        this.#options.end(worker, subscription, undefined)
      }
      watches.clear()
    }
  }

  async #check(worker: string, subscription: number, watch: Watch): Promise<void> {
    if (watch.isBeingChecked || watch.isEnded) return
    watch.isBeingChecked = true
    const answer = await this.#options.check(watch.module, watch.request)
    watch.isBeingChecked = false
    if (watch.isEnded || answer === "not-yet") return
    if (!watch.isSubscribed) {
      if (answer === undefined) this.#subscribe(worker, subscription, watch)
      else this.#refuse(worker, subscription, watch, answer)
    } else if (answer?.code === 403) {
      // At the hub too, and now: the worker may be in a module, and would pass on what comes meanwhile.
      this.unwatch(worker, subscription)
      this.#options.end(worker, subscription, answer)
    }
  }

  #subscribe(worker: string, subscription: number, watch: Watch): void {
    const { hub } = this.#options
    const { namespace, labelSelector, fieldSelector, resourceVersion } = watch.request
    watch.isSubscribed = true
    watch.last = watch.last.then(async () => {
      if (watch.isEnded) return
      const failure = await failureOf(
        hub.call("subscribe", {
          receiver: worker,
          id: subscription,
          gvk: gvkOf(watch.request),
          namespace,
          labelSelector,
          fieldSelector,
          view: "full",
          after: resourceVersion,
        }),
      )
      if (failure === undefined || watch.isEnded) return
      if (failure instanceof InvalidSubscription)
        this.#refuse(worker, subscription, watch, { code: 400, reason: "BadRequest", message: failure.message })
      // Of the hub's own failure its restart tells, unless it is only slow: then the guest asks once more.
      else
        this.#refuse(worker, subscription, watch, {
          code: 503,
          reason: "ServiceUnavailable",
          message: String(failure),
        })
    })
    if (watch.isPaused) this.#tellPaused(worker, subscription, watch)
  }

  #refuse(worker: string, subscription: number, watch: Watch, refusal: WatchRefusal): void {
    const { clock, end } = this.#options
    watch.isEnded = true
    watch.refusal = clock.after(refusalMs, () => end(worker, subscription, refusal))
  }

  #tellPaused(worker: string, subscription: number, watch: Watch): void {
    const { isPaused } = watch
    this.#then(watch, () => this.#options.hub.call("pause", { receiver: worker, id: subscription, isPaused }))
  }

  #then(watch: Watch, call: () => Effect.Effect<unknown, unknown>): void {
    watch.last = watch.last.then(async () => {
      // A hub that is gone has nothing to end or to pause.
      await failureOf(call())
    })
  }
}
