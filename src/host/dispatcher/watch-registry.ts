/**
 * The watches of all modules: each becomes a subscription of its worker at the hub, if the module may have it.
 *
 * Guaranteed: what concerns one watch happens in order, however long the check of its permission takes, and watches do not wait for each other. After
 * the hub's thread has died its watches end, and the guests list again. A right that is taken away ends its watches at the next
 * {@link WatchRegistry.recheck}. A refusal is held back for {@link refusalDelayMs}, so that a guest that asks again and again cannot keep the host busy.
 */
import type * as Effect from "effect/Effect"
import type { Clock, Timer } from "../../clock.ts"
import { messageOf } from "../../message-of.ts"
import { ActorGone, BackOff, type BackOffPolicy } from "../../runtime/index.ts"
import type { WatchRequest } from "../guest/abi-values.ts"
import type { Hub } from "../hub/hub-interface.ts"
import { InvalidSubscription } from "../hub/hub-selection.ts"
import { ask, failureOf, tell } from "./actor-calls.ts"

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

/** What is asked of the hub: a guest's request, or that of a cache. */
export interface HubWatchRequest extends WatchRequest {
  /** Default false. */
  readonly managedFields?: boolean
}

interface WatchRegistryOptions {
  readonly clock: Pick<Clock, "after">
  readonly hub: Pick<Hub, "call" | "running">
  /** Whether the module may have the watch. If it rejects, the guest receives 503 and asks again. */
  readonly check: (module: string, request: WatchRequest) => Promise<WatchAnswer>
  /** Of watches from versions that have expired. */
  readonly pace: Pick<ExpiryPace, "delayMs" | "expired">
  /** Ends the watch of a worker; with `undefined` the guest gets no ERROR event. */
  readonly end: (worker: string, subscription: number, refusal: WatchRefusal | undefined) => void
}

/** ms. The same as for a request that the executor refuses: a guest that does not wait itself asks once a second. */
export const refusalDelayMs = 1000

interface Watch {
  readonly module: string
  /** Its number at the worker and at the hub. */
  readonly subscription: number
  /** The worker of its module. */
  readonly worker: string
  readonly request: HubWatchRequest
  /** A check of its permission is under way. */
  isBeingChecked: boolean
  isAllowed: boolean
  /** The hub has been asked for it: it ends with the hub's life. */
  isAsked: boolean
  isPaused: boolean
  isEnded: boolean
  /** Until it begins, or until the module receives the refusal. */
  timer: Timer | undefined
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

