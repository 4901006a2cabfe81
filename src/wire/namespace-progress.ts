/**
 * The progress of one namespace of a kind: the message `NamespaceProgress`, in frames of observations and in stored states.
 *
 * Only kinds that are watched namespace by namespace have it. For a kind that is watched as a whole, one resource version is enough.
 */
import type protobuf from "protobufjs/minimal.js"
import type { GapReason } from "../trace/index.ts"
import { Message } from "./message.ts"

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
  ...(["", "first", "expired", "overload", "stopped", "cluster-restored", "damaged"] as const),
]

/** The message `NamespaceProgress`. */
export const progressFields = new Message({
  namespace: [1, "string"],
  completeThrough: [2, "string"],
  completeTime: [3, "double"],
  listReason: [4, "string"],
})

/** Upper bound of one on the wire. */
export const namespaceProgressBytes = (progress: NamespaceProgress): number => progressFields.byteLength(progress)

/** Maximum bytes of the progress of these namespaces, unless their versions are opaque and long: etcd's revision has 64 bits, so 20 digits. */
export const namespaceProgressRoom = (namespaces: Iterable<string>): number => {
  const [completeThrough, listReason] = ["9".repeat(20), "cluster-restored"]
  let room = 0
  for (const namespace of namespaces)
    room += progressFields.byteLength({ namespace, completeThrough, completeTime: 0, listReason })
  return room
}

/** Reads a message. @throws RangeError, Error: the bytes are not such a message */
export const namespaceProgressIn = (reader: protobuf.Reader, end?: number): NamespaceProgress => {
  const {
    namespace = "",
    completeThrough = "",
    completeTime = 0,
    listReason: given = "",
  } = progressFields.read(reader, end)
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
