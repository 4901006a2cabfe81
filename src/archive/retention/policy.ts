/** How much of a recording is kept. */

/** Limits; without one, everything is kept. */
export interface RetentionLimits {
  /** µs for which what was received is kept; up to a thirty-second longer, because it is removed in strides. */
  readonly forMicros?: number
  /** Bytes on disk: of the whole recording those of the database and its log, of a kind its share of the blocks. */
  readonly bytes?: number
}

export interface RetentionPolicy extends RetentionLimits {
  /** By kind (`v1.Event`), limits in the place of `forMicros`, and bytes of its own. */
  readonly kinds: ReadonlyMap<string, RetentionLimits>
}

/** Keeps everything. */
export const keepsAll: RetentionPolicy = { kinds: new Map() }

/** Whether anything is ever removed. */
export const removesAnything = ({ forMicros, bytes, kinds }: RetentionPolicy): boolean =>
  forMicros !== undefined || bytes !== undefined || kinds.size > 0

/** A part of what is kept by which more of it is removed at once, so that what lives on is written anew rarely. */
export const STRIDES = 32

/** The shortest time for which anything is kept, µs; Infinity: no time is limited. */
export const shortestOf = ({ forMicros = Number.POSITIVE_INFINITY, kinds }: RetentionPolicy): number =>
  Math.min(forMicros, ...[...kinds.values()].map((own) => own.forMicros ?? Number.POSITIVE_INFINITY))
