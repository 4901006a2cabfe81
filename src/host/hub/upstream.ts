/**
 * One upstream of a hub: the watch session of one selection, its state, and the subscriptions that it serves. All of them get the changes of
 * one network read together. It never stops reading: what a consumer does not take waits in the subscription.
 */

import type { Clock } from "../../clock.ts"
import {
  compileDetectRules,
  HttpEnquiries,
  type KindState,
  type ObservedObject,
  type ReadTransport,
  type WatchPolicy,
  WatchSession,
  type WatchSink,
} from "../../kube/index.ts"
import { parseResourceVersion, type ResourceVersion } from "../../kube/offline.ts"
import type { UpstreamStatistics } from "./hub-change.ts"
import type { HubSelection } from "./hub-selection.ts"
import type { HubSubscription } from "./hub-subscription.ts"
import { ChangeJournal } from "./state/change-journal.ts"
import { SelectionState } from "./state/selection-state.ts"
import { isAbove } from "./state/state-change.ts"

/** What a hub tells its owner; all rare. */
export interface HubListener {
  /** `selection`: kind, then what is selected of it. */
  stateChanged(selection: string, state: KindState, detail: string): void
  /** Something an operator should see: malformed lines, relists in a row, a consumer that throws. */
  alarm(detail: string): void
  /** The server rejects the credentials (401): call `WatchHub.retryNow` once there are others. */
  unauthorized(): void
}

interface UpstreamOptions {
  readonly selection: HubSelection
  readonly transport: ReadTransport
  readonly clock: Clock
  readonly random: () => number
  readonly policy: WatchPolicy
  readonly keepManagedFields: boolean
  readonly journalBytes: number
  readonly listener: HubListener
  /** The server forbids it, which was not known before. What is narrower may be permitted. */
  readonly forbidden: () => void
}

export class Upstream {
  readonly selection: HubSelection
  readonly #state: SelectionState
  readonly #journal: ChangeJournal
  readonly #session: WatchSession
  readonly #subscriptions = new Set<HubSubscription>()
  #kindState: KindState = "listing"
  #detail = ""
  /** Everything up to this version has been passed on; `undefined` before the first list of a history. */
  #reached: ResourceVersion | string | undefined
  #isListing = false
  #changes = 0

