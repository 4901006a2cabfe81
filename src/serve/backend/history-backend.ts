/**
 * A moment of a recorded past as the source of an API server. A kind is loaded when it is first asked for.
 *
 * Versions are those that the objects had. A list has the highest version that its kind had reached, so a watch can begin there; a watch from an older
 * version gets the recorded changes since, and one from before the beginning of the kind's history a 410.
 */
import {
  type Backend,
  bookmarkLine,
  type Change,
  type ChangeRecord,
  encodeContinue,
  expiredContinue,
  expiredList,
  expiredWatch,
  type Failure,
  fail,
  type ListAnswer,
  type ListRequest,
  type OpenApiDocuments,
  objectNotFound,
  pageOf,
  parseObject,
  type Reply,
  type Resource,
  type ResourceRegistry,
  type Snapshot,
  scaleOf,
  tooLargeVersion,
  type WatchFeed,
  type WatchRequest,
  type WatchStream,
} from "../../apiserver/index.ts"
import type { Clock, Timer } from "../../clock.ts"
import type { ServedKinds } from "../kinds/served-kinds.ts"
import type { Past } from "../past/past.ts"
import type { PlayedKind } from "../play/played-kind.ts"
import { historyBegin, KindState } from "../state/kind-state.ts"
import type { RecordedResource } from "../state/recorded-resource.ts"

// What watches of a past are sent: the state or the changes they ask for, then what becomes due, then bookmarks.

/** A kind that is watched. */
interface WatchedKind {
  readonly state: KindState
  /** µs since the Unix epoch: the moment whose state it was when it was loaded. */
  readonly time: number
  /** Absent while time stands still: then nothing follows. */
  readonly played?: PlayedKind | undefined
}

interface FeedSettings {
  readonly clock: Clock
  /** ms */
  readonly bookmarkInterval: number
}

const compact = (json: string): string => json

/** The objects that there are, as ADDED, a bookmark after them if it is wanted, and what follows. */
const feedState = async (
  stream: WatchStream,
  kind: WatchedKind,
  endBookmark: boolean,
  settings: FeedSettings,
): Promise<() => void> => {
  const { version, snapshot } = kind.state
  const following = new Following(stream, kind, settings)
  for (const change of snapshot.changes) {
    if (stream.closed) break
    stream.deliverState(change)
    await stream.drained()
  }
  if (endBookmark) stream.bookmark(version, bookmarkLine(stream.resource, version, true, compact), true)
  return following.begin(version)
}

/** The changes after a version that are still known, and what follows. */
const feedChanges = (stream: WatchStream, kind: WatchedKind, version: bigint, settings: FeedSettings): (() => void) => {
  const following = new Following(stream, kind, settings)
  for (const record of kind.played?.recent.after(version) ?? []) stream.deliver(record)
  return following.begin(version)
}

/** The changes after a version, read from the past, and what follows. `begin`: the state at the beginning of the history, which is used up. */
const feedPast = async (
  stream: WatchStream,
  kind: WatchedKind,
  { begin, version, past }: { readonly begin: KindState; readonly version: bigint; readonly past: Past },
  settings: FeedSettings,
): Promise<() => void> => {
  const following = new Following(stream, kind, settings)
  // What is entered later is followed.
  const through = kind.played?.entered ?? kind.time
  const source = begin.recorded.kind
  for await (const batch of past.changes(source.gvk, historyBegin(source, through), through)) {
    for (const change of batch) {
      if (stream.closed) break
      const record = begin.apply(change)
      if (record === undefined || record.change.revision <= version) continue
      stream.deliver(record)
      await stream.drained()
    }
    if (stream.closed) break
  }
  return following.begin(version)
}

/** Keeps what becomes due while the initial events are being sent, and sends it after them. */
class Following {
  readonly #stream: WatchStream
  readonly #kind: WatchedKind
  readonly #settings: FeedSettings
  readonly #end: () => void
  #waiting: ChangeRecord[] | undefined = []
  #bookmarks: Timer | undefined

  constructor(stream: WatchStream, kind: WatchedKind, settings: FeedSettings) {
    this.#stream = stream
    this.#kind = kind
    this.#settings = settings
    const unsubscribe = kind.played?.listen({
      change: (record) => {
        if (this.#waiting === undefined) stream.deliver(record)
        else this.#waiting.push(record)
      },
      restart: () =>
        stream.error(
          fail(410, "the recorded cluster was restored to another state: list again", { reason: "Expired" }),
        ),
    })
    this.#end = () => {
      unsubscribe?.()
      this.#bookmarks?.cancel()
    }
    stream.onClose(this.#end)
  }

  /** Only changes after the version are sent from now on. Returns a function that ends it. */
  begin(version: bigint): () => void {
    this.#stream.startAfter(version)
    for (const record of this.#waiting ?? []) this.#stream.deliver(record)
    this.#waiting = undefined
    this.#sendBookmarks()
    return this.#end
  }

  #sendBookmarks(): void {
    const { clock, bookmarkInterval } = this.#settings
    if (this.#stream.closed || !this.#stream.allowBookmarks || bookmarkInterval <= 0) return
    this.#bookmarks = clock.after(bookmarkInterval, () => {
      const { version } = this.#kind.state
      this.#stream.bookmark(version, bookmarkLine(this.#stream.resource, version, false, compact))
      this.#sendBookmarks()
    })
  }
}

/** A kind at the moment that is served, and its shortcomings then. */
export interface LoadedKind extends WatchedKind {
  readonly source: RecordedResource
  /** For people, one line each. */
  readonly warnings: ReadonlyArray<string>
}

