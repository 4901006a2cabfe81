/** `PodLife` of `proto/observations.proto`: rare compared with events, so each is encoded separately. */

import type protobuf from "protobufjs/minimal.js"
import { isTime, malformed, readerOf, reading, skipUnknown, span } from "./observation-fields.ts"
import { type PodIdentity, type PodLife, PodLifeTag, Tag } from "./observation-wire.ts"

/** Headers of the two fields around it, four doubles, the hash, and all tags. */
const FIXED_BYTES = 89
/** UTF-8 needs at most three bytes for one UTF-16 unit. */
const UTF8_BYTES_PER_UNIT = 3

/** Upper bound of a record on the wire. */
export const podLifeBytes = ({ identity, ownerReferences }: PodLife): number =>
  FIXED_BYTES +
  (ownerReferences?.length ?? 0) +
  (identity === undefined ? 0 : identityUnits(identity) * UTF8_BYTES_PER_UNIT)

/** Writes the field with its header. */
export const writePodLife = (writer: protobuf.Writer, life: PodLife): void => {
  writer.uint32(Tag.podLives).fork()
  writer.uint32(PodLifeTag.pod).uint32(life.pod)
  writer.uint32(PodLifeTag.time).double(life.time)
  if (life.received !== undefined) writer.uint32(PodLifeTag.received).double(life.received)
  writer.uint32(PodLifeTag.start).double(life.start)
  if (life.end !== undefined) writer.uint32(PodLifeTag.end).double(life.end)
  if (life.gone) writer.uint32(PodLifeTag.gone).bool(true)
  if (life.identity !== undefined) {
    const { uid, namespace, name, specHash } = life.identity
    writer.uint32(PodLifeTag.uid).string(uid)
    if (namespace !== "") writer.uint32(PodLifeTag.namespace).string(namespace)
    writer.uint32(PodLifeTag.name).string(name)
    writer.uint32(PodLifeTag.specHash).raw(hashBytes(specHash))
  }
  if (life.ownerReferences !== undefined) writer.uint32(PodLifeTag.ownerReferences).bytes(life.ownerReferences)
  writer.ldelim()
}

/** Reads one record between two offsets. `ownerReferences` is a view. @throws MalformedFrameError */
export const parsePodLife = (columns: Uint8Array, from: number, until: number): PodLife => {
  const reader = readerOf(columns, from, until)
  let pod = 0
  let time = 0
  let received: number | undefined
  let start = 0
  let end: number | undefined
  let gone = false
  let uid = ""
  let namespace = ""
  let name = ""
  let hash: DataView | undefined
  let ownerReferences: Uint8Array | undefined
  reading(columns, () => {
    while (reader.pos < until) {
      const tag = reader.uint32()
      if (tag === PodLifeTag.pod) pod = reader.uint32()
      else if (tag === PodLifeTag.time) time = reader.double()
      else if (tag === PodLifeTag.received) received = reader.double()
      else if (tag === PodLifeTag.start) start = reader.double()
      else if (tag === PodLifeTag.end) end = reader.double()
      else if (tag === PodLifeTag.gone) gone = reader.bool()
      else if (tag === PodLifeTag.uid) uid = reader.string()
      else if (tag === PodLifeTag.namespace) namespace = reader.string()
      else if (tag === PodLifeTag.name) name = reader.string()
      else if (tag === PodLifeTag.specHash) {
        hash = new DataView(columns.buffer, columns.byteOffset + reader.pos, 8)
        reader.skip(8)
      } else if (tag === PodLifeTag.ownerReferences) {
        const { start: at, length } = span(reader)
        ownerReferences = columns.subarray(at, at + length)
      } else skipUnknown(columns, reader, tag, PodLifeTag.received >>> 3)
    }
  })
  if (pod === 0) throw malformed(columns, "a pod life without a pod number")
  if (!isTime(time)) throw malformed(columns, `a pod life observed at ${time}`)
  if (received !== undefined && !(isTime(received) && received >= time))
    throw malformed(columns, `a pod life of ${time} observed at ${received}`)
  if (!Number.isSafeInteger(start) || !(end === undefined || (Number.isSafeInteger(end) && end >= start))) {
    throw malformed(columns, `a pod life from ${start} to ${end}`)
  }
  if ((uid === "") !== (hash === undefined)) throw malformed(columns, `pod ${pod} is named by halves`)
  return {
    pod,
    time,
    ...(received !== undefined && { received }),
    start,
    end,
    gone,
    ...(hash !== undefined && { identity: { uid, namespace, name, specHash: hash.getBigUint64(0, true) } }),
    ...(ownerReferences !== undefined && { ownerReferences }),
  }
}

const identityUnits = ({ uid, namespace, name }: PodIdentity): number => uid.length + namespace.length + name.length

/** protobufjs's own `fixed64` wants a Long. */
const hashBytes = (hash: bigint): Uint8Array => {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64LE(hash)
  return bytes
}
