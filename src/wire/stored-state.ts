/**
 * The frames of `proto/stored-state.proto`: a kind's state as the store sends it to a starting watcher, in frames of some thousand objects.
 */
import protobuf from "protobufjs/minimal.js"
import type { ResourceVersion } from "../kube/offline.ts"
import { Message, readerOf, type Span } from "./message.ts"
import { type NamespaceProgress, namespaceProgressIn, progressFields } from "./namespace-progress.ts"
import type { StoredPod, StoredPods } from "./stored-pods.ts"

/** The end of a kind's recording. */
export interface KindResumePoint {
  /** The empty string if the kind was never completely listed, or was watched namespace by namespace. */
  readonly resumeVersion: string
  /** Empty unless the kind was watched namespace by namespace. */
  readonly namespaces: ReadonlyArray<NamespaceProgress>
  readonly epoch: number
  readonly nextObjectNumber: number
  /** µs since the Unix epoch; 0 for none. */
  readonly lastTime: number
  readonly completeTime: number
  /** The empty string if unknown. */
  readonly clusterUid: string
  /** Reason of the list that was in progress when the recording ended; the empty string: none was. */
  readonly listReason: string
  /** The recorded selection of the kind's objects (see the watcher's selection); the empty string if unknown. */
  readonly selection: string
}

/** One live object of the kind. */
export interface StoredObject {
  readonly number: number
  readonly uid: string
  readonly namespace: string
  readonly name: string
  readonly version: ResourceVersion | string
  readonly fingerprintLow: number
  readonly fingerprintHigh: number
}

export interface StoredState extends KindResumePoint, StoredPods {
  readonly objects: ReadonlyArray<StoredObject>
  /** True on the last frame of the run. */
  readonly last: boolean
  /** The watcher's life that it is for; a later life ignores frames left in the mailbox for an earlier one. */
  readonly incarnation: number
}

const stateFields = new Message({
  resumeVersion: [1, "string"],
  epoch: [2, "uint32"],
  nextObjectNumber: [3, "uint32"],
  lastTime: [4, "double"],
  completeTime: [5, "double"],
  clusterUid: [6, "string"],
  numbers: [7, "bytes"],
  versions: [8, "bytes"],
  fingerprints: [9, "bytes"],
  opaqueVersions: [10, "manyStrings"],
  uids: [11, "manyStrings"],
  objectNamespaces: [12, "manyStrings"],
  names: [13, "manyStrings"],
  last: [14, "bool"],
  incarnation: [15, "uint32"],
  podNumbers: [16, "bytes"],
  podStarts: [17, "bytes"],
  podEnds: [18, "bytes"],
  podsOwned: [19, "bytes"],
  podUids: [20, "manyStrings"],
  nextPodNumber: [21, "uint32"],
  livesVersion: [22, "string"],
  livesEpoch: [23, "uint32"],
  livesTime: [24, "double"],
  listReason: [25, "string"],
  selection: [26, "string"],
  podNamespaces: [27, "manyStrings"],
  namespaces: [28, "manySpans"],
  livesNamespaces: [29, "manySpans"],
})

export const encodeStoredState = (state: StoredState): Uint8Array => {
  const { objects, pods, lives, namespaces, ...others } = state
  const isOpaque = objects.some(({ version }) => typeof version === "string")
  const writer = protobuf.Writer.create()
  stateFields.write(writer, {
    ...others,
    numbers: column(objects, 4, (view, at, { number }) => view.setUint32(at, number, true)),
    versions: column(objects, 8, (view, at, { version }) => {
      if (typeof version !== "string") view.setBigUint64(at, BigInt(version), true)
    }),
    fingerprints: column(objects, 8, (view, at, { fingerprintLow, fingerprintHigh }) => {
      view.setUint32(at, fingerprintLow >>> 0, true)
      view.setUint32(at + 4, fingerprintHigh >>> 0, true)
    }),
    opaqueVersions: isOpaque ? objects.map(({ version }) => String(version)) : [],
    uids: objects.map(({ uid }) => uid),
    objectNamespaces: objects.map(({ namespace }) => namespace),
    names: objects.map(({ name }) => name),
    podNumbers: column(pods, 4, (view, at, { number }) => view.setUint32(at, number, true)),
    podStarts: column(pods, 8, (view, at, { start }) => view.setFloat64(at, start, true)),
    podEnds: column(pods, 8, (view, at, { end = Number.NaN }) => view.setFloat64(at, end, true)),
    podsOwned: column(pods, 1, (view, at, { owned }) => view.setUint8(at, owned ? 1 : 0)),
    podUids: pods.map(({ uid }) => uid),
    podNamespaces: pods.map(({ namespace }) => namespace),
    ...{ livesVersion: lives.resumeVersion, livesEpoch: lives.epoch, livesTime: lives.completeTime },
  })
  const { tags } = stateFields
  for (const progress of namespaces) progressFields.writeField(writer, tags.namespaces, progress)
  for (const progress of lives.namespaces) progressFields.writeField(writer, tags.livesNamespaces, progress)
  return writer.finish()
}

