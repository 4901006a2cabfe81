/** How many exports run at once, and how long and how large each may be. */

/**
 * Exports at once. Each keeps a core busy as long as its client reads quickly, and recording has priority; a third one would only slow all
 * of them down.
 */
export const maximumExportsAtOnce = 2

/** s after which a client that was rejected for lack of a slot may try again. */
export const retryAfterSeconds = 5

export interface ExportLimits {
  /** ms from the request to the last byte. */
  readonly milliseconds: number
  /** bytes of the trace. */
  readonly bytes: number
}

/**
 * An hour: a slot held for longer is denied to everyone else. No size limit: the client is responsible for its own disk, and operators who
 * pay for egress can set a limit.
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

/** The slots for concurrent exports. */
export class ExportPlaces {
  readonly #maximum: number
  #taken = 0

  constructor(maximum: number = maximumExportsAtOnce) {
    this.#maximum = maximum
  }

  /** Takes a slot; returns the function that releases it, which may be called more than once, or `undefined` if all are taken. */
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
