/**
 * The fields of a frame other than its objects, located but not copied.
 *
 * Columns are returned as spans of the given bytes. Everything that protobufjs rejects, and every known number with an unknown shape,
 * becomes one {@link MalformedFrameError}.
 */

import * as Schema from "effect/Schema"
import protobuf from "protobufjs/minimal.js"
import { parseGvk } from "../kube/gvk.ts"
import { messageOf } from "../message-of.ts"
import type { GapReason } from "../trace/event.ts"
import { type NamespaceProgress, readNamespaceProgress } from "./namespace-progress.ts"
import { GAP_REASONS, type Gap, GapTag, type NewObject, NewObjectTag, Tag } from "./observation-wire.ts"

/** The bytes are not a frame. The sender has a defect or the bytes were damaged; nothing of the frame is used. */
export class MalformedFrameError extends Schema.TaggedError<MalformedFrameError>()("MalformedFrameError", {
  /** The fault, with the field's name and the numbers found. */
  reason: Schema.String,
  /** Bytes of the frame, or of its columns when only those were read. */
  byteLength: Schema.Number,
}) {
  override get message(): string {
    return `malformed frame of ${this.byteLength} bytes: ${this.reason}`
  }
}

/** Makes the error; `bytes` is the size of the input. */
export const malformed = (bytes: Uint8Array, reason: string): MalformedFrameError =>
  new MalformedFrameError({ reason, byteLength: bytes.length })

/** Position of a length-delimited field's content. */
interface Span {
  readonly start: number
  readonly length: number
}

const NO_SPAN: Span = { start: 0, length: 0 }
const NO_SPANS: ReadonlyArray<number> = []
const NO_STRINGS: ReadonlyArray<string> = []

/** Locates every field of `columns` (a frame without its field 1). @throws MalformedFrameError */
export const parseColumns = (columns: Uint8Array) => {
  const reader = readerOf(columns)
  let gvk = ""
  let epoch = 0
  let timeBase = 0
  let actions = NO_SPAN
  let objectNumbers = NO_SPAN
  let lengths = NO_SPAN
  let timeDeltas = NO_SPAN
  let resourceVersions = NO_SPAN
  let fingerprints = NO_SPAN
  let opaqueVersions: Array<string> | undefined
  let newObjects: Array<number> | undefined
  let gaps: Array<number> | undefined
  let completeThrough = ""
  let podLives: Array<number> | undefined
  let tracksPods = false
  let listReason = ""
  let selection = ""
  let namespaces: Array<number> | undefined
  let isComplete = false
  let leftNamespaces: Array<string> | undefined
  let livesLag = false
  let lateness = NO_SPAN
  let lateRanges: Array<number> | undefined
  let isBehind = false
  let redacted: Array<number> | undefined
  reading(columns, () => {
    while (reader.pos < reader.len) {
      const tag = reader.uint32()
      switch (tag) {
        case Tag.gvk:
          gvk = reader.string()
          break
        case Tag.epoch:
          epoch = reader.uint32()
          break
        case Tag.timeBase:
          timeBase = reader.double()
          break
        case Tag.actions:
          actions = span(reader)
          break
        case Tag.objectNumbers:
          objectNumbers = span(reader)
          break
        case Tag.lengths:
          lengths = span(reader)
          break
        case Tag.timeDeltas:
          timeDeltas = span(reader)
          break
        case Tag.resourceVersions:
          resourceVersions = span(reader)
          break
        case Tag.fingerprints:
          fingerprints = span(reader)
          break
        case Tag.opaqueVersions:
          opaqueVersions ??= []
          opaqueVersions.push(reader.string())
          break
        case Tag.newObjects: {
          const { start, length } = span(reader)
          newObjects ??= []
          newObjects.push(start, start + length)
          break
        }
        case Tag.gaps: {
          const { start, length } = span(reader)
          gaps ??= []
          gaps.push(start, start + length)
          break
        }
        case Tag.completeThrough:
          completeThrough = reader.string()
          break
        case Tag.podLives: {
          const { start, length } = span(reader)
          podLives ??= []
          podLives.push(start, start + length)
          break
        }
        case Tag.tracksPods:
          tracksPods = reader.bool()
          break
        case Tag.listReason:
          listReason = reader.string()
          break
        case Tag.selection:
          selection = reader.string()
          break
        case Tag.namespaces: {
          const { start, length } = span(reader)
          namespaces ??= []
          namespaces.push(start, start + length)
          break
        }
        case Tag.complete:
          isComplete = reader.bool()
          break
        case Tag.leftNamespaces:
          leftNamespaces ??= []
          leftNamespaces.push(reader.string())
          break
        case Tag.livesLag:
          livesLag = reader.bool()
          break
        case Tag.lateness:
          lateness = span(reader)
          break
        case Tag.lateRanges: {
          const { start, length } = span(reader)
          lateRanges ??= []
          lateRanges.push(start, start + length)
          break
        }
        case Tag.behind:
          isBehind = reader.bool()
          break
        case Tag.redacted: {
          const end = reader.uint32() + reader.pos
          redacted ??= []
          while (reader.pos < end) redacted.push(reader.uint32())
          break
        }
        default:
          skipUnknown(columns, reader, tag, LAST_FIELD)
      }
    }
  })
  return {
    gvk,
    epoch,
    timeBase,
    actions,
    objectNumbers,
    lengths,
    timeDeltas,
    resourceVersions,
    fingerprints,
    opaqueVersions: opaqueVersions ?? NO_STRINGS,
    newObjects: newObjects ?? NO_SPANS,
    gaps: gaps ?? NO_SPANS,
    completeThrough,
    isBehind,
    podLives: podLives ?? NO_SPANS,
    tracksPods,
    listReason,
    selection,
    namespaces: namespaces ?? NO_SPANS,
    isComplete,
    leftNamespaces: leftNamespaces ?? NO_STRINGS,
    livesLag,
    lateness,
    lateRanges: lateRanges ?? NO_SPANS,
    redacted: redacted ?? NO_SPANS,
  }
}

