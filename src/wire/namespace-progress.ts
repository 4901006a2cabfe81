/**
 * The progress of one namespace of a kind: the message `NamespaceProgress`, in frames of observations and in stored states.
 *
 * Only kinds that are watched namespace by namespace have it. For a kind that is watched as a whole, one resource version is enough.
 */
import type protobuf from "protobufjs/minimal.js"
import type { GapReason } from "../trace/event.ts"

export interface NamespaceProgress {
  readonly namespace: string
  /** Resource version up to which the recording is complete; the empty string before the first list. */
  readonly completeThrough: string
  /** µs since the Unix epoch at which it was complete; 0: the time at which the kind was last complete. */
  readonly completeTime: number
  /** Why a list is due before a watch can resume; the empty string: none is. */
  readonly listReason: NamespaceListReason
}

export type NamespaceListReason = "" | "first" | GapReason

const listReasons: ReadonlyArray<NamespaceListReason> = [
  ...["", "first"],
  ...["expired", "overload", "stopped", "cluster-restored", "damaged"],
] as ReadonlyArray<NamespaceListReason>

const Tag = {
  namespace: (1 << 3) | 2,
  completeThrough: (2 << 3) | 2,
  completeTime: (3 << 3) | 1,
  listReason: (4 << 3) | 2,
} as const

/** Tags, lengths, and the time: everything except characters. */
const FIXED_BYTES = 6 + 3 * 6 + 9
/** UTF-8 needs at most three bytes for one UTF-16 unit. */
const UTF8_BYTES_PER_UNIT = 3
/** A version of existing servers: etcd's revision has 64 bits. */
const VERSION_UNITS = 20
const LIST_REASON_UNITS = "cluster-restored".length

/** Upper bound of one on the wire. */
export const namespaceProgressBytes = ({ namespace, completeThrough, listReason }: NamespaceProgress): number =>
  FIXED_BYTES + UTF8_BYTES_PER_UNIT * (namespace.length + completeThrough.length + listReason.length)

/** Maximum bytes of the progress of these namespaces, unless their versions are opaque and long. */
export const namespaceProgressRoom = (namespaces: Iterable<string>): number => {
  let room = 0
  for (const namespace of namespaces) {
    room += FIXED_BYTES + UTF8_BYTES_PER_UNIT * (namespace.length + VERSION_UNITS + LIST_REASON_UNITS)
  }
  return room
}

/** Writes the message as the field with this tag. */
export const writeNamespaceProgress = (writer: protobuf.Writer, tag: number, progress: NamespaceProgress): void => {
  writer.uint32(tag).fork()
  writer.uint32(Tag.namespace).string(progress.namespace)
  if (progress.completeThrough !== "") writer.uint32(Tag.completeThrough).string(progress.completeThrough)
  if (progress.completeTime !== 0) writer.uint32(Tag.completeTime).double(progress.completeTime)
  if (progress.listReason !== "") writer.uint32(Tag.listReason).string(progress.listReason)
  writer.ldelim()
}

/** Reads a message that ends at `end`. Unknown fields are skipped. @throws RangeError, Error: the bytes are not such a message */
export const readNamespaceProgress = (reader: protobuf.Reader, end: number): NamespaceProgress => {
  let namespace = ""
  let completeThrough = ""
  let completeTime = 0
  let given = ""
  while (reader.pos < end) {
    const tag = reader.uint32()
    if (tag === Tag.namespace) namespace = reader.string()
    else if (tag === Tag.completeThrough) completeThrough = reader.string()
    else if (tag === Tag.completeTime) completeTime = reader.double()
    else if (tag === Tag.listReason) given = reader.string()
    else reader.skipType(tag & 7)
  }
  const listReason = listReasons.find((reason) => reason === given)
  if (listReason === undefined) throw new RangeError(`list reason ${JSON.stringify(given)} of namespace ${namespace}`)
  if (!Number.isSafeInteger(completeTime) || completeTime < 0)
    throw new RangeError(`namespace ${namespace} complete at ${completeTime}`)
  return { namespace, completeThrough, completeTime, listReason }
}

/** Whether two are equal. */
export const isSameProgress = (one: NamespaceProgress, other: NamespaceProgress): boolean =>
  one.namespace === other.namespace &&
  one.completeThrough === other.completeThrough &&
  one.completeTime === other.completeTime &&
  one.listReason === other.listReason
