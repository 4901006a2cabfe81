/** Splits a frame into the raw objects and everything else, so that the store can keep both without decoding either. */
import { malformed } from "./observation-fields.ts"
import { Tag } from "./observation-wire.ts"

/** A frame in two parts, both views of the frame's own bytes. */
export interface SplitFrame {
  /** The objects back to back, without field header. */
  readonly payload: Uint8Array
  /** Every other field, as on the wire. */
  readonly columns: Uint8Array
}

/**
 * Splits a frame without reading its columns. Field 1 must come first, as the .proto file requires; a frame that starts with another field
 * has no objects.
 *
 * @throws MalformedFrameError if the length of field 1 exceeds the frame.
 */
export const splitObservations = (frame: Uint8Array): SplitFrame => {
  if (frame.length === 0 || frame[0] !== Tag.objects) return { payload: frame.subarray(0, 0), columns: frame }
  let length = 0
  let position = 1
  for (let scale = 1; ; scale *= 128) {
    const byte = frame[position++]
    if (byte === undefined || position > 6) throw malformed(frame, "the length of field 1 is cut off or too long")
    length += (byte & 0x7f) * scale
    if (byte < 0x80) break
  }
  const end = position + length
  if (end > frame.length) throw malformed(frame, `field 1 claims ${length} bytes, ${frame.length - position} follow`)
  return { payload: frame.subarray(position, end), columns: frame.subarray(end) }
}