/** One value of so many bytes for each item, little-endian. */
const column = <Item>(
  items: ReadonlyArray<Item>,
  width: number,
  set: (view: DataView, at: number, item: Item) => void,
): Uint8Array => {
  const view = new DataView(new ArrayBuffer(items.length * width))
  for (const [index, item] of items.entries()) set(view, index * width, item)
  return new Uint8Array(view.buffer)
}

/** Throws RangeError on malformed bytes; both ends are ours, so that is a crash. */
export const decodeStoredState = (bytes: Uint8Array): StoredState => {
  const found = stateFields.read(readerOf(bytes))
  const { resumeVersion = "", epoch = 0, nextObjectNumber = 0, lastTime = 0, completeTime = 0, clusterUid = "" } = found
  const { listReason = "", selection = "", last = false, incarnation = 0, nextPodNumber = 0 } = found
  const { uids = [], objectNamespaces = [], names = [], podUids = [], podNamespaces = [] } = found
  if (
    objectNamespaces.length !== uids.length ||
    names.length !== uids.length ||
    podNamespaces.length !== podUids.length
  )
    throw new RangeError(`${names.length} names for ${uids.length} objects, or likewise of pods`)
  const numbers = viewOf("numbers", found.numbers, 4 * uids.length)
  const versions = viewOf("versions", found.versions, 8 * uids.length)
  const fingerprints = viewOf("fingerprints", found.fingerprints, 8 * uids.length)
  const objects = uids.map((uid, index): StoredObject => {
    const wide = versions.getBigUint64(index * 8, true)
    return {
      number: numbers.getUint32(index * 4, true),
      ...{ uid, namespace: objectNamespaces[index] ?? "", name: names[index] ?? "" },
      version: found.opaqueVersions?.[index] ?? (wide <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(wide) : wide),
      fingerprintLow: fingerprints.getInt32(index * 8, true),
      fingerprintHigh: fingerprints.getInt32(index * 8 + 4, true),
    }
  })
  const podNumbers = viewOf("pod numbers", found.podNumbers, 4 * podUids.length)
  const starts = viewOf("starts", found.podStarts, 8 * podUids.length)
  const ends = viewOf("ends", found.podEnds, 8 * podUids.length)
  const pods = podUids.map((uid, index): StoredPod => {
    const end = ends.getFloat64(index * 8, true)
    return {
      ...{ number: podNumbers.getUint32(index * 4, true), uid, namespace: podNamespaces[index] ?? "" },
      ...{ start: starts.getFloat64(index * 8, true), end: Number.isNaN(end) ? undefined : end },
      owned: found.podsOwned?.[index] === 1,
    }
  })
  const progressIn = (spans: ReadonlyArray<Span> = []): ReadonlyArray<NamespaceProgress> =>
    spans.map((span) => namespaceProgressIn(readerOf(bytes, span)))
  return {
    ...{ resumeVersion, epoch, nextObjectNumber, lastTime, completeTime, clusterUid, objects, last, incarnation },
    ...{ pods, nextPodNumber, listReason, selection, namespaces: progressIn(found.namespaces) },
    lives: {
      ...{ resumeVersion: found.livesVersion ?? "", epoch: found.livesEpoch ?? 0, completeTime: found.livesTime ?? 0 },
      namespaces: progressIn(found.livesNamespaces),
    },
  }
}

/** A column of so many bytes. @throws RangeError if it has another number of them */
const viewOf = (name: string, bytes: Uint8Array | undefined, length: number): DataView => {
  const { buffer, byteOffset, length: found } = bytes ?? new Uint8Array(0)
  if (found !== length) throw new RangeError(`${name} have ${found} bytes instead of ${length}`)
  return new DataView(buffer, byteOffset, length)
}
