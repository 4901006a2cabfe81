/**
 * The watches of all modules: each becomes a subscription of its worker at the hub, if the module may have it.
 *
 * Guaranteed: what concerns one watch happens in order (begun, paused, ended), however long the check of its permission takes, and watches do
 * not wait for each other. After the hub's thread has died every watch that it had ends, and the guests list and watch again: only they know
 * what they have seen. A watch that is wanted while there is no hub waits for it, and a refusal is held back for {@link refusalDelayMs},
 * so that a guest that asks again and again cannot keep the host busy.
 */
import type * as Effect from "effect/Effect"
import type { Clock, Timer } from "../../clock.ts"
import { messageOf } from "../../message-of.ts"
import { ActorGone } from "../../runtime/errors.ts"
import type { Supervisor } from "../../runtime/supervisor.ts"
import type { WatchRequest } from "../guest/abi-values.ts"
import type { HubConfig, HubControl, HubReport } from "../hub/definition.ts"
import { InvalidSubscription } from "../hub/hub-selection.ts"
import { ask, failureOf, tell } from "./actor-calls.ts"

/** Why a module does not get a watch: an HTTP status code with the reason and message of a Kubernetes Status. */
export interface WatchRefusal {
  readonly code: number
  readonly reason: string
  readonly message: string
}

export interface WatchRegistryOptions {
  readonly hub: Pick<Supervisor<HubConfig, HubControl, HubReport>, "call" | "running">
  readonly clock: Pick<Clock, "after">
  /** Whether the module may have the watch; `undefined`: it may. If it rejects, the guest is told 503 and asks again. */
  readonly check: (module: string, request: WatchRequest) => Promise<WatchRefusal | undefined>
  /** Ends the watch of a worker; with `undefined` the guest gets no ERROR event. */
  readonly end: (worker: string, subscription: number, refusal: WatchRefusal | undefined) => void
}

/** ms. The same as for a request that the executor refuses: a guest that does not wait itself asks once a second. */
export const refusalDelayMs = 1000

interface Watch {
  isEnded: boolean
  /** The hub has been asked for it: it ends with the hub's life. */
  isAsked: boolean
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
    const watch: Watch = { isEnded: false, isAsked: false, refusal: undefined, last: Promise.resolve() }
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
    const watches = this.#workers.get(worker)
    const watch = watches?.get(subscription)
    if (watch !== undefined) finish(watch)
    watches?.delete(subscription)
  }

  /** The worker's thread has ended. Its next life must use other numbers: rows for the former ones may still be under way. */
  workerGone(worker: string): void {
    for (const watch of this.#workers.get(worker)?.values() ?? []) finish(watch)
    this.#workers.delete(worker)
    // After every subscription that the hub was asked for; the others see that they have ended. A hub that is gone has none.
    tell(this.#options.hub.call("release", { receiver: worker }))
  }

  /** A new life of the hub has begun: nothing comes for the watches of the former one. */
  hubRestarted(): void {
    for (const [worker, watches] of this.#workers) {
      for (const [subscription, watch] of watches) {
        if (!watch.isAsked) continue
        finish(watch)
        watches.delete(subscription)
        this.#options.end(worker, subscription, undefined)
      }
    }
  }

  /** Tells nobody anything any more. */
  close(): void {
    for (const watches of this.#workers.values()) for (const watch of watches.values()) finish(watch)
    this.#workers.clear()
  }

  async #begin(
    worker: string,
    module: string,
    subscription: number,
    request: WatchRequest,
    watch: Watch,
  ): Promise<void> {
    const { hub, check } = this.#options
    const refuse = (refusal: WatchRefusal): void => this.#refuse(worker, subscription, watch, refusal)
    let refusal: WatchRefusal | undefined
    try {
      refusal = await check(module, request)
    } catch (cause) {
      refusal = unavailable(`its permission could not be checked: ${messageOf(cause)}`)
    }
    if (refusal !== undefined) return refuse(refusal)
    try {
      await ask(hub.running())
    } catch {
      // It is being stopped, and the host with it.
      return
    }
    if (watch.isEnded) return
    watch.isAsked = true
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
    // Of the end of a hub its restart tells.
    if (answer === undefined || answer instanceof ActorGone) return
    if (answer instanceof InvalidSubscription) refuse({ code: 400, reason: "BadRequest", message: answer.message })
    // It is slow: the guest asks once more.
    else refuse(unavailable(messageOf(answer)))
  }

  #refuse(worker: string, subscription: number, watch: Watch, refusal: WatchRefusal): void {
    if (watch.isEnded) return
    const { clock, end } = this.#options
    watch.refusal = clock.after(refusalDelayMs, () => end(worker, subscription, refusal))
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

const finish = (watch: Watch): void => {
  watch.isEnded = true
  watch.refusal?.cancel()
}

const unavailable = (message: string): WatchRefusal => ({ code: 503, reason: "ServiceUnavailable", message })