  begin(worker: string, module: string, subscription: number, request: HubWatchRequest): void {
    const watches = this.#workers.get(worker) ?? new Map<number, Watch>()
    this.#workers.set(worker, watches)
    const watch: Watch = {
      module,
      subscription,
      worker,
      request,
      isBeingChecked: false,
      isAllowed: false,
      isAsked: false,
      isPaused: false,
      isEnded: false,
      timer: undefined,
      last: Promise.resolve(),
    }
    watches.set(subscription, watch)
    const delayMs = this.#options.pace.delayMs(module, request.resourceVersion)
    if (delayMs === 0) return void this.#check(watch)
    // So that no other check begins it sooner.
    watch.isBeingChecked = true
    watch.timer = this.#options.clock.after(delayMs, () => {
      watch.isBeingChecked = false
      void this.#check(watch)
    })
  }

  /**
   * Asks for each watch once more. One that is no longer allowed (403) is ended at once; one that has waited for its kind begins. Any other
   * refusal is about the check, and ends no watch: while the API server does not respond, nothing comes from it either. Resolves when all
   * are done; a watch whose check is under way is left out.
   */
  async recheck(): Promise<void> {
    const checks: Promise<void>[] = []
    for (const watches of this.#workers.values()) for (const watch of watches.values()) checks.push(this.#check(watch))
    await Promise.all(checks)
  }

  pause(worker: string, subscription: number, isPaused: boolean): void {
    const watch = this.#workers.get(worker)?.get(subscription)
    if (watch === undefined) return
    watch.isPaused = isPaused
    if (watch.isAllowed) this.#tellPaused(watch)
  }

  /** Nothing reads it any more. `isExpired`: because the hub no longer knows the changes since its version. */
  unwatch(worker: string, subscription: number, isExpired = false): void {
    const watches = this.#workers.get(worker)
    const watch = watches?.get(subscription)
    if (watch === undefined) return
    if (isExpired) this.#options.pace.expired(watch.module)
    const receiver = { receiver: worker, id: subscription }
    if (watch.isAsked) this.#then(watch, () => this.#options.hub.call("unsubscribe", receiver))
    finish(watch)
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

  /** Ends all watches, without telling workers or the hub. Cancels all timers. */
  close(): void {
    for (const watches of this.#workers.values()) for (const watch of watches.values()) finish(watch)
    this.#workers.clear()
  }

  async #check(watch: Watch): Promise<void> {
    if (watch.isBeingChecked || watch.isEnded) return
    watch.isBeingChecked = true
    const answer = await this.#answerFor(watch)
    watch.isBeingChecked = false
    if (watch.isEnded || answer === "not-yet") return
    if (!watch.isAllowed) {
      if (answer === undefined) this.#subscribe(watch)
      else this.#refuse(watch, answer)
    } else if (answer?.code === 403) {
      // At the hub too, and now: the worker may be in a module, and would pass on what comes meanwhile.
      this.unwatch(watch.worker, watch.subscription)
      this.#options.end(watch.worker, watch.subscription, answer)
    }
  }

  async #answerFor({ module, request }: Watch): Promise<WatchAnswer> {
    try {
      return await this.#options.check(module, request)
    } catch (cause) {
      return unavailable(`its permission could not be checked: ${messageOf(cause)}`)
    }
  }

  #subscribe(watch: Watch): void {
    watch.isAllowed = true
    watch.last = watch.last.then(() => this.#askHub(watch))
    if (watch.isPaused) this.#tellPaused(watch)
  }

  async #askHub(watch: Watch): Promise<void> {
    const { hub } = this.#options
    const { namespace, labelSelector, fieldSelector, managedFields, resourceVersion } = watch.request
    try {
      await ask(hub.running())
    } catch {
      // It is being stopped, and the host with it.
      return
    }
    if (watch.isEnded) return
    watch.isAsked = true
    const failure = await failureOf(
      hub.call("subscribe", {
        receiver: watch.worker,
        id: watch.subscription,
        gvk: gvkOf(watch.request),
        namespace,
        labelSelector,
        fieldSelector,
        managedFields,
        after: resourceVersion,
      }),
    )
    // Of the end of a hub its restart tells.
    if (failure === undefined || failure instanceof ActorGone) return
    if (failure instanceof InvalidSubscription)
      this.#refuse(watch, { code: 400, reason: "BadRequest", message: failure.message })
    // It is slow: the guest asks once more.
    else this.#refuse(watch, unavailable(messageOf(failure)))
  }

  #refuse(watch: Watch, refusal: WatchRefusal): void {
    if (watch.isEnded) return
    const { clock, end } = this.#options
    watch.isEnded = true
    watch.timer = clock.after(refusalDelayMs, () => end(watch.worker, watch.subscription, refusal))
  }

  #tellPaused(watch: Watch): void {
    const { worker: receiver, subscription: id, isPaused } = watch
    this.#then(watch, () => this.#options.hub.call("pause", { receiver, id, isPaused }))
  }

  #then(watch: Watch, call: () => Effect.Effect<unknown, unknown>): void {
    watch.last = watch.last.then(async () => {
      // A hub that is gone has nothing to end or to pause.
      await failureOf(call())
    })
  }
}

/** Cancels what is held back, and makes later steps skip the watch. */
const finish = (watch: Watch): void => {
  watch.isEnded = true
  watch.timer?.cancel()
}

const unavailable = (message: string): WatchRefusal => ({ code: 503, reason: "ServiceUnavailable", message })

interface Expiries {
  readonly backOff: BackOff
  lastMs: number
  /** Monotonic ms before which no watch from a version begins. */
  notBeforeMs: number
}

/**
 * Slows a guest that watches from an expired version again and again: it is answered 410 at once each time, and some do not list as they
 * should, so that they would keep the host busy. The first time is free, and so is a watch from the present state.
 */
export class ExpiryPace {
  readonly #clock: Pick<Clock, "monotonicMs">
  readonly #random: () => number
  readonly #policy: BackOffPolicy
  readonly #modules = new Map<string, Expiries>()

  /** `random` returns a number in [0, 1). */
  constructor(clock: Pick<Clock, "monotonicMs">, random: () => number, policy: BackOffPolicy) {
    this.#clock = clock
    this.#random = random
    this.#policy = policy
  }

  /** A watch of the module has expired. */
  expired(module: string): void {
    const now = this.#clock.monotonicMs()
    const before = this.#modules.get(module)
    if (before === undefined || now - before.lastMs > this.#policy.resetAfterMs) {
      const backOff = new BackOff(this.#policy, this.#random)
      this.#modules.set(module, { backOff, lastMs: now, notBeforeMs: now })
      return
    }
    before.lastMs = now
    before.notBeforeMs = now + before.backOff.next(now)
  }

  /** ms until a watch of the module may begin. `resourceVersion`: as the guest wrote it. */
  delayMs(module: string, resourceVersion: string): number {
    if (resourceVersion === "" || resourceVersion === "0") return 0
    return Math.max(0, (this.#modules.get(module)?.notBeforeMs ?? 0) - this.#clock.monotonicMs())
  }

  /** The module is removed. */
  forget(module: string): void {
    this.#modules.delete(module)
  }
}
