/** How much of a recording is kept. */
import { podLivesKind } from "../../trace/index.ts"

/** Limits; without one, everything is kept. */
interface RetentionLimits {
  /** µs for which what was received is kept; up to a thirty-second longer, because it is removed in strides. */
  readonly forMicros?: number
  /** Bytes on disk: of the whole recording those of the database and its log, of a kind its share of the blocks. */
  readonly bytes?: number
}

export interface RetentionPolicy extends RetentionLimits {
  /** By kind (`v1.Event`), limits in the place of `forMicros`, and bytes of its own. */
  readonly kinds: ReadonlyMap<string, RetentionLimits>
  /** The same for each kind that `kinds` does not have. Default: none. */
  readonly each?: RetentionLimits
}

/** Keeps everything. */
export const keepsAll: RetentionPolicy = { kinds: new Map() }

/** The limits of one kind alone. Pod lives are of no kind that the API server has, so `each` does not mean them. */
export const limitsOf = ({ kinds, each }: RetentionPolicy, gvk: string): RetentionLimits =>
  kinds.get(gvk) ?? (gvk === podLivesKind ? undefined : each) ?? {}

/** Whether the kind has limits that name it. */
export const isNamed = ({ kinds }: RetentionPolicy, gvk: string): boolean =>
  Object.values(kinds.get(gvk) ?? {}).some((limit) => limit !== undefined)

/** Whether anything is ever removed. */
export const removesAnything = ({ forMicros, bytes, kinds, each }: RetentionPolicy): boolean =>
  forMicros !== undefined || bytes !== undefined || each !== undefined || kinds.size > 0

/** A part of what is kept by which more of it is removed at once, so that what lives on is written anew rarely. */
export const STRIDES = 32

/** The shortest time for which anything is kept, µs; Infinity: no time is limited. */
export const shortestOf = ({ forMicros, kinds, each }: RetentionPolicy): number =>
  Math.min(
    ...[{ forMicros }, each ?? {}, ...kinds.values()].map((limits) => limits.forMicros ?? Number.POSITIVE_INFINITY),
  )
