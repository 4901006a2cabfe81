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

  listBegins(nowMicros: number): void {
    this.#reached = undefined
    if (this.#completeTime === 0) this.#completeTime = nowMicros
  }

  newsBytes(): number {
    const version = this.#reached === undefined ? this.#completeVersion : String(this.#reached)
    return version === this.#completeVersion ? 0 : version.length * bytesPerCharacter
  }

  /** While nothing is complete there is nothing to state. */
  write(builder: Pick<ObservationsBuilder, "completeThrough">, nowMicros: number): boolean {
    if (this.#reached === undefined) return true
    const version = String(this.#reached)
    if (!builder.completeThrough(version)) return false
    this.#completeVersion = version
    this.#completeTime = nowMicros
    return true
  }
}
