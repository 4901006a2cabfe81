/** What frames state about a kind that is watched as a whole: the version up to which it is complete, and the time. */
import type { ResourceVersion } from "../../../kube/resource-version.ts"
import type { ObservationsBuilder } from "../../../wire/observations.ts"
import type { KindResumePoint } from "../../../wire/stored-state.ts"
import type { FrameProgress } from "./frame-progress.ts"

/** UTF-8 needs at most three bytes for one UTF-16 unit. */
const bytesPerCharacter = 3

/**
 * Bytes kept in every frame for its resume version, 20 digits and more. Without them a frame that events had filled to the brim had no room
 * for one: a watcher killed right afterwards resumed before the frame and recorded all of its events again (seen in one of ten runs of the
 * kill tests).
 */
const versionBytes = 64 * bytesPerCharacter

export class WholeProgress implements FrameProgress {
  readonly roomBytes = versionBytes
  /** Everything delivered up to here is in a frame; `undefined` while nothing is complete, as during a list. */
  #reached: ResourceVersion | string | undefined
  /** The version and time in the last frame that stated them. */
  #completeVersion: string
  #completeTime: number
  /** What was reached happened before now, and more of it is to come. */
  #isBehind = false
  /** Whether the store has the version, but not yet the time up to which it is complete. */
  #owesTime = false

  constructor({ resumeVersion, completeTime }: Pick<KindResumePoint, "resumeVersion" | "completeTime">) {
    this.#completeVersion = resumeVersion
    this.#completeTime = completeTime
  }

  get completeVersion(): string {
    return this.#completeVersion
  }

  get completeTime(): number {
    return this.#completeTime
  }

  get mayHaveNews(): boolean {
    return this.#reached !== undefined
  }

  reach(version: ResourceVersion | string | undefined): void {
    this.#reached = version
  }

  /** While it is behind, versions advance and the time up to which the kind is complete does not. */
  behind(isBehind: boolean): void {
    if (this.#isBehind && !isBehind && this.#completeVersion !== "") {
      // Also if nothing has arrived.
      this.#owesTime = true
      this.#reached ??= this.#completeVersion
    }
    this.#isBehind = isBehind
  }

  listBegins(nowMicros: number): void {
    this.#reached = undefined
    this.#owesTime = false
    if (this.#completeTime === 0) this.#completeTime = nowMicros
  }

  newsBytes(): number {
    if (this.#reached === undefined) return 0
    const version = String(this.#reached)
    const hasNews = version !== this.#completeVersion || (this.#owesTime && !this.#isBehind)
    return hasNews ? version.length * bytesPerCharacter : 0
  }

  /** While nothing is complete there is nothing to state. */
  write(builder: Pick<ObservationsBuilder, "completeThrough">, nowMicros: number): boolean {
    if (this.#reached === undefined) return true
    const version = String(this.#reached)
    if (!builder.completeThrough(version, this.#isBehind)) return false
    this.#completeVersion = version
    this.#owesTime = this.#isBehind
    if (!this.#isBehind) this.#completeTime = nowMicros
    return true
  }
}
