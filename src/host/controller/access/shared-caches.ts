/**
 * One cache for each selection of objects, shared by all controllers that ask for it.
 *
 * Guaranteed: the source opens one cache for each distinct (kind, namespace, label selector, field selector), however many controllers use it; the last
 * one that releases a selection closes its cache. What the server returned for a write of ours is in every cache that selects the object before the
 * write's promise resolves, except new objects in caches with a field selector, which only the server can evaluate.
 */

import type { Clock } from "../../../clock.ts"
import type { ApiConnection, ApiObject, Kind, ObjectBase, WatchPolicy } from "../../../kube/index.ts"
import { formatGvk, type LabelSelector, matchesLabels, parseLabelSelector } from "../../../kube/offline.ts"
import { keyOf, type ObjectCache } from "../../cache/object-cache.ts"
import { SharedInformer } from "../../cache/shared-informer.ts"

interface Shared {
  readonly selection: KindSelection
  readonly labels: LabelSelector
  readonly opened: OpenCache
  users: number
}

/** The use of a selection by one controller. */
export interface Acquired extends Omit<OpenCache, "close"> {
  /** Call it once. */
  release(): void
}

export class SharedCaches {
  readonly #source: CacheSource
  readonly #byKind = new Map<string, Map<string, Shared>>()

  constructor(source: CacheSource) {
    this.#source = source
  }

  acquire(selection: KindSelection): Acquired {
    const kind = formatGvk(selection.kind.gvk)
    const { namespace, labelSelector, fieldSelector, managedFields } = selection
    const needsManagedFields = managedFields === true && !this.#source.hasManagedFields
    const name = JSON.stringify([namespace, labelSelector, fieldSelector, needsManagedFields])
    const ofKind = this.#byKind.get(kind) ?? new Map<string, Shared>()
    this.#byKind.set(kind, ofKind)
    const shared = ofKind.get(name) ?? this.#open(selection)
    const { opened } = shared
    const forget = (): void => {
      if (ofKind.get(name) === shared) ofKind.delete(name)
    }
    if (shared.users === 0) {
      ofKind.set(name, shared)
      // A later caller gets another one.
      void opened.lost.then(forget)
    }
    shared.users++
    return {
      get cache() {
        return opened.cache
      },
      synced: opened.synced,
      lost: opened.lost,
      release: () => {
        shared.users--
        if (shared.users > 0) return
        opened.close()
        forget()
      },
    }
  }

  /** What the server returned for a write. */
  wrote(object: ObjectBase): void {
    const { namespace, labels } = object.metadata
    for (const { selection, labels: selected, opened } of this.#of(object)) {
      const isNamespace = selection.namespace === undefined || selection.namespace === namespace
      // An object that no longer matches is left to the watch, which reports it as deleted.
      if (!isNamespace || !matchesLabels(selected, labels)) continue
      if (selection.fieldSelector === undefined || opened.cache?.byKey(keyOf(object)) !== undefined)
        opened.cache?.wrote(object as ApiObject)
    }
  }

  /** A write of ours has removed the object. */
  removed(object: ObjectBase): void {
    for (const { opened } of this.#of(object)) opened.cache?.removed(object as ApiObject)
  }

  /** Closes all caches; they keep their state. */
  stop(): void {
    for (const ofKind of this.#byKind.values()) for (const { opened } of ofKind.values()) opened.close()
  }

  #of({ apiVersion, kind }: ObjectBase): Iterable<Shared> {
    return this.#byKind.get(`${apiVersion}.${kind}`)?.values() ?? []
  }

  #open(selection: KindSelection): Shared {
    const parsed = parseLabelSelector(selection.labelSelector ?? "")
    // defineController has refused it.
    if ("problem" in parsed) throw new Error(parsed.problem)
    return { selection, labels: parsed, opened: this.#source.open(selection), users: 0 }
  }
}

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

/**
 * Opens caches that hold what {@link SharedInformer} guarantees: in a program of its own an informer for each selection; under `reel host` the watch
 * hub, which all modules share.
 */
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
