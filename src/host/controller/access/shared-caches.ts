/**
 * One informer for each selection of objects, shared by all controllers that ask for it.
 *
 * Guaranteed: the server sees one watch for each distinct (kind, namespace, label selector, field selector), however many controllers use it; the last
 * one that releases a selection ends its watch. What the server returned for a write of ours is in every cache that selects the object before the
 * write's promise resolves, except new objects in caches with a field selector, which only the server can evaluate.
 */

import type { Clock } from "../../../clock.ts"
import type { ApiConnection } from "../../../kube/client/api-connection.ts"
import type { ApiObject } from "../../../kube/client/objects.ts"
import { formatGvk } from "../../../kube/gvk.ts"
import type { Kind } from "../../../kube/kind.ts"
import { type LabelSelector, matchesLabels, parseLabelSelector } from "../../../kube/label-selector.ts"
import type { WatchPolicy } from "../../../kube/watch/protocol/policy.ts"
import { keyOf, type ObjectCache } from "../../object-cache.ts"
import { SharedInformer } from "../../shared-informer.ts"

/** Objects of a kind; whatever is absent does not restrict. */
export interface KindSelection {
  readonly kind: Kind
  readonly namespace?: string | undefined
  readonly labelSelector?: string | undefined
  readonly fieldSelector?: string | undefined
}

interface SharedCachesOptions {
  readonly connection: ApiConnection
  readonly clock: Clock
  readonly random: () => number
  readonly trouble: (detail: string) => void
  readonly policy?: Partial<WatchPolicy> | undefined
}

interface Shared {
  readonly selection: KindSelection
  readonly labels: LabelSelector
  readonly informer: SharedInformer<ApiObject>
  users: number
}

/** The use of a selection by one controller. */
export interface Acquired {
  readonly cache: ObjectCache<ApiObject>
  /** Resolves when the first list is complete. Never rejects. */
  readonly synced: Promise<void>
  /** Call it once. */
  release(): void
}

export class SharedCaches {
  readonly #options: SharedCachesOptions
  readonly #byKind = new Map<string, Map<string, Shared>>()

  constructor(options: SharedCachesOptions) {
    this.#options = options
  }

  acquire(selection: KindSelection): Acquired {
    const kind = formatGvk(selection.kind.gvk)
    const name = JSON.stringify([selection.namespace, selection.labelSelector, selection.fieldSelector])
    const ofKind = this.#byKind.get(kind) ?? new Map<string, Shared>()
    this.#byKind.set(kind, ofKind)
    const shared = ofKind.get(name) ?? this.#start(selection)
    ofKind.set(name, shared)
    shared.users++
    return {
      cache: shared.informer.cache,
      synced: shared.informer.synced,
      release: () => {
        shared.users--
        if (shared.users > 0) return
        shared.informer.stop()
        ofKind.delete(name)
      },
    }
  }

  /** What the server returned for a write. */
  wrote(object: ApiObject): void {
    const { namespace, labels } = object.metadata
    for (const { selection, labels: selected, informer } of this.#of(object)) {
      const isNamespace = selection.namespace === undefined || selection.namespace === namespace
      // An object that no longer matches is left to the watch, which reports it as deleted.
      if (!isNamespace || !matchesLabels(selected, labels)) continue
      if (selection.fieldSelector === undefined || informer.cache.byKey(keyOf(object)) !== undefined)
        informer.cache.wrote(object)
    }
  }

  /** A write of ours has removed the object. */
  removed(object: ApiObject): void {
    for (const { informer } of this.#of(object)) informer.cache.removed(object)
  }

  /** Stops all watches; the caches keep their state. */
  stop(): void {
    for (const ofKind of this.#byKind.values()) for (const { informer } of ofKind.values()) informer.stop()
  }

  #of({ apiVersion, kind }: ApiObject): Iterable<Shared> {
    return this.#byKind.get(`${apiVersion}.${kind}`)?.values() ?? []
  }

  #start(selection: KindSelection): Shared {
    const { connection, clock, random, trouble, policy } = this.#options
    const parsed = parseLabelSelector(selection.labelSelector ?? "")
    // defineController has refused it.
    if ("problem" in parsed) throw new Error(parsed.problem)
    const informer = new SharedInformer<ApiObject>({
      ...selection,
      connection,
      clock,
      random,
      policy,
      onTrouble: trouble,
    })
    informer.start()
    return { selection, labels: parsed, informer, users: 0 }
  }
}
