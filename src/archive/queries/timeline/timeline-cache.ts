/** What questions about one recording's time line share: names, trees of lanes, and how states were judged. Everything is bounded. */
import type { LaneTree, PartHealth, Tone } from "../../../timeline/index.ts"
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

const mostTrees = 4
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

  tree(key: string): KeptTree | undefined {
    return this.#trees.get(key)
  }

  keepTree(key: string, tree: KeptTree): void {
    keepNewest(this.#trees, key, tree, mostTrees)
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
