/** Pins: windows of a recording that are kept although retention removes everything around them. Times are µs since the Unix epoch. */
import * as Schema from "effect/Schema"

/** Who made a pin. */
export const pinSources = ["command", "page", "alert"] as const
export type PinSource = (typeof pinSources)[number]

/** What is to be kept. */
export interface PinRequest {
  /** Inclusive. */
  readonly from: number
  /** Exclusive; may be in the future. */
  readonly until: number
  /** For people. Default: none. */
  readonly note?: string
  readonly source: PinSource
  /** Names and values, such as those of an alert. Default: none. */
  readonly labels?: Readonly<Record<string, string>>
  /** A further request with the same key begins the window earlier, and ends it at its own end, instead of making another pin. Default: each request is one of its own. */
  readonly key?: string
}

/**
 * Where a window is: `open`, it is not over, or not all of it is committed; `recording`, in the recording; `kept`, in a copy of its own; `lost`, it is over, a part
 * of it was removed before and the rest is in the recording, if anything is left.
 */
export const pinPlaces = ["open", "recording", "kept", "lost"] as const
type PinPlace = (typeof pinPlaces)[number]

/** A window that is kept. */
export interface Pin {
  /** Its window and 32 random bits: a safe name of a file, and a safe part of a path. */
  readonly id: string
  readonly from: number
  readonly until: number
  readonly note: string
  readonly source: PinSource
  readonly labels: Readonly<Record<string, string>>
  readonly createdMicros: number
  readonly place: PinPlace
  /** Some kinds lack what happened up to this moment, also in the copy. Absent: nothing was removed. */
  readonly lostThrough?: number
  /** Of the copy on disk; 0: there is none. */
  readonly bytes: number
  /** When its window was exported ({@link Pins.noteExported}). Absent: it was not. */
  readonly exported?: number
}

/** A pin that cannot be made. */
export class PinRefused extends Schema.TaggedError<PinRefused>()("PinRefused", {
  /** One sentence without a full stop. */
  problem: Schema.String,
  /** `request`: it is wrong; `limit`: there are {@link maximumPins} already. */
  fault: Schema.Literals(["request", "limit"]),
}) {
  override get message(): string {
    return this.problem
  }
}

/** Pins of one recording. */
export const maximumPins = 1000

const maximumNote = 1024
const maximumLabels = 64
const maximumLabel = 1024

/** A window that is longer, or ends later, would stop retention for as long. */
const maximumMicros = 7 * 86_400_000_000

/** @throws PinRefused */
export const requirePossible = (request: PinRequest, nowMicros: number): void => {
  const problem = problemOf(request, nowMicros)
  if (problem !== undefined) throw new PinRefused({ problem, fault: "request" })
}

const problemOf = (
  { from, until, note = "", labels = {}, key = "" }: PinRequest,
  nowMicros: number,
): string | undefined => {
  if (!(Number.isSafeInteger(from) && Number.isSafeInteger(until) && from >= 0))
    return "a window has two moments after 1970"
  if (from >= until) return "the window ends before it begins"
  if (until - from > maximumMicros) return "a pinned window has at most 7 days"
  if (until > nowMicros + maximumMicros) return "a pinned window ends within the next 7 days"
  if (note.length > maximumNote) return `a note has at most ${maximumNote} characters`
  const entries = Object.entries(labels)
  if (entries.length > maximumLabels) return `a pin has at most ${maximumLabels} labels`
  if ([key, ...entries.flat()].some((text) => text.length > maximumLabel))
    return `names, values and keys have at most ${maximumLabel} characters`
  return undefined
}
