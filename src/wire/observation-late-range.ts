/** `LateRange` of `proto/observations.proto`. */

import type protobuf from "protobufjs/minimal.js"
import type { LateCause } from "../trace/event.ts"
import { isTime, malformed, readerOf, reading, skipUnknown } from "./observation-fields.ts"
import { LATE_CAUSES, type LateRange, LateRangeTag, Tag } from "./observation-wire.ts"

/** Header of the field, four doubles, the number of events, headers of the two texts. */
const FIXED_BYTES = 6 + 4 * 9 + 6 + 2 * 6
/** UTF-8 needs at most three bytes for one UTF-16 unit. */
const UTF8_BYTES_PER_UNIT = 3

/** Upper bound of one on the wire. */
export const lateRangeBytes = ({ cause, namespace }: LateRange): number =>
  FIXED_BYTES + (cause.length + namespace.length) * UTF8_BYTES_PER_UNIT

/** Writes the field with its header. */
export const writeLateRange = (writer: protobuf.Writer, range: LateRange): void => {
  writer.uint32(Tag.lateRanges).fork()
  writer.uint32(LateRangeTag.notBefore).double(range.notBefore)
  writer.uint32(LateRangeTag.notAfter).double(range.notAfter)
  writer.uint32(LateRangeTag.receivedFrom).double(range.receivedFrom)
  writer.uint32(LateRangeTag.receivedTo).double(range.receivedTo)
  writer.uint32(LateRangeTag.events).uint32(range.events)
  writer.uint32(LateRangeTag.cause).string(range.cause)
  if (range.namespace !== "") writer.uint32(LateRangeTag.namespace).string(range.namespace)
  writer.ldelim()
}

/** Reads one between two offsets. @throws MalformedFrameError */
export const parseLateRange = (columns: Uint8Array, start: number, end: number): LateRange => {
  const reader = readerOf(columns, start, end)
  let notBefore = 0
  let notAfter = 0
  let receivedFrom = 0
  let receivedTo = 0
  let events = 0
  let cause = ""
  let namespace = ""
  reading(columns, () => {
    while (reader.pos < end) {
      const tag = reader.uint32()
      if (tag === LateRangeTag.notBefore) notBefore = reader.double()
      else if (tag === LateRangeTag.notAfter) notAfter = reader.double()
      else if (tag === LateRangeTag.receivedFrom) receivedFrom = reader.double()
      else if (tag === LateRangeTag.receivedTo) receivedTo = reader.double()
      else if (tag === LateRangeTag.events) events = reader.uint32()
      else if (tag === LateRangeTag.cause) cause = reader.string()
      else if (tag === LateRangeTag.namespace) namespace = reader.string()
      else skipUnknown(columns, reader, tag, LateRangeTag.namespace >>> 3)
    }
  })
  if (!isLateCause(cause)) throw malformed(columns, `late for cause ${JSON.stringify(cause)}`)
  if (!isSpan(notBefore, notAfter)) throw malformed(columns, `a late range from ${notBefore} to ${notAfter}`)
  if (!isSpan(receivedFrom, receivedTo) || receivedTo < notBefore) {
    throw malformed(columns, `a late range received from ${receivedFrom} to ${receivedTo}, not before ${notBefore}`)
  }
  return { notBefore, notAfter, receivedFrom, receivedTo, events, cause, namespace }
}

const isSpan = (from: number, to: number): boolean => isTime(from) && isTime(to) && from <= to

const isLateCause = (cause: string): cause is LateCause => (LATE_CAUSES as ReadonlyArray<string>).includes(cause)
