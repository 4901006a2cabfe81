/**
 * The parts that all controllers share: a queue of object keys, filled by cache changes and processed by one function
 * that compares the actual state with the desired one.
 */

import {
  type ApiObject,
  ConflictError,
  controllerOf,
  isEndedNamespace,
  type Kind,
  NotFoundError,
  type ObjectBase,
  type SelectorObject,
} from "../kube/index.ts"
import { selectorMatches } from "../kube/offline.ts"
import type { ChangeHandler } from "./cache/change-feed.ts"
import { keyOf, objectKey } from "./cache/object-cache.ts"
import type { Cluster } from "./cluster.ts"
import type { EventRecorder, EventSource, EventType } from "./controller/access/event-recorder.ts"
import { WorkQueue } from "./queue/work-queue.ts"

/** What a controller is given. */
export interface Surroundings {
  readonly cluster: Cluster
  readonly events: EventRecorder
}

/** A running controller. */
export interface Controller {
  readonly name: string
  /** Called once the caches are complete. */
  start(): void
  /** Resolves when the current runs are done. */
  close(): Promise<void>
}

/** Records Events about objects under one name. */
export type Record = (object: ObjectBase, type: EventType, reason: string, message: string) => void

export const recordAs =
  (events: EventRecorder, source: EventSource): Record =>
  (object, type, reason, message) =>
    events.record(source, { object, type, reason, message })

/** Runs `reconcile` for keys. Failures because the cache is behind the server are not reported, only repeated. */
export class KeyedController implements Controller {
  readonly name: string
  readonly queue: WorkQueue
  readonly #initialKeys: () => Iterable<string>
  #isStarted = false

  constructor(
    name: string,
    { cluster }: Surroundings,
    reconcile: (key: string) => Promise<void>,
    initialKeys: () => Iterable<string>,
  ) {
    this.name = name
    this.#initialKeys = initialKeys
    this.queue = new WorkQueue({
      clock: cluster.clock,
      random: cluster.random,
      process: async (key) => {
        try {
          await reconcile(key)
        } catch (error) {
          if (!isEndedNamespace(error)) throw error
        }
      },
      onError: (key, error) => {
        if (!isOutdated(error)) cluster.trouble(`${name} ${key}: ${String(error)}`)
      },
    })
  }

  start(): void {
    this.#isStarted = true
    for (const key of this.#initialKeys()) this.queue.add(key)
  }

  /** Before `start` nothing is queued: the initial keys cover it. */
  enqueue(key: string): void {
    if (this.#isStarted) this.queue.add(key)
  }

  enqueueAfter(key: string, delayMs: number | undefined): void {
    if (this.#isStarted && delayMs !== undefined) this.queue.addAfter(key, delayMs)
  }

  close(): Promise<void> {
    return this.queue.close()
  }
}

/** Whether the newer state, or the deletion, of the object that was written is on its way. A creation misses its namespace or its kind. */
const isOutdated = (error: unknown): boolean =>
  error instanceof ConflictError || (error instanceof NotFoundError && error.verb !== "create")

/** Queues every object that changed. */
export const enqueueSelf =
  <T extends ObjectBase = ApiObject>(controller: KeyedController): ChangeHandler<T> =>
  (changes) => {
    for (const { previous, current } of changes) {
      const object = current ?? previous
      if (object !== undefined) controller.enqueue(keyOf(object))
    }
  }

/**
 * Queues the owners of objects that changed: before and after, as the owner may have changed; for orphans every owner in
 * the namespace whose selector would adopt them.
 */
export const enqueueOwners =
  <T extends ObjectBase = ApiObject>(
    controller: KeyedController,
    ownerKind: Kind,
    { cluster }: Surroundings,
  ): ChangeHandler<T> =>
  (changes) => {
    const owners = cluster.cache<ApiObject & { readonly spec?: { readonly selector?: SelectorObject } }>(ownerKind)
    for (const { previous, current } of changes) {
      for (const object of [previous, current]) {
        const owner = object === undefined ? undefined : controllerOf(object)
        if (object !== undefined && owner?.kind === ownerKind.gvk.kind) {
          controller.enqueue(objectKey(object.metadata.namespace, owner.name))
        }
      }
      if (current === undefined || controllerOf(current) !== undefined) continue
      for (const owner of owners.inNamespace(current.metadata.namespace)) {
        if (selectorMatches(owner.spec?.selector, current.metadata.labels)) controller.enqueue(keyOf(owner))
      }
    }
  }
