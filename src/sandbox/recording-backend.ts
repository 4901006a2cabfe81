/**
 * Recorded watches as the state of a server. How far the recording has been played decides what a list, a read or a
 * watch sees; {@link RecordingBackend.play} moves it on by one line and sends that line to whoever watches.
 *
 * - A watch that asks for the state gets the recorded lines from the first one on.
 * - A watch that resumes at a version gets the lines above it; below the version of the recorded list: 410.
 * - A list shows the state after the lines played so far, and at least after the recorded initial events, so that it
 *   never answers less than the cluster held when the recording began.
 */

import { hash } from "node:crypto"
import {
  expiredContinue,
  expiredList,
  expiredWatch,
  type Failure,
  tooLargeVersion,
} from "../apiserver/answers/failure.ts"
import { compact } from "../apiserver/answers/json-spacing.ts"
import type { Backend, WatchFeed } from "../apiserver/backend.ts"
import { builtinResources } from "../apiserver/kinds/builtin-resources.ts"
import { type Resource, ResourceRegistry } from "../apiserver/kinds/resources.ts"
import { encodeContinue } from "../apiserver/list/continue-token.ts"
import type { ListRequest, WatchRequest } from "../apiserver/list/list-options.ts"
import type { ListAnswer } from "../apiserver/list/list-response.ts"
import { pageOf, type Snapshot, snapshotOf } from "../apiserver/list/snapshot.ts"
import { type Change, keyOf, makeChange } from "../apiserver/watch/change.ts"
import { bookmarkLine, type WatchStream } from "../apiserver/watch/watch-stream.ts"
import { formatGvk } from "../kube/gvk.ts"
import type { RecordedKind, RecordedLine } from "./recording.ts"

/** A kind and how far it has been played. */
interface PlayedKind extends RecordedKind {
  /** Lines up to the end of the initial events; 0 if the recording marks none. */
  readonly initial: number
  /** Lines played so far. */
  played: number
  readonly watchers: Set<(line: RecordedLine) => void>
}

export class RecordingBackend implements Backend {
  readonly registry: ResourceRegistry
  readonly #kinds: Map<Resource, PlayedKind>
  readonly #kubeSystem: Change
  readonly #onServed: (kind: RecordedKind, line: RecordedLine) => void
  readonly #onWatch: () => void

  /**
   * `onServed` is told of every line given to a watcher, again for every watcher; `onWatch` of every watch that begins,
   * before it is given anything.
   */
  constructor(
    kinds: ReadonlyArray<RecordedKind>,
    onServed: (kind: RecordedKind, line: RecordedLine) => void,
    onWatch: () => void,
  ) {
    const withNamespaces = kinds.some(({ resource }) => resource.gvk.kind === "Namespace")
    const all = withNamespaces ? kinds : [...kinds, { resource: namespaceResource, lines: [] }]
    this.#kinds = new Map(all.map((kind) => [kind.resource, beginning(kind)]))
    this.registry = new ResourceRegistry(this.#kinds.keys())
    this.#kubeSystem = kubeSystem(kinds)
    this.#onServed = onServed
    this.#onWatch = onWatch
  }

  /** Plays the next line of a kind. */
  play(resource: Resource): void {
    const kind = this.#kind(resource)
    const line = kind.lines[kind.played]
    if (line === undefined) return
    kind.played++
    for (const send of kind.watchers) send(line)
  }

  get(resource: Resource, namespace: string, name: string): Change | undefined {
    const kind = this.#kind(resource)
    return this.#states(kind, this.#revision(kind)).get(keyOf(namespace, name))
  }

  list(resource: Resource, { state, limit, selection }: ListRequest): ListAnswer | Failure {
    const kind = this.#kind(resource)
    const current = this.#revision(kind)
    const page = (revision: bigint, start = ""): ListAnswer => ({
      type: "list",
      revision,
      ...pageOf(this.#snapshot(kind, revision), selection, limit, start),
    })
    switch (state.type) {
      case "latest":
      case "any":
        return page(current)
      case "notOlderThan":
        return state.version > current ? tooLargeVersion(state.version, current) : page(current)
      case "exact":
        if (state.version > current) return tooLargeVersion(state.version, current)
        return state.version < oldest(kind) ? expiredList : page(state.version)
      case "continue": {
        const { revision, start } = state.token
        if (revision > current) return tooLargeVersion(revision, current)
        if (revision >= 0n && revision < oldest(kind)) {
          return expiredContinue(encodeContinue({ revision: -1n, start }))
        }
        return page(revision < 0n ? current : revision, start)
      }
    }
  }

  watch(resource: Resource, { start }: WatchRequest): WatchFeed | Failure {
    const kind = this.#kind(resource)
    if (start.type === "after" && start.version !== undefined && start.version < oldest(kind)) {
      return expiredWatch(start.version, oldest(kind))
    }
    return (stream) => {
      this.#onWatch()
      if (start.type === "state") this.#feedState(stream, kind, start.endBookmark)
      else this.#feedAfter(stream, kind, start.version)
      const watcher = (line: RecordedLine): void => this.#send(stream, kind, line)
      kind.watchers.add(watcher)
      return () => kind.watchers.delete(watcher)
    }
  }

  #feedState(stream: WatchStream, kind: PlayedKind, endBookmark: boolean): void {
    if (kind.lines.length > 0) {
      for (const line of kind.lines.slice(0, kind.played)) this.#send(stream, kind, line)
      return
    }
    const revision = this.#revision(kind)
    for (const change of this.#states(kind, revision).values()) stream.deliverState(change)
    if (endBookmark) stream.bookmark(revision, bookmarkLine(kind.resource, revision, true, compact), true)
  }

  #feedAfter(stream: WatchStream, kind: PlayedKind, from: bigint | undefined): void {
    const version = from ?? this.#revision(kind)
    stream.startAfter(version)
    const past = kind.lines.slice(kind.initial, kind.played)
    // Past bookmarks of the very version say nothing new; one that is still to be played says that time goes on.
    for (const line of past) if (line.revision > version) this.#send(stream, kind, line)
  }

  #send(stream: WatchStream, kind: PlayedKind, line: RecordedLine): void {
    if (line.record !== undefined) {
      if (!stream.deliver(line.record)) return
    } else if (line.type === "BOOKMARK") {
      if (!stream.bookmark(line.revision, line.bytes, line.initialEventsEnd)) return
    } else {
      stream.send(line.bytes)
    }
    this.#onServed(kind, line)
  }

