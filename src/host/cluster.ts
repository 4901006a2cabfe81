/**
 * The cluster as controllers see it: one cache per kind, shared by all of them, and writes that update the caches as
 * soon as the server has accepted them.
 */

import type { Clock } from "../clock.ts"
import {
  type ApiClient,
  type ApiObject,
  type DeleteOptions,
  type Kind,
  NotFoundError,
  type ObjectBase,
  type PatchType,
} from "../kube/index.ts"

import type { ObjectCache } from "./cache/object-cache.ts"
import { SharedInformer } from "./cache/shared-informer.ts"

interface ClusterOptions {
  /** For writes and watches; the cluster closes it. */
  readonly api: ApiClient
  readonly clock: Clock
  /** In [0, 1). */
  readonly random: () => number
  /** Gets what an operator should see. */
  readonly onTrouble?: ((detail: string) => void) | undefined
}

export class Cluster {
  readonly clock: Clock
  readonly random: () => number
  readonly api: ApiClient
  readonly trouble: (detail: string) => void
  readonly #informers = new Map<Kind, SharedInformer<ObjectBase>>()

  constructor({ api, clock, random, onTrouble = () => undefined }: ClusterOptions) {
    this.clock = clock
    this.random = random
    this.trouble = onTrouble
    this.api = api
  }

  /** The objects of a kind. The first call makes the kind watched; call it before `start`. */
  cache<T extends ObjectBase = ApiObject>(kind: Kind): ObjectCache<T> {
    let informer = this.#informers.get(kind)
    if (informer === undefined) {
      const { clock, random, trouble } = this
      const { connection } = this.api
      informer = new SharedInformer<ObjectBase>({ connection, kind, clock, random, onTrouble: trouble })
      this.#informers.set(kind, informer)
    }
    // One kind has one shape, and the caller that names the kind knows it.
    return informer.cache as unknown as ObjectCache<T>
  }

  /** Now, in RFC 3339 with whole seconds. */
  now(): string {
    return `${new Date(this.nowMs()).toISOString().slice(0, 19)}Z`
  }

  /** Now, in ms since the epoch. */
  nowMs(): number {
    return Math.floor(this.clock.wallMicros() / 1000)
  }

  /** Resolves when every kind passed to `cache` has been listed. */
  async start(): Promise<void> {
    for (const informer of this.#informers.values()) informer.start()
    await Promise.all([...this.#informers.values()].map(({ synced }) => synced))
  }

  stopWatching(): void {
    for (const informer of this.#informers.values()) informer.stop()
  }

  close(): void {
    this.api.close()
  }

  async create<T extends ObjectBase = ApiObject>(kind: Kind, object: T): Promise<T> {
    return this.#enter(kind, await this.api.create(kind, object))
  }

  async update<T extends ObjectBase = ApiObject>(kind: Kind, object: T): Promise<T> {
    return this.#enter(kind, await this.api.update(kind, object))
  }

  async updateStatus<T extends ObjectBase = ApiObject>(kind: Kind, object: T): Promise<T> {
    return this.#enter(kind, await this.api.updateStatus(kind, object))
  }

  async patch<T extends ObjectBase = ApiObject>(
    kind: Kind,
    object: T,
    type: PatchType,
    body: unknown,
    sub?: string,
  ): Promise<T> {
    const options = sub === undefined ? {} : { subresource: sub }
    return this.#enter(kind, await this.api.patch<T>(kind, object.metadata, type, body, options))
  }

  /** An object that is gone already counts as deleted. The UID guards against deleting a new object of the same name. */
  async delete<T extends ObjectBase = ApiObject>(kind: Kind, object: T, options: DeleteOptions = {}): Promise<void> {
    const { uid } = object.metadata
    try {
      const left = await this.api.delete<T>(kind, object.metadata, {
        ...(uid === undefined ? {} : { uid }),
        ...options,
      })
      if (left === undefined) this.#informers.get(kind)?.cache.removed(object)
      else this.#enter(kind, left)
    } catch (error) {
      if (!(error instanceof NotFoundError)) throw error
      this.#informers.get(kind)?.cache.removed(object)
    }
  }

  #enter<T extends ObjectBase = ApiObject>(kind: Kind, object: T): T {
    this.#informers.get(kind)?.cache.wrote(object)
    return object
  }
}
