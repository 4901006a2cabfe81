/**
 * What frames say of a kind that is watched in parts: one text for all of them, in the place of the version up to which a kind is
 * complete, or, while a part is not, in the place of the reason why a list is under way.
 */
import type { ObservationsBuilder } from "../../../wire/observations.ts"
import type { KindResumePoint } from "../../../wire/stored-state.ts"

/** How far what is recorded is complete, as frames say it. */
export interface FrameProgress {
  /** As long as the longest text, to be kept free in each frame. */
  readonly room: string
  /** Whether {@link FrameProgress.news} is worth asking for. */
  readonly mayHaveNews: boolean
  /** `undefined` if there is nothing new to be said. */
  news(nowMicros: number): string | undefined
  /** Puts it into the frame, in place of what was kept free for it. False if there is no room. */
  sayIn(builder: Pick<ObservationsBuilder, "completeThrough" | "listReason">, nowMicros: number): boolean
}

export interface Said {
  readonly text: string
  /** All parts are complete. */
  readonly isComplete: boolean
}

/** How far a kind is complete that is watched in parts: asked whenever a frame leaves, after all that is in it. */
export interface KindProgress {
  /** Characters that a text usually has at most. */
  readonly room: number
  say(nowMicros: number): Said
}

/** Characters: what the reason of a list takes more than a version. */
const fieldRoom = 4

/** Says it when there is news. */
export class ProgressOfParts implements FrameProgress {
  readonly room: string
  readonly mayHaveNews = true
  readonly #parts: KindProgress
  /** What the store knows, or will know from the frames before. */
  #said: string

  constructor(
    parts: KindProgress,
    { listReason, resumeVersion }: Pick<KindResumePoint, "listReason" | "resumeVersion">,
  ) {
    this.#parts = parts
    this.room = "0".repeat(parts.room + fieldRoom)
    this.#said = listReason === "" ? resumeVersion : listReason
  }

  news(nowMicros: number): string | undefined {
    const { text } = this.#parts.say(nowMicros)
    return text === this.#said ? undefined : text
  }

  sayIn(builder: Pick<ObservationsBuilder, "completeThrough" | "listReason">, nowMicros: number): boolean {
    const { text, isComplete } = this.#parts.say(nowMicros)
    builder.completeThrough("")
    if (text === this.#said) return true
    const isSaid = isComplete ? builder.completeThrough(text) : builder.listReason(text)
    if (isSaid) this.#said = text
    return isSaid
  }
}
