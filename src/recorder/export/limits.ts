/** How long and how large an export may be. */

export interface ExportLimits {
  /** ms from the request to the last byte. */
  readonly milliseconds: number
  /** bytes of the trace. */
  readonly bytes: number
}

/**
 * An hour: a place held for longer is denied to everyone else. No size limit: the client is responsible for its own disk, and operators who
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
