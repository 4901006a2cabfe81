/** What a frame has besides its columns, `proto/observations.proto`: how it is written, and read so that everything else fails with {@link MalformedFrameError}. */
import * as Schema from "effect/Schema"
import { parseGvk } from "../kube/offline.ts"
import { messageOf } from "../message-of.ts"
import { Message, readerOf, type Span } from "./message.ts"
import { type NamespaceProgress, namespaceProgressIn } from "./namespace-progress.ts"
import { GAP_REASONS, type Gap, LATE_CAUSES, type LateRange, type NewObject, type PodLife } from "./observation-wire.ts"

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

/** The message `Observations`, but for the objects. Columns are located. */
export const observationFields = new Message({
  gvk: [2, "string"],
  epoch: [3, "uint32"],
  timeBase: [4, "double"],
  actions: [5, "span"],
  objectNumbers: [6, "span"],
  lengths: [7, "span"],
  timeDeltas: [8, "span"],
  resourceVersions: [9, "span"],
  opaqueVersions: [10, "manyStrings"],
  fingerprints: [11, "span"],
  newObjects: [12, "manySpans"],
  gaps: [13, "manySpans"],
  completeThrough: [14, "string"],
  podLives: [15, "manySpans"],
  tracksPods: [16, "bool"],
  listReason: [17, "string"],
  selection: [18, "string"],
  namespaces: [19, "manySpans"],
  complete: [20, "bool"],
  leftNamespaces: [21, "manyStrings"],
  livesLag: [22, "bool"],
  lateness: [23, "span"],
  lateRanges: [24, "manySpans"],
  behind: [25, "bool"],
  redacted: [26, "manyNumbers"],
})

export const newObjectFields = new Message({
  number: [1, "uint32"],
  uid: [2, "string"],
  namespace: [3, "string"],
  name: [4, "string"],
  ownerReferences: [5, "bytes"],
})

export const gapFields = new Message({
  fromVersion: [1, "string"],
  toVersion: [2, "string"],
  fromTime: [3, "double"],
  toTime: [4, "double"],
  reason: [5, "string"],
  detail: [6, "string"],
  gvk: [7, "string"],
  namespace: [8, "string"],
})

export const lateRangeFields = new Message({
  notBefore: [1, "double"],
  notAfter: [2, "double"],
  receivedFrom: [3, "double"],
  receivedTo: [4, "double"],
  events: [5, "uint32"],
  cause: [6, "string"],
  namespace: [7, "string"],
})

export const podLifeFields = new Message({
  pod: [1, "uint32"],
  time: [2, "double"],
  start: [3, "double"],
  end: [4, "double"],
  gone: [5, "bool"],
  uid: [6, "string"],
  namespace: [7, "string"],
  name: [8, "string"],
  specHash: [9, "fixed64"],
  ownerReferences: [10, "bytes"],
  received: [11, "double"],
})

/** A record of a lifecycle as {@link podLifeFields} has it. */
export const podLifeMessage = ({ identity, ...life }: PodLife) => ({ ...life, ...identity })

/** What `read` returns of some bytes; protobufjs reports damage as plain RangeErrors and Errors. @throws MalformedFrameError */
export const reading = <Answer>(columns: Uint8Array, read: () => Answer): Answer => {
  try {
    return read()
  } catch (error) {
    if (error instanceof MalformedFrameError) throw error
    throw malformed(columns, messageOf(error))
  }
}

/** Reads one `NewObject`. `ownerReferences` is a view. @throws MalformedFrameError */
export const parseNewObject = (columns: Uint8Array, span: Span): NewObject => {
  const found = reading(columns, () => newObjectFields.read(readerOf(columns, span)))
  const { number = 0, uid = "", namespace = "", name = "", ownerReferences } = found
  if (number === 0 || uid === "")
    throw malformed(columns, `new object number ${number} with UID ${JSON.stringify(uid)}`)
  const object = { number, uid, namespace, name }
  return ownerReferences === undefined || ownerReferences.length === 0 ? object : { ...object, ownerReferences }
}

