/** A backend that has to wait for everything it serves, like one that reads a disk or asks an actor. */

import { setImmediate as nextTurn } from "node:timers/promises"
import {
  type Backend,
  bookmarkLine,
  builtinResources,
  type Change,
  type ChangeRecord,
  type ChangeType,
  definedKinds,
  type Failure,
  fail,
  type ListAnswer,
  type ListRequest,
  makeChange,
  OpenApiDocuments,
  pageOf,
  publishedKind,
  type Resource,
  ResourceRegistry,
  readOnlyKinds,
  snapshotOf,
  type WatchFeed,
  type WatchRequest,
  type WatchStream,
} from "../../src/apiserver/index.ts"

const compact = (json: string): string => json

/** The kinds that were recorded; all others are absent. */
const recorded = ["configmaps", "deployments", "pods", "selfsubjectaccessreviews"]

const widgets = {
  spec: {
    group: "example.com",
    scope: "Namespaced",
    names: { plural: "widgets", kind: "Widget", shortNames: ["wd"] },
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        subresources: { status: {}, scale: { specReplicasPath: ".spec.size", statusReplicasPath: ".status.size" } },
        schema: {
          openAPIV3Schema: {
            type: "object",
            properties: { spec: { type: "object", properties: { size: { type: "integer", description: "how big" } } } },
          },
        },
        additionalPrinterColumns: [{ name: "Size", type: "integer", jsonPath: ".spec.size" }],
      },
    ],
  },
}

export class DelayedBackend implements Backend {
  readonly registry: ResourceRegistry
  readonly documents = new OpenApiDocuments()
  /** The version at which the recording begins. */
  readonly beginning = 100n
  /** Awaited before each initial event of a watch is sent; replaced by tests that delay them. */
  pace: () => Promise<unknown> = nextTurn
  /** States that every list returns after its own. Default: none. */
  more: (() => AsyncIterable<Change>) | undefined
  /** Thrown by the next read. */
  defect: Error | undefined
  readonly #states = new Map<string, Map<string, Change>>()
  readonly #watchers = new Map<WatchStream, (record: ChangeRecord) => void>()
  #revision = 100n

  constructor() {
    const custom = definedKinds(widgets)
    for (const kind of custom) this.documents.add(publishedKind(kind))
    const kinds = [
      ...builtinResources.filter(({ plural }) => recorded.includes(plural)),
      ...custom.map(({ resource }) => resource),
    ]
    this.registry = new ResourceRegistry(readOnlyKinds(kinds))
  }

  /** Streams that currently get changes. */
  get subscriptions(): number {
    return this.#watchers.size
  }

  revision(): bigint {
    return this.#revision
  }

  /** A new state of an object, or its deletion. */
  add(plural: string, name: string, rest: Readonly<Record<string, unknown>> = {}, type?: ChangeType): Change {
    const resource = this.registry.all().find((candidate) => candidate.plural === plural)
    if (resource === undefined) throw new Error(`no kind is called ${plural}`)
    const states = this.#of(resource)
    const previous = states.get(`default/${name}`)
    const change = changeOf(resource, name, ++this.#revision, rest, type ?? (previous ? "MODIFIED" : "ADDED"))
    if (change.type === "DELETED") states.delete(`default/${name}`)
    else states.set(`default/${name}`, change)
    for (const [stream, send] of this.#watchers) if (stream.resource === resource) send({ change, previous })
    return change
  }

  async get(resource: Resource, namespace: string, name: string): Promise<Change | undefined> {
    await this.#wait()
    return this.#of(resource).get(`${namespace}/${name}`)
  }

  async list(resource: Resource, { state, limit, selection }: ListRequest): Promise<ListAnswer | Failure> {
    await this.#wait()
    const start = state.type === "continue" ? state.token.start : ""
    const { changes, ...page } = pageOf(snapshotOf(this.#of(resource).values()), selection, limit, start)
    return { type: "list", revision: this.#revision, changes: this.#oneByOne(changes), ...page }
  }

  async watch(_resource: Resource, { start }: WatchRequest): Promise<WatchFeed | Failure> {
    await this.#wait()
    if (start.type === "after" && start.version !== undefined && start.version < this.beginning)
      return fail(410, `the recording begins at ${this.beginning}`, { reason: "Expired" })
    return async (stream) => {
      const missed: ChangeRecord[] = []
      this.#watchers.set(stream, (record) => missed.push(record))
      stream.onClose(() => this.#watchers.delete(stream))
      const version = this.#revision
      if (start.type === "state") await this.#sendState(stream, version, start.endBookmark)
      for (const record of missed) stream.deliver(record)
      this.#watchers.set(stream, (record) => stream.deliver(record))
      return () => this.#watchers.delete(stream)
    }
  }

  async #sendState(stream: WatchStream, version: bigint, endBookmark: boolean): Promise<void> {
    for (const change of [...this.#of(stream.resource).values()]) {
      await this.pace()
      if (stream.closed) return
      stream.deliverState(change)
      await stream.drained()
    }
    if (endBookmark) stream.bookmark(version, bookmarkLine(stream.resource, version, true, compact), true)
  }

  async *#oneByOne(changes: Iterable<Change>): AsyncGenerator<Change> {
    for (const change of changes) {
      await nextTurn()
      yield change
    }
    if (this.more !== undefined) yield* this.more()
  }

  async #wait(): Promise<void> {
    await nextTurn()
    if (this.defect !== undefined) throw this.defect
  }

  #of({ plural }: Resource): Map<string, Change> {
    const states = this.#states.get(plural) ?? new Map<string, Change>()
    this.#states.set(plural, states)
    return states
  }
}

export const changeOf = (
  resource: Resource,
  name: string,
  revision: bigint,
  rest: Readonly<Record<string, unknown>>,
  type: ChangeType = "ADDED",
): Change => {
  const { group, version, kind } = resource.gvk
  const uid = `uid-of-${name}`
  const metadata = { name, namespace: "default", uid, resourceVersion: String(revision), labels: { app: name } }
  const object = { kind, apiVersion: group === "" ? version : `${group}/${version}`, metadata, ...rest }
  const fields = { type, uid, namespace: "default", name, labels: metadata.labels, revision }
  return makeChange(fields, JSON.stringify(object), compact)
}