/** Where the backend gets its kinds from: a moment that stands still, or one that runs. */
export interface MomentKinds {
  readonly served: ServedKinds
  /** The kind as it is now. Rejects with what reading the past throws. */
  readonly load: (source: RecordedResource) => Promise<LoadedKind>
}

interface HistorySettings {
  readonly past: Past
  readonly clock: Clock
  /** ms between the bookmarks of a watch. */
  readonly bookmarkInterval: number
  /** A warning with every answer about a kind. Default: none. */
  readonly remark?: string | undefined
}

/** States of a kind that lists in pages may still be reading. */
const keptSnapshots = 4

/** Parts of a Pod that were never recorded; asked for by name, so that the refusal can say why. */
const unrecordedParts: ReadonlySet<string> = new Set(
  ["log", "exec", "attach", "portforward", "proxy"].map((part) => `pods/${part}`),
)

export class HistoryBackend implements Backend {
  readonly registry: ResourceRegistry
  readonly documents: OpenApiDocuments
  readonly unlistedSubresources = unrecordedParts
  readonly #kinds: MomentKinds
  readonly #settings: HistorySettings
  readonly #warnings = new Map<Resource, ReadonlyArray<string>>()
  readonly #snapshots = new WeakMap<KindState, Map<bigint, Snapshot>>()

  constructor(kinds: MomentKinds, settings: HistorySettings) {
    this.registry = kinds.served.registry
    this.documents = kinds.served.documents
    this.#kinds = kinds
    this.#settings = settings
  }

  /** Of the last state that was loaded; a response about a kind is sent after that. */
  warnings(resource: Resource): ReadonlyArray<string> {
    const { remark } = this.#settings
    const warnings = this.#warnings.get(resource) ?? []
    return remark === undefined ? warnings : [remark, ...warnings]
  }

  async get(resource: Resource, namespace: string, name: string): Promise<Change | undefined> {
    return (await this.#load(resource)).state.get(namespace, name)
  }

  async list(resource: Resource, { state: wanted, limit, selection }: ListRequest): Promise<ListAnswer | Failure> {
    const { state } = await this.#load(resource)
    const { version } = state
    const page = (revision: bigint, snapshot: Snapshot, start = ""): ListAnswer => ({
      type: "list",
      revision,
      ...pageOf(snapshot, selection, limit, start),
    })
    const current = this.#keep(state)
    switch (wanted.type) {
      case "latest":
      case "any":
        return page(version, current)
      case "notOlderThan":
        return wanted.version > version ? tooLargeVersion(wanted.version, version) : page(version, current)
      case "exact": {
        if (wanted.version > version) return tooLargeVersion(wanted.version, version)
        const known = this.#snapshots.get(state)?.get(wanted.version)
        return known === undefined ? expiredList : page(wanted.version, known)
      }
      case "continue": {
        const { revision, start } = wanted.token
        if (revision < 0n) return page(version, current, start)
        if (revision > version) return tooLargeVersion(revision, version)
        const known = this.#snapshots.get(state)?.get(revision)
        if (known === undefined) return expiredContinue(encodeContinue({ revision: -1n, start }))
        return page(revision, known, start)
      }
    }
  }

  async watch(resource: Resource, { start }: WatchRequest): Promise<WatchFeed | Failure> {
    const loaded = await this.#load(resource)
    const { state, played, source, time } = loaded
    const { past } = this.#settings
    if (start.type === "state") {
      if (start.notOlderThan > state.version) return tooLargeVersion(start.notOlderThan, state.version)
      return (stream) => feedState(stream, loaded, start.endBookmark, this.#settings)
    }
    const version = start.version ?? state.version
    if (version >= (played?.recent.floor ?? state.version))
      return (stream) => feedChanges(stream, loaded, version, this.#settings)
    const begin = await KindState.load(past, source, historyBegin(source.kind, time))
    if (version < begin.version) return expiredWatch(version, begin.version)
    return (stream) => feedPast(stream, loaded, { begin, version, past }, this.#settings)
  }

  async readSubresource(
    resource: Resource,
    namespace: string,
    name: string,
    subresource: string,
  ): Promise<Reply | Failure> {
    if (subresource === "scale") {
      const found = await this.get(resource, namespace, name)
      if (found === undefined) return objectNotFound(resource, name)
      const json = JSON.stringify(scaleOf(resource, parseObject(found)))
      return { type: "written", status: 200, json, warnings: [] }
    }
    return fail(405, `${subresource} of ${name} cannot be served: only objects were recorded`, {
      reason: "MethodNotAllowed",
      details: {},
    })
  }

  async #load(resource: Resource): Promise<LoadedKind> {
    const source = this.#kinds.served.sources.get(resource)
    // Every kind that can be read has one.
    if (source === undefined) throw new Error(`${resource.plural} cannot be read`)
    const loaded = await this.#kinds.load(source)
    this.#warnings.set(resource, loaded.warnings)
    return loaded
  }

  /** Remembers the state as it is now, for the pages of lists. */
  #keep(state: KindState): Snapshot {
    const kept = this.#snapshots.get(state) ?? new Map<bigint, Snapshot>()
    this.#snapshots.set(state, kept)
    const { version, snapshot } = state
    kept.delete(version)
    kept.set(version, snapshot)
    for (const oldest of kept.keys()) {
      if (kept.size <= keptSnapshots) break
      kept.delete(oldest)
    }
    return snapshot
  }
}