  constructor({
    selection,
    transport,
    clock,
    random,
    policy,
    keepManagedFields,
    journalBytes,
    listener,
    forbidden,
  }: UpstreamOptions) {
    const { gvk, namespace, labelSelector, fieldSelector } = selection.request
    this.selection = selection
    this.#state = new SelectionState(keepManagedFields)
    this.#journal = new ChangeJournal(journalBytes)
    const name = selection.key.replaceAll("\n", ", ")
    this.#session = new WatchSession({
      transport,
      enquiries: new HttpEnquiries(transport, gvk, namespace),
      sink: this.#sink(),
      listener: {
        stateChanged: (state, detail) => {
          this.#kindState = state
          this.#detail = detail
          listener.stateChanged(name, state, detail)
          if (state === "forbidden") forbidden()
        },
        alarm: (detail) => listener.alarm(`${name}: ${detail}`),
        unauthorized: () => listener.unauthorized(),
        clusterIdentified: () => undefined,
      },
      clock,
      random,
      policy,
      gvk,
      rules: compileDetectRules({ gvk, detect: "all", ignore: [] }),
      labelSelector: labelSelector === "" ? undefined : labelSelector,
      fieldSelector: fieldSelector === "" ? undefined : fieldSelector,
      resumeVersion: undefined,
      clusterUid: undefined,
    })
  }

  /** False if the server does not permit it: then narrower selections may be permitted. */
  get isPermitted(): boolean {
    return this.#kindState !== "forbidden"
  }

  get isIdle(): boolean {
    return this.#subscriptions.size === 0
  }

  start(): void {
    this.#session.start()
  }

  stop(): void {
    this.#session.stop()
  }

  retryNow(): void {
    this.#session.retryNow()
  }

  /** Passes it what it begins with, now or after the list under way. */
  attach(subscription: HubSubscription): void {
    this.#subscriptions.add(subscription)
    if (this.#reached !== undefined) this.#begin(subscription, this.#reached)
    subscription.announce()
  }

  detach(subscription: HubSubscription): void {
    this.#subscriptions.delete(subscription)
  }

  statistics(): UpstreamStatistics {
    const { request, kind } = this.selection
    const { watches, relists, unendedLists } = this.#session.statistics
    return {
      kind,
      namespace: request.namespace ?? "",
      labelSelector: request.labelSelector ?? "",
      fieldSelector: request.fieldSelector ?? "",
      state: this.#kindState,
      detail: this.#detail,
      subscriptions: this.#subscriptions.size,
      objects: this.#state.size,
      bytes: this.#state.bytes,
      journalChanges: this.#journal.size,
      journalBytes: this.#journal.bytes,
      changes: this.#changes,
      watches,
      relists,
      unendedLists,
    }
  }

  #sink(): WatchSink {
    return {
      isWritable: true,
      observed: (observed) => {
        if (observed.fromList) this.#state.listed(observed)
        else this.#watched(observed)
      },
      readDone: () => this.#announce(),
      listStarted: () => {
        this.#isListing = true
        this.#state.listStarted()
        for (const subscription of this.#subscriptions) subscription.precedesList = true
      },
      listCompleted: (version) => this.#listCompleted(parseResourceVersion(version) ?? version),
      progressed: (text) => {
        // During a list nothing is complete.
        if (this.#isListing) return
        const version = parseResourceVersion(text) ?? text
        this.#reached = version
        for (const subscription of [...this.#subscriptions]) subscription.reached(version, true)
      },
      epochStarted: (detail) => {
        this.#state.historyStarted()
        this.#reached = undefined
        for (const subscription of [...this.#subscriptions]) {
          if (subscription.floor === undefined) subscription.historyStarted()
          else subscription.expire(`the server has another history now: ${detail}`)
        }
      },
    }
  }

  #watched(observed: Readonly<ObservedObject>): void {
    const change = this.#state.watched(observed)
    const { version } = observed
    this.#changes++
    this.#journal.add(change, version)
    this.#reached = version
    for (const subscription of [...this.#subscriptions]) {
      subscription.offer(change)
      subscription.reached(version, false)
    }
  }

  #listCompleted(version: ResourceVersion | string): void {
    // The first list, also of a new history: no version before it can be resumed from.
    const isFirst = this.#reached === undefined
    this.#isListing = false
    this.#reached = version
    const changes = this.#state.listCompleted()
    this.#changes += changes.length
    if (isFirst) this.#journal.reset(version)
    else for (const change of changes) this.#journal.add(change, version)
    for (const subscription of [...this.#subscriptions]) {
      if (!subscription.hasBegun) this.#begin(subscription, version)
      else if (isAbove(subscription.floor, version) && subscription.precedesList) subscription.expire(otherHistory)
      else {
        for (const change of changes) subscription.offer(change)
        subscription.reached(version, true)
      }
    }
    // A page can end outside of a network read.
    this.#announce()
  }

  #begin(subscription: HubSubscription, version: ResourceVersion | string): void {
    const { after } = subscription
    if (after === undefined) return subscription.present(this.#state.walk(), version)
    if (isAbove(after, version)) {
      // A list that began later contains at least what the subscriber has seen, if that was of this history.
      return subscription.precedesList ? subscription.expire(otherHistory) : subscription.await()
    }
    const changes = this.#journal.since(after)
    if (changes === undefined) return subscription.expire(`the changes after version ${after} are no longer known`)
    subscription.resume(changes, version)
  }

  #announce(): void {
    for (const subscription of [...this.#subscriptions]) subscription.announce()
  }
}

const otherHistory = "the version is above that of the server: it is of another history"