  #kind(resource: Resource): PlayedKind {
    return this.#kinds.get(resource) ?? beginning({ resource, lines: [] })
  }

  /** Highest version of the lines that a list reflects; per kind, because lines of other kinds may be played earlier. */
  #revision(kind: PlayedKind): bigint {
    if (kind.lines.length === 0) return highest(Array.from(this.#kinds.values(), seen).flat(), 1n)
    return highest(seen(kind), oldest(kind))
  }

  #snapshot(kind: PlayedKind, revision: bigint): Snapshot {
    return snapshotOf(this.#states(kind, revision).values())
  }

  #states(kind: PlayedKind, revision: bigint): Map<string, Change> {
    const states = new Map<string, Change>()
    if (kind.resource === namespaceResource) states.set("kube-system", this.#kubeSystem)
    for (const [index, { record, revision: version }] of seen(kind).entries()) {
      if (record === undefined || (index >= kind.initial && version > revision)) continue
      const { change } = record
      const key = keyOf(change.namespace, change.name)
      if (change.type === "DELETED") states.delete(key)
      else states.set(key, change)
    }
    return states
  }
}

const beginning = (kind: RecordedKind): PlayedKind => ({
  ...kind,
  initial: kind.lines.findIndex(({ initialEventsEnd }) => initialEventsEnd) + 1,
  played: 0,
  watchers: new Set(),
})

/** The lines whose effect a list shows. */
const seen = ({ lines, initial, played }: PlayedKind): ReadonlyArray<RecordedLine> =>
  lines.slice(0, Math.max(initial, played))

/** The version of the recorded list; 0 when the recording marks no end of it and so could hold everything. */
const oldest = ({ lines, initial }: PlayedKind): bigint => lines[initial - 1]?.revision ?? 0n

const highest = (lines: ReadonlyArray<RecordedLine>, atLeast: bigint): bigint => {
  let result = atLeast
  for (const { revision } of lines) if (revision > result) result = revision
  return result
}

const namespaceResource: Resource = builtinResources.find(({ gvk }) => formatGvk(gvk) === "v1.Namespace") ?? {
  gvk: { group: "", version: "v1", kind: "Namespace" },
  plural: "namespaces",
  namespaced: false,
}

/**
 * Clients tell clusters apart by the UID of this Namespace. For a recording without Namespaces it is made from the
 * recording itself: the same one, played again, is the same cluster.
 */
const kubeSystem = (kinds: ReadonlyArray<RecordedKind>): Change => {
  const text = kinds.map(({ lines }) => lines[0]?.bytes.toString("latin1") ?? "").join("")
  const uid = hash("sha256", text, "hex").replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*$/, "$1-$2-4$3-8$4-$5")
  const metadata = { name: "kube-system", uid, resourceVersion: "1" }
  const json = JSON.stringify({ kind: "Namespace", apiVersion: "v1", metadata, status: { phase: "Active" } })
  const fields = { type: "ADDED", uid, namespace: "", name: "kube-system", labels: undefined, revision: 1n } as const
  return makeChange(fields, json, compact)
}
