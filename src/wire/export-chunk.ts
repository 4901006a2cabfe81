/** The frames of `proto/export.proto`: an encoded trace in pieces. */
import protobuf from "protobufjs/minimal.js"

export interface ExportChunk {
  /** The number the request was given. */
  readonly export: number
  /** A view into the frame: valid until it is acknowledged. */
  readonly data: Uint8Array
  readonly last: boolean
  /** Why the trace ends early; the empty string when it is whole. */
  readonly error: string
}

export const encodeExportChunk = (chunk: ExportChunk): Uint8Array => {
  const writer = protobuf.Writer.create().uint32(8).uint32(chunk.export)
  if (chunk.data.length > 0) writer.uint32(18).bytes(chunk.data)
  if (chunk.last) writer.uint32(24).bool(true)
  if (chunk.error !== "") writer.uint32(34).string(chunk.error)
  return writer.finish()
}

/** Bytes of a frame besides its data, at most. */
export const exportDataOverhead = 12

/**
 * Writes the frame of a piece that is not the last into `target`, which must have room for it and
 * {@link exportDataOverhead} bytes more; answers the frame's length. For the many: {@link encodeExportChunk} would make
 * garbage of the size of the trace.
 */
export const writeExportData = (target: Uint8Array, id: number, data: Uint8Array): number => {
  target[0] = 8
  const tag = writeVarint(target, 1, id)
  target[tag] = 18
  const start = writeVarint(target, tag + 1, data.length)
  target.set(data, start)
  return start + data.length
}

/** An unsigned 32-bit integer; answers where the next field starts. */
const writeVarint = (target: Uint8Array, start: number, value: number): number => {
  let at = start
  let rest = value
  for (; rest > 0x7f; rest >>>= 7) target[at++] = (rest & 0x7f) | 0x80
  target[at++] = rest
  return at
}

/** Throws RangeError on malformed bytes; both ends are ours, so that is a crash. */
export const decodeExportChunk = (bytes: Uint8Array): ExportChunk => {
  const reader = protobuf.Reader.create(bytes)
  let id = 0
  let data: Uint8Array = bytes.subarray(0, 0)
  let last = false
  let error = ""
  while (reader.pos < reader.len) {
    const field = reader.uint32()
    if (field === 8) id = reader.uint32()
    else if (field === 18) {
      const length = reader.uint32()
      data = bytes.subarray(reader.pos, reader.pos + length)
      reader.skip(length)
    } else if (field === 24) last = reader.bool()
    else if (field === 34) error = reader.string()
    else reader.skipType(field & 7)
  }
  return { export: id, data, last, error }
}
