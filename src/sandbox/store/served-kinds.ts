/** Kinds that are added and removed while the server runs: by registration in the process, and by CustomResourceDefinitions. */

import type { Resource, ResourceRegistry, WatchStream } from "../../apiserver/index.ts"
import type { ObjectStore } from "./object-store.ts"

export class ServedKinds {
  readonly registry: ResourceRegistry
  readonly #store: ObjectStore
  readonly #streams: () => Iterable<WatchStream>

  /** `streams` returns the watches that are open when it is called. */
  constructor(registry: ResourceRegistry, store: ObjectStore, streams: () => Iterable<WatchStream>) {
    this.registry = registry
    this.#store = store
    this.#streams = streams
  }

  /** Throws KindConflictError when the kind or its path is taken. */
  add(resource: Resource): void {
    this.registry.add(resource)
    this.#store.open(resource)
  }

  /** Replaces the description of a served kind: its objects stay, its watches end properly, as in the real server. */
  replace(old: Resource, resource: Resource): void {
    this.registry.remove(old)
    this.registry.add(resource)
    this.#store.reopen(resource)
    this.#endWatches(old)
  }

  /** The kind's objects are deleted one by one, its watches end properly, its path and its group disappear. */
  remove(resource: Resource): void {
    this.#store.deleteAll(resource)
    this.registry.remove(resource)
    this.#store.close(resource)
    this.#endWatches(resource)
  }

  #endWatches(resource: Resource): void {
    for (const stream of this.#streams()) if (stream.resource === resource) stream.end()
  }
}