/** Reads one `NewObject` between two offsets. `ownerReferences` is a view. @throws MalformedFrameError */
export const parseNewObject = (columns: Uint8Array, start: number, end: number): NewObject => {
  const reader = readerOf(columns, start, end)
  let number = 0
  let uid = ""
  let namespace = ""
  let name = ""
  let owners: Span | undefined
  reading(columns, () => {
    while (reader.pos < end) {
      const tag = reader.uint32()
      if (tag === NewObjectTag.number) number = reader.uint32()
      else if (tag === NewObjectTag.uid) uid = reader.string()
      else if (tag === NewObjectTag.namespace) namespace = reader.string()
      else if (tag === NewObjectTag.name) name = reader.string()
      else if (tag === NewObjectTag.ownerReferences) owners = span(reader)
      else skipUnknown(columns, reader, tag, NewObjectTag.ownerReferences >>> 3)
    }
  })
  if (number === 0 || uid === "")
    throw malformed(columns, `new object number ${number} with UID ${JSON.stringify(uid)}`)
  const object = { number, uid, namespace, name }
  return owners === undefined || owners.length === 0
    ? object
    : { ...object, ownerReferences: columns.subarray(owners.start, owners.start + owners.length) }
}

/** Reads one `Gap` between two offsets. @throws MalformedFrameError */
export const parseGap = (columns: Uint8Array, start: number, end: number): Gap => {
  const reader = readerOf(columns, start, end)
  let fromVersion = ""
  let toVersion = ""
  let fromTime = 0
  let toTime = 0
  let reason = ""
  let detail = ""
  let gvk = ""
  let namespace = ""
  reading(columns, () => {
    while (reader.pos < end) {
      const tag = reader.uint32()
      if (tag === GapTag.fromVersion) fromVersion = reader.string()
      else if (tag === GapTag.toVersion) toVersion = reader.string()
      else if (tag === GapTag.fromTime) fromTime = reader.double()
      else if (tag === GapTag.toTime) toTime = reader.double()
      else if (tag === GapTag.reason) reason = reader.string()
      else if (tag === GapTag.detail) detail = reader.string()
      else if (tag === GapTag.gvk) gvk = reader.string()
      else if (tag === GapTag.namespace) namespace = reader.string()
      else skipUnknown(columns, reader, tag, GapTag.namespace >>> 3)
    }
  })
  if (!isGapReason(reason)) throw malformed(columns, `gap reason ${JSON.stringify(reason)}`)
  if (!isTime(fromTime) || !isTime(toTime)) throw malformed(columns, `gap from ${fromTime} to ${toTime}`)
  const gap = { fromVersion, toVersion, fromTime, toTime, reason, detail, namespace }
  if (gvk === "") return gap
  if (parseGvk(gvk) === undefined) throw malformed(columns, `gap of kind ${JSON.stringify(gvk)}`)
  return { ...gap, gvk }
}

/** Reads one `NamespaceProgress` between two offsets. @throws MalformedFrameError */
export const parseNamespaceProgress = (columns: Uint8Array, start: number, end: number): NamespaceProgress => {
  const reader = readerOf(columns, start, end)
  let progress: NamespaceProgress | undefined
  reading(columns, () => {
    progress = readNamespaceProgress(reader, end)
  })
  return progress as NamespaceProgress
}

/** Whether a number is a valid time: whole µs since the Unix epoch. */
export const isTime = (time: number): boolean => Number.isSafeInteger(time) && time >= 0

/** Checks that a column has one entry per event. @throws MalformedFrameError */
export const expectWidth = (columns: Uint8Array, field: string, column: Span, width: number, count: number): void => {
  if (column.length !== count * width) {
    throw malformed(columns, `${field} has ${column.length} bytes, ${count} events need ${count * width}`)
  }
}

const LAST_FIELD = Tag.redacted >>> 3

const isGapReason = (reason: string): reason is GapReason => (GAP_REASONS as ReadonlyArray<string>).includes(reason)

/** Always on a Buffer: protobufjs then reads strings natively. */
export const readerOf = (bytes: Uint8Array, start = 0, end = bytes.length): protobuf.Reader => {
  const reader = protobuf.Reader.create(Buffer.from(bytes.buffer, bytes.byteOffset, end))
  reader.pos = start
  return reader
}

/** The content of the length-delimited field at the reader's position; the reader moves past it. */
export const span = (reader: protobuf.Reader): Span => {
  const length = reader.uint32()
  const start = reader.pos
  reader.skip(length)
  return { start, length }
}

/** Fields of a newer writer are skipped; a known number with another wire type is damage. */
export const skipUnknown = (columns: Uint8Array, reader: protobuf.Reader, tag: number, lastField: number): void => {
  const field = tag >>> 3
  if (field <= lastField) throw malformed(columns, `field ${field} with wire type ${tag & 7} at offset ${reader.pos}`)
  reader.skipType(tag & 7)
}

/** protobufjs reports damage as plain RangeErrors and Errors. */
export const reading = (columns: Uint8Array, read: () => void): void => {
  try {
    read()
  } catch (error) {
    if (error instanceof MalformedFrameError) throw error
    throw malformed(columns, messageOf(error))
  }
}
