/**
 * The list that a watcher is making: why, whether one is owed from before, and what the gap that it closes is to say.
 */

import type { ResourceVersion } from "../../../kube/resource-version.ts"
import type { ListReason } from "../../../kube/watch/protocol/protocol.ts"
import type { GapReason } from "../../../trace/event.ts"
import { type OwedList, repeatedFirstList } from "./owed-list.ts"

/** What a gap says unless something has told more. */
const gapDetails = {
  expired: "the server no longer had the changes since the last recorded version; its current state was listed",
  overload:
    "reading was suspended until the server closed the watch and dropped the changes; its current state was listed",
  stopped: "recording had stopped; the server's current state was listed",
} as const

/** Where the recording of the kind stands. */
interface Completeness {
  readonly epoch: number
  /** The empty string before the first list. */
  readonly completeVersion: string
}

/** Where the recording of what one session watches stands, and who remembers it: the frames themselves, or one namespace's part of them. */
export interface Standing extends Completeness {
  /** µs since the Unix epoch of {@link Completeness.completeVersion}; 0 before. */
  readonly completeTime: number
  /** Everything up to `version` has been added or does not count. */
  reach(version: ResourceVersion | string): void
  /** From here on nothing is complete, and the store knows it before it knows anything of the list. */
  listBegins(reason: "first" | GapReason): void
  listEnds(version: string): void
}

export class ListUnderWay {
  readonly #recorded: Completeness
  #owed: OwedList | undefined
  #listing: ListReason | undefined
  #detail: string | undefined
  #epochDetail = ""

  /** `recorded` is asked when it matters; `owed`: what an earlier life left to be done. */
  constructor(recorded: Completeness, owed: OwedList | undefined) {
    this.#recorded = recorded
    this.#owed = owed
  }

  /** While it is true nothing of the kind is complete. */
  get isUnderWay(): boolean {
    return this.#listing !== undefined
  }

  /** A new history begins; `detail` says what the gap between the two is. */
  epochStarted(detail: string): void {
    this.#epochDetail = detail
  }

  /** `hasObjects`: some are recorded, perhaps by a first list that was begun before and not completed. */
  started(reason: ListReason, detail: string | undefined, hasObjects: boolean): void {
    if (this.#listing === "first" && hasObjects) this.#owed ??= repeatedFirstList
    this.#listing = reason
    this.#detail = detail
  }

  completed(): void {
    this.#listing = undefined
    this.#owed = undefined
  }

  /**
   * `first`: it closes no gap. A first list in a later epoch is the one that an earlier life owed to a restored cluster when it
   * ended: the store gave up the old history's version with its first frame of the new one.
   */
  get reason(): "first" | GapReason {
    const reason = this.#listing ?? "expired"
    if (reason !== "first") return reason
    if (this.#owed !== undefined) return this.#owed.reason
    if (this.#recorded.epoch === 0 || this.#recorded.completeVersion !== "") return reason
    this.#epochDetail ||= "the recorder ended before the list of a restored cluster was complete"
    return "cluster-restored"
  }

  /** What the gap says. */
  detailOf(reason: GapReason): string {
    if (this.#detail !== undefined) return this.#detail
    if (this.#owed !== undefined) return this.#owed.detail
    return reason === "cluster-restored" ? this.#epochDetail : gapDetails[reason]
  }
}
