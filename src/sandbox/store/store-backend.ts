/** Lists and watches over the object store: the state or the changes for a request, or its 410 or 504. */

import type { Eventually } from "../../apiserver/answers/eventually.ts"
import {
  expiredContinue,
  expiredList,
  expiredWatch,
  type Failure,
  tooLargeVersion,
} from "../../apiserver/answers/failure.ts"
import type { Backend, WatchFeed } from "../../apiserver/backend.ts"
import { bookmarkLine, type WatchStream } from "../../apiserver/http/watch-stream.ts"
import type { Resource, ResourceRegistry } from "../../apiserver/kinds/resources.ts"
import { encodeContinue } from "../../apiserver/list/continue-token.ts"
import type { ListRequest, WatchRequest } from "../../apiserver/list/list-options.ts"
import type { ListAnswer } from "../../apiserver/list/list-response.ts"
import { pageOf } from "../../apiserver/list/snapshot.ts"
import type { OpenApiDocuments } from "../../apiserver/openapi/openapi-document.ts"
import { type Change, keyOf } from "../../apiserver/watch/change.ts"
import { unlistedSubresources } from "../writes/subresources/subresources.ts"
import type { WriteOutcome, WriteRequest } from "../writes/write-request.ts"
import type { Writer } from "../writes/writer.ts"
import type { Collection } from "./collection.ts"
import type { ObjectStore } from "./object-store.ts"

export class StoreBackend implements Backend {
  readonly registry: ResourceRegistry
  readonly documents: OpenApiDocuments
  readonly unlistedSubresources = unlistedSubresources
  readonly #store: ObjectStore
  readonly #writer: Writer

  constructor(registry: ResourceRegistry, store: ObjectStore, writer: Writer, documents: OpenApiDocuments) {
    this.documents = documents
    this.registry = registry
    this.#store = store
    this.#writer = writer
  }

  /** At once, unless an admission webhook is asked; see {@link Writer}. */
  write(request: WriteRequest): Eventually<WriteOutcome> {
    return this.#writer.handle(request)
  }

  readSubresource(resource: Resource, namespace: string, name: string, subresource: string): WriteOutcome | undefined {
    return this.#writer.read(resource, namespace, name, subresource)
  }

  revision(): bigint {
    return this.#store.revision
  }

  *objectCounts(): Generator<readonly [resource: Resource, count: number]> {
    for (const { resource, live } of this.#store.collections()) yield [resource, live.size]
  }

  get(resource: Resource, namespace: string, name: string): Change | undefined {
    return this.#store.collection(resource.gvk).live.get(keyOf(namespace, name))?.change
  }

  list(resource: Resource, { state, limit, selection }: ListRequest): ListAnswer | Failure {
    const collection = this.#store.collection(resource.gvk)
    const current = this.#store.revision
    const page = (revision: bigint, start = ""): ListAnswer => ({
      type: "list",
      revision,
      ...pageOf(collection.snapshotAt(revision), selection, limit, start),
    })
    switch (state.type) {
      case "latest":
      case "any":
        return page(current)
      case "notOlderThan":
        return state.version > current ? tooLargeVersion(state.version, current) : page(current)
      case "exact":
        if (state.version > current) return tooLargeVersion(state.version, current)
        return state.version < collection.history.floor ? expiredList : page(state.version)
      case "continue": {
        const { revision, start } = state.token
        if (revision < 0n) return page(current, start)
        if (revision > current) return tooLargeVersion(revision, current)
        if (revision < collection.history.floor) return expiredContinue(encodeContinue({ revision: -1n, start }))
        return page(revision, start)
      }
    }
  }

  watch(resource: Resource, { start }: WatchRequest): WatchFeed | Failure {
    const collection = this.#store.collection(resource.gvk)
    const current = this.#store.revision
    if (start.type === "state") {
      if (start.notOlderThan > current) return tooLargeVersion(start.notOlderThan, current)
      return (stream) => this.#feedState(stream, collection, start.endBookmark)
    }
    const version = start.version ?? current
    // Not refused when ahead of the server: the real server accepts such a watch and stays silent.
    if (version < collection.history.floor) return expiredWatch(version, collection.history.floor)
    return (stream) => {
      stream.startAfter(version)
      for (const record of collection.history.after(version)) stream.deliver(record)
      return collection.listen((record) => stream.deliver(record))
    }
  }

  /**
   * Newest first. The real server guarantees no order and sends key order, which for objects created in the order of
   * their names looks like version order; this order exposes clients that take a version from a synthetic event.
   */
  #feedState(stream: WatchStream, collection: Collection, endBookmark: boolean): () => unknown {
    const version = this.#store.revision
    const states = Array.from(collection.live.values(), ({ change }) => change)
    states.sort((left, right) => (left.revision > right.revision ? -1 : 1))
    for (const change of states) stream.deliverState(change)
    if (endBookmark) stream.bookmark(version, bookmarkLine(stream.resource, version, true, this.#store.format), true)
    stream.startAfter(version)
    return collection.listen((record) => stream.deliver(record))
  }
}
