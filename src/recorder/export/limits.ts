/** How many exports there are at once, and how long and how large one may be. */

/**
 * Exports at once. Each keeps a core busy while its client reads quickly, and recording goes first; a third one would only make
 * all of them slower.
 */
export const maximumExportsAtOnce = 2

/** s after which somebody who found no place may try again. */
export const retryAfterSeconds = 5

export interface ExportLimits {
  /** ms from the request to the last byte. */
  readonly milliseconds: number
  /** bytes of the trace. */
  readonly bytes: number
}

/**
 * An hour: a place that is held for longer is lost to everybody else. Any size: the client's disk is its own affair; operators who
 * pay for what leaves set a limit.
 */
export const defaultExportLimits: ExportLimits = { milliseconds: 3_600_000, bytes: Number.POSITIVE_INFINITY }

/** The recorder's limits, or the request's where those are smaller. */
export const withinLimits = (
  own: ExportLimits,
  request: { readonly maximum_seconds?: number; readonly maximum_bytes?: number },
): ExportLimits => ({
  milliseconds: Math.min(own.milliseconds, (request.maximum_seconds ?? Number.POSITIVE_INFINITY) * 1000),
  bytes: Math.min(own.bytes, request.maximum_bytes ?? Number.POSITIVE_INFINITY),
})

/** The places for exports. */
export class ExportPlaces {
  readonly #maximum: number
  #taken = 0

  constructor(maximum: number = maximumExportsAtOnce) {
    this.#maximum = maximum
  }

  /** `undefined` if all are taken; else how to give it back, which may be called more than once. */
  take(): (() => void) | undefined {
    if (this.#taken >= this.#maximum) return undefined
    this.#taken++
    let isHeld = true
    return () => {
      if (isHeld) this.#taken--
      isHeld = false
    }
  }
}
