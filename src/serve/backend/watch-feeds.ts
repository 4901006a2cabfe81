/** What watches of a past are sent: the state or the changes they ask for, then what becomes due, then bookmarks. */
import { fail } from "../../apiserver/answers/failure.ts"
import { bookmarkLine, type WatchStream } from "../../apiserver/http/watch-stream.ts"
import type { ChangeRecord } from "../../apiserver/watch/change.ts"
import type { Clock, Timer } from "../../clock.ts"
import type { Past } from "../past/past.ts"
import type { PlayedKind } from "../play/played-kind.ts"
import { historyBegin, type KindState } from "../state/kind-state.ts"

/** A kind that is watched. */
export interface WatchedKind {
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
export const feedState = async (
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
export const feedChanges = (
  stream: WatchStream,
  kind: WatchedKind,
  version: bigint,
  settings: FeedSettings,
): (() => void) => {
  const following = new Following(stream, kind, settings)
  for (const record of kind.played?.recent.after(version) ?? []) stream.deliver(record)
  return following.begin(version)
}

/** The changes after a version, read from the past, and what follows. `begin`: the state at the beginning of the history, which is used up. */
export const feedPast = async (
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
