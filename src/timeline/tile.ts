/**
 * Tiles: what a stretch of one lane looks like, a byte for each column of pixels. A screen costs pixels, however many changes there were.
 *
 * The low three bits are the {@link Tone} that the lane has at the end of the column; the other bits say what happened in it.
 */

/** How something is, as it is drawn. */
export const tones = {
  /** It does not exist. */
  absent: 0,
  /** Whether it exists is not known: its kind was not recorded then. */
  unknown: 1,
  /** It exists, and nothing of it says how it is. */
  plain: 2,
  good: 3,
  /** On its way to be good, or to be over. */
  waiting: 4,
  bad: 5,
  /** It has done what it was for. */
  over: 6,
} as const

/** The value of one of {@link tones}. */
export type Tone = (typeof tones)[keyof typeof tones]

/** Bits of a column beside its tone. */
export const marks = {
  /** It changed within the column. */
  changed: 8,
  /** Changes within the column may be missing: a gap. */
  gap: 16,
  /** What happened in the column was received late. */
  late: 32,
  /** It was bad at some moment of the column, whatever it is at its end. */
  wasBad: 64,
  /** It changed several times within the column, and only the last state was looked at: it may have been bad before. */
  unseen: 128,
} as const

/** The tone in a column. */
export const toneIn = (column: number): Tone => (column & 7) as Tone
