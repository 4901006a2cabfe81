/**
 * One list and watch per selection, for any number of subscribers. An engine without threads: it runs in the hub's actor, and directly in a program that
 * has no other threads.
 *
 * A narrower subscription is served from a wider watch that runs, if what it selects can be told from namespace, name and labels; any other gets an
 * upstream of its own, and keeps it when a wider one starts later. A watch that the server forbids holds up no narrower one. A slow consumer holds up
 * neither others nor the watch. Objects are kept once per upstream, as bytes. After its last subscription an upstream runs on for a while.
 */

import type { Clock, Timer } from "../../clock.ts"
import { defaultWatchPolicy, type ReadTransport, type WatchPolicy } from "../../kube/index.ts"
import { parseResourceVersion } from "../../kube/offline.ts"
import { messageOf } from "../../message-of.ts"
import type { HubConsumer, HubStatistics, HubSubscriptionHandle, HubSubscriptionRequest } from "./hub-change.ts"
import { filterWithin, type HubSelection, selectionOf } from "./hub-selection.ts"
import { HubSubscription } from "./hub-subscription.ts"
import type { ObjectFilter } from "./state/object-state.ts"
import { type HubListener, Upstream } from "./upstream.ts"

export interface WatchHubOptions {
  /** For lists and watches, with the hub's credentials. */
  readonly transport: ReadTransport
  readonly clock: Clock
  /** Returns a number in [0, 1). */
  readonly random: () => number
  readonly listener: HubListener
  readonly policy?: Partial<WatchPolicy> | undefined
  /** ms for which an upstream without subscriptions runs on. Default 30,000: a restart of a controller takes seconds. */
  readonly graceMs?: number | undefined
  /** Bytes of recent changes per upstream, to resume from. Default 4 MiB: about 500 changes of Pods of 4 kB, each with its previous state. */
  readonly journalBytes?: number | undefined
  /**
   * Bytes that may wait for one subscription and are kept for it, not for the upstream: deletions, and states that have been replaced. If more
   * wait when it has had the time to take them, it expires. Default 64 MiB: subscriptions of one kind that are slow together share them.
   */
  readonly waitingBytes?: number | undefined
}

interface Served {
  readonly upstream: Upstream
  /** Ends an upstream without subscriptions. */
  grace: Timer | undefined
}

const mebibyte = 1024 * 1024

export class WatchHub {
  readonly #options: WatchHubOptions
  /** By the key of the selection. */
  readonly #served = new Map<string, Served>()
  /** With what serves each. */
  readonly #subscriptions = new Map<HubSubscription, { readonly selection: HubSelection; readonly served: Served }>()

  constructor(options: WatchHubOptions) {
    this.#options = options
  }

  /**
   * Begins a subscription. The consumer may be called before this returns.
   *
   * @throws InvalidSubscription for a selector that is none
   */
  subscribe(request: HubSubscriptionRequest, consumer: HubConsumer): HubSubscriptionHandle {
    const { kind, namespace, labelSelector, fieldSelector, managedFields, after = "" } = request
    const isKnown = "gvk" in kind
    const gvk = isKnown ? kind.gvk : kind
    const isClusterScoped = isKnown && !kind.namespaced
    const selection = selectionOf({
      gvk,
      namespace: isClusterScoped ? undefined : namespace,
      labelSelector,
      fieldSelector,
      managedFields: managedFields === true,
    })
    const { served, filter } = this.#serve(selection)
    const subscription = new HubSubscription({
      request,
      kind: selection.kind,
      filter,
      after: after === "" || after === "0" ? undefined : (parseResourceVersion(after) ?? after),
      maximumBytes: this.#options.waitingBytes ?? 64 * mebibyte,
      consumer,
      consumerFailed: (error) =>
        this.#options.listener.alarm(`the consumer of subscription ${request.id} failed: ${messageOf(error)}`),
      ended: (ended) => this.#ended(ended),
    })
    this.#attach(subscription, selection, served)
    return subscription
  }

  /** There are fresh credentials: upstreams that wait to try again do so now. */
  retryNow(): void {
    for (const { upstream } of this.#served.values()) upstream.retryNow()
  }

  statistics(): HubStatistics {
    return {
      upstreams: [...this.#served.values()].map(({ upstream }) => upstream.statistics()),
      subscriptions: [...this.#subscriptions.keys()].map((subscription) => subscription.statistics()),
    }
  }

  /** Ends all subscriptions and watches. */
  stop(): void {
    for (const subscription of [...this.#subscriptions.keys()]) subscription.unsubscribe()
    for (const served of this.#served.values()) {
      served.grace?.cancel()
      served.upstream.stop()
    }
    this.#served.clear()
  }

  /** The upstream that serves a selection, started if there is none, and what the selection is of it. */
  #serve(selection: HubSelection): { readonly served: Served; readonly filter: ObjectFilter | undefined } {
    const exact = this.#served.get(selection.key)
    if (exact !== undefined) return { served: exact, filter: undefined }
    for (const served of this.#served.values()) {
      const filter = served.upstream.isPermitted ? filterWithin(served.upstream.selection, selection) : undefined
      if (filter !== undefined) return { served, filter: filter === "all" ? undefined : filter }
    }
    const { transport, clock, random, listener, policy, journalBytes = 4 * mebibyte } = this.#options
    const upstream = new Upstream({
      selection,
      transport,
      clock,
      random,
      policy: { ...defaultWatchPolicy, ...policy },
      keepManagedFields: selection.hasManagedFields,
      journalBytes,
      listener,
      forbidden: () => this.#forbidden(served),
    })
    const served: Served = { upstream, grace: undefined }
    this.#served.set(selection.key, served)
    upstream.start()
    return { served, filter: undefined }
  }

  #attach(subscription: HubSubscription, selection: HubSelection, served: Served): void {
    this.#subscriptions.set(subscription, { selection, served })
    served.grace?.cancel()
    served.grace = undefined
    served.upstream.attach(subscription)
  }

  /** Whether the server permits an upstream is known after its first request only; until then narrower subscriptions wait for it. */
  #forbidden(forbidden: Served): void {
    for (const [subscription, { selection, served: present }] of [...this.#subscriptions]) {
      if (present !== forbidden || selection.key === forbidden.upstream.selection.key) continue
      if (subscription.hasBegun) subscription.expire("the server forbids the wider watch that has served this one")
      else {
        this.#leave(subscription, forbidden)
        const { served, filter } = this.#serve(selection)
        subscription.servedWith(filter)
        this.#attach(subscription, selection, served)
      }
    }
  }

  #ended(subscription: HubSubscription): void {
    const served = this.#subscriptions.get(subscription)?.served
    this.#subscriptions.delete(subscription)
    if (served !== undefined) this.#leave(subscription, served)
  }

  #leave(subscription: HubSubscription, served: Served): void {
    const { upstream } = served
    upstream.detach(subscription)
    if (!upstream.isIdle || this.#served.get(upstream.selection.key) !== served) return
    served.grace?.cancel()
    served.grace = this.#options.clock.after(this.#options.graceMs ?? 30_000, () => {
      this.#served.delete(upstream.selection.key)
      upstream.stop()
    })
  }
}
