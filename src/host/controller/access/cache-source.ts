/**
 * Who keeps caches up to date. In a program of its own that is an informer for each selection; under `reel host` it is the watch hub, which
 * all modules share.
 */

import type { Clock } from "../../../clock.ts"
import type { ApiConnection } from "../../../kube/client/api-connection.ts"
import type { ApiObject } from "../../../kube/client/objects.ts"
import type { Kind } from "../../../kube/kind.ts"
import type { WatchPolicy } from "../../../kube/watch/protocol/policy.ts"
import type { ObjectCache } from "../../object-cache.ts"
import { SharedInformer } from "../../shared-informer.ts"

/** Objects of a kind; whatever is absent does not restrict. */
export interface KindSelection {
  readonly kind: Kind
  readonly namespace?: string | undefined
  readonly labelSelector?: string | undefined
  readonly fieldSelector?: string | undefined
  /** Whether `managedFields` are needed. A source may leave them out unless they are. */
  readonly managedFields?: boolean | undefined
}

/** The cache of one selection. */
export interface OpenCache {
  /** `undefined` before it may be read. Once {@link OpenCache.synced} has resolved it is there. */
  readonly cache: ObjectCache<ApiObject> | undefined
  /** Resolves when the cache has the whole present state. Never rejects. */
  readonly synced: Promise<void>
  /** Resolves when the cache may no longer be read, because a right was taken away. Never rejects; with most sources it never resolves. */
  readonly lost: Promise<void>
  /** Ends it; the cache keeps its state. A second call has no effect. */
  close(): void
}

/** Opens caches that hold what {@link SharedInformer} guarantees. */
export interface CacheSource {
  /** Whether its objects have `managedFields` even if a selection does not ask for them. */
  readonly hasManagedFields: boolean
  open(selection: KindSelection): OpenCache
}

interface InformerSourceOptions {
  readonly connection: ApiConnection
  readonly clock: Clock
  readonly random: () => number
  readonly trouble: (detail: string) => void
  readonly policy?: Partial<WatchPolicy> | undefined
}

/** A watch of its own for each cache, with the connection's credentials. */
export const informerSource = ({ connection, clock, random, trouble, policy }: InformerSourceOptions): CacheSource => ({
  hasManagedFields: true,
  open: ({ managedFields: _, ...selection }) => {
    const informer = new SharedInformer<ApiObject>({
      ...selection,
      connection,
      clock,
      random,
      policy,
      onTrouble: trouble,
    })
    informer.start()
    return {
      cache: informer.cache,
      synced: informer.synced,
      lost: new Promise(() => undefined),
      close: () => informer.stop(),
    }
  },
})