/** Reads one `Gap`. @throws MalformedFrameError */
export const parseGap = (columns: Uint8Array, span: Span): Gap => {
  const found = reading(columns, () => gapFields.read(readerOf(columns, span)))
  const { fromVersion = "", toVersion = "", fromTime = 0, toTime = 0, detail = "", namespace = "", gvk = "" } = found
  const reason = GAP_REASONS.find((each) => each === found.reason)
  if (reason === undefined) throw malformed(columns, `gap reason ${JSON.stringify(found.reason ?? "")}`)
  if (!isTime(fromTime) || !isTime(toTime)) throw malformed(columns, `gap from ${fromTime} to ${toTime}`)
  const gap = { fromVersion, toVersion, fromTime, toTime, reason, detail, namespace }
  if (gvk === "") return gap
  if (parseGvk(gvk) === undefined) throw malformed(columns, `gap of kind ${JSON.stringify(gvk)}`)
  return { ...gap, gvk }
}

/** Reads one `LateRange`. @throws MalformedFrameError */
export const parseLateRange = (columns: Uint8Array, span: Span): LateRange => {
  const found = reading(columns, () => lateRangeFields.read(readerOf(columns, span)))
  const { notBefore = 0, notAfter = 0, receivedFrom = 0, receivedTo = 0, events = 0, namespace = "" } = found
  const cause = LATE_CAUSES.find((each) => each === found.cause)
  if (cause === undefined) throw malformed(columns, `late for cause ${JSON.stringify(found.cause ?? "")}`)
  if (!isSpan(notBefore, notAfter)) throw malformed(columns, `a late range from ${notBefore} to ${notAfter}`)
  if (!isSpan(receivedFrom, receivedTo) || receivedTo < notBefore)
    throw malformed(columns, `a late range received from ${receivedFrom} to ${receivedTo}, not before ${notBefore}`)
  return { notBefore, notAfter, receivedFrom, receivedTo, events, cause, namespace }
}

/** Reads one `PodLife`. `ownerReferences` is a view. @throws MalformedFrameError */
export const parsePodLife = (columns: Uint8Array, span: Span): PodLife => {
  const found = reading(columns, () => podLifeFields.read(readerOf(columns, span)))
  const { pod = 0, time = 0, start = 0, end, received, gone = false, specHash, ownerReferences } = found
  const { uid = "", namespace = "", name = "" } = found
  if (pod === 0) throw malformed(columns, "a pod life without a pod number")
  if (!isTime(time)) throw malformed(columns, `a pod life observed at ${time}`)
  if (received !== undefined && !(isTime(received) && received >= time))
    throw malformed(columns, `a pod life of ${time} observed at ${received}`)
  if (!Number.isSafeInteger(start) || !(end === undefined || (Number.isSafeInteger(end) && end >= start)))
    throw malformed(columns, `a pod life from ${start} to ${end}`)
  if ((uid === "") !== (specHash === undefined)) throw malformed(columns, `pod ${pod} is named by halves`)
  return {
    ...{ pod, time, start, end, gone },
    ...(received !== undefined && { received }),
    ...(specHash !== undefined && { identity: { uid, namespace, name, specHash } }),
    ...(ownerReferences !== undefined && { ownerReferences }),
  }
}

/** Reads one `NamespaceProgress`. @throws MalformedFrameError */
export const parseNamespaceProgress = (columns: Uint8Array, span: Span): NamespaceProgress =>
  reading(columns, () => namespaceProgressIn(readerOf(columns, span)))

/** Whether a number is a valid time: whole µs since the Unix epoch. */
export const isTime = (time: number): boolean => Number.isSafeInteger(time) && time >= 0

const isSpan = (from: number, to: number): boolean => isTime(from) && isTime(to) && from <= to

/** A frame in two parts, both views of the frame's own bytes. */
export interface SplitFrame {
  /** The objects back to back, without field header. */
  readonly payload: Uint8Array
  /** Every other field, as on the wire. */
  readonly columns: Uint8Array
}

/** Tag of field 1, the objects. */
export const OBJECTS_TAG = (1 << 3) | 2

/**
 * Splits a frame without reading its columns, so that the store can keep both parts without decoding either. Field 1 must come first, as the .proto file
 * requires; a frame that starts with another field has no objects.
 *
 * @throws MalformedFrameError if the length of field 1 exceeds the frame.
 */
export const splitObservations = (frame: Uint8Array): SplitFrame => {
  if (frame.length === 0 || frame[0] !== OBJECTS_TAG) return { payload: frame.subarray(0, 0), columns: frame }
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
