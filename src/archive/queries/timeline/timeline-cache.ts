/** What questions about one recording's time line share: names, trees of lanes, and how states were judged. Everything is bounded. */
import type { LaneTree, PartHealth, Tone } from "../../../timeline/index.ts"
import type { QueriedRecording } from "../queried-recording.ts"
import { LaneDirectory } from "./lane-directory.ts"

/** A tree with what may be missing from it. */
interface KeptTree {
  readonly tree: LaneTree
  /** Sequence number up to which it was made; `undefined`: nothing that is recorded later changes it. */
  readonly cut: number | undefined
  /** What makes it out of date: where kinds begin. */
  readonly beginnings: string
}

/** How a state was judged. */
export interface Judged {
  readonly tone: Tone
  /** `undefined`: not looked at. */
  readonly parts: ReadonlyArray<PartHealth> | undefined
}

/** Bytes of trees, beyond which only the newest is kept: some 14 trees of 100,000 objects. */
const mostTreeBytes = 40 * 1024 * 1024
const mostJudged = 20_000

/** The last changes of lanes that are drawn again and again, up to an event. */
interface LastChanges {
  readonly throughSequence: number
  /** By object number; 0: it had none. Deletions as negative numbers. */
  readonly sequences: Map<number, number>
}

export class TimelineCache {
  readonly directory = new LaneDirectory()
  readonly #trees = new Map<string, KeptTree>()
  readonly #judged = new Map<number, Judged>()
  readonly #last = new Map<number, LastChanges>()

  /** Call it before a question looks for a tree, or reads names. */
  renew(recording: QueriedRecording): void {
    // Trees have the names of the directory of which they were made.
    if (recording.reading(() => this.directory.forgetIfOutdated(recording))) this.#trees.clear()
  }

  tree(key: string): KeptTree | undefined {
    return this.#trees.get(key)
  }

  keepTree(key: string, tree: KeptTree): void {
    this.#trees.delete(key)
    this.#trees.set(key, tree)
    let bytes = [...this.#trees.values()].reduce((sum, each) => sum + each.tree.bytes, 0)
    for (const [oldest, { tree: old }] of this.#trees) {
      if (bytes <= mostTreeBytes || oldest === key) return
      bytes -= old.bytes
      this.#trees.delete(oldest)
    }
  }

  /** By the sequence number of the state. */
  judged(sequence: number): Judged | undefined {
    return this.#judged.get(sequence)
  }

  keepJudged(sequence: number, judged: Judged): void {
    keepNewest(this.#judged, sequence, judged, mostJudged)
  }

  /** By the number of the kind. */
  lastChanges(kind: number): LastChanges | undefined {
    return this.#last.get(kind)
  }

  keepLastChanges(kind: number, last: LastChanges): void {
    this.#last.set(kind, last)
  }
}

const keepNewest = <Key, Value>(map: Map<Key, Value>, key: Key, value: Value, most: number): void => {
  map.delete(key)
  map.set(key, value)
  if (map.size <= most) return
  const oldest = map.keys().next()
  if (oldest.done !== true) map.delete(oldest.value)
}
