/** The list that a watcher is making: its reason, whether one is owed by an earlier life, and the detail of the gap that it closes. */

import type { ListReason } from "../../kube/index.ts"
import type { GapReason } from "../../trace/index.ts"
import type { Completeness } from "./kind-progress.ts"
import { type OwedList, repeatedFirstList } from "./resume-point.ts"

/** The default details of a gap. */
const gapDetails = {
  expired: "the server no longer had the changes since the last recorded version; its current state was listed",
  overload:
    "reading was suspended until the server closed the watch and dropped the changes; its current state was listed",
  damaged: "the previous recording was damaged and set aside; the server's current state was listed",
  stopped: "recording had stopped; the server's current state was listed",
} as const

export class ListUnderWay {
  readonly #recorded: Completeness
  #owed: OwedList | undefined
  #listing: ListReason | undefined
  #detail: string | undefined
  #epochDetail = ""

  /** `recorded` is read when needed; `owed`: a list that an earlier life left to be made. */
  constructor(recorded: Completeness, owed: OwedList | undefined) {
    this.#recorded = recorded
    this.#owed = owed
  }

  /** While this is true, nothing of the kind is complete. */
  get isUnderWay(): boolean {
    return this.#listing !== undefined
  }

  /** A new history begins; `detail` is the detail of the gap between the two. */
  epochStarted(detail: string): void {
    this.#epochDetail = detail
  }

  /** `hasObjects`: some are recorded, possibly by an earlier first list that was not completed. */
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
   * `first`: the list closes no gap. A first list in a later epoch was owed by an earlier life, which ended before it had listed a restored
   * cluster: the store dropped the old history's version with the first frame of the new one.
   */
  get reason(): "first" | GapReason {
    const reason = this.#listing ?? "expired"
    if (reason !== "first") return reason
    if (this.#owed !== undefined) return this.#owed.reason
    if (this.#recorded.epoch === 0 || this.#recorded.completeVersion !== "") return reason
    return "cluster-restored"
  }

  /** The detail of the gap. */
  detailOf(reason: GapReason): string {
    if (this.#detail !== undefined) return this.#detail
    if (this.#owed !== undefined) return this.#owed.detail
    if (reason !== "cluster-restored") return gapDetails[reason]
    return this.#epochDetail || "the recorder ended before the list of a restored cluster was complete"
  }
}
