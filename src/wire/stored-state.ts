/**
 * The frames of `proto/stored-state.proto`: a kind's state as the store sends it to a starting watcher, in frames of some thousand objects.
 */
import protobuf from "protobufjs/minimal.js"
import type { ResourceVersion } from "../kube/resource-version.ts"
import { type NamespaceProgress, readNamespaceProgress, writeNamespaceProgress } from "./namespace-progress.ts"
import { PodColumns, type StoredPods, writePods } from "./stored-pods.ts"

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

export const encodeStoredState = (state: StoredState): Uint8Array => {
  const count = state.objects.length
  const numbers = new DataView(new ArrayBuffer(count * 4))
  const versions = new DataView(new ArrayBuffer(count * 8))
  const fingerprints = new DataView(new ArrayBuffer(count * 8))
  const writer = protobuf.Writer.create()
  writer.uint32(tag(1, 2)).string(state.resumeVersion)
  writer.uint32(tag(2, 0)).uint32(state.epoch)
  writer.uint32(tag(3, 0)).uint32(state.nextObjectNumber)
  writer.uint32(tag(4, 1)).double(state.lastTime)
  writer.uint32(tag(5, 1)).double(state.completeTime)
  writer.uint32(tag(6, 2)).string(state.clusterUid)
  const opaque = state.objects.some((object) => typeof object.version === "string")
  state.objects.forEach((object, index) => {
    numbers.setUint32(index * 4, object.number, true)
    if (typeof object.version !== "string") versions.setBigUint64(index * 8, BigInt(object.version), true)
    fingerprints.setUint32(index * 8, object.fingerprintLow >>> 0, true)
    fingerprints.setUint32(index * 8 + 4, object.fingerprintHigh >>> 0, true)
    if (opaque) writer.uint32(tag(10, 2)).string(String(object.version))
    writer.uint32(tag(11, 2)).string(object.uid)
    writer.uint32(tag(12, 2)).string(object.namespace)
    writer.uint32(tag(13, 2)).string(object.name)
  })
  writer.uint32(tag(7, 2)).bytes(new Uint8Array(numbers.buffer))
  writer.uint32(tag(8, 2)).bytes(new Uint8Array(versions.buffer))
  writer.uint32(tag(9, 2)).bytes(new Uint8Array(fingerprints.buffer))
  writer.uint32(tag(14, 0)).bool(state.last)
  writePods(writer, state)
  writer.uint32(tag(25, 2)).string(state.listReason)
  writer.uint32(tag(26, 2)).string(state.selection)
  for (const progress of state.namespaces) writeNamespaceProgress(writer, tag(28, 2), progress)
  writer.uint32(tag(15, 0)).uint32(state.incarnation)
  return writer.finish()
}

/** Throws RangeError on malformed bytes; both ends are ours, so that is a crash. */
export const decodeStoredState = (bytes: Uint8Array): StoredState => {
  const reader = protobuf.Reader.create(bytes)
  let resumeVersion = ""
  let epoch = 0
  let nextObjectNumber = 0
  let lastTime = 0
  let completeTime = 0
  let clusterUid = ""
  let listReason = ""
  let selection = ""
  const progress: Array<NamespaceProgress> = []
  let numbers: Uint8Array = new Uint8Array(0)
  let versions: Uint8Array = new Uint8Array(0)
  let fingerprints: Uint8Array = new Uint8Array(0)
  const opaque: Array<string> = []
  const uids: Array<string> = []
  const namespaces: Array<string> = []
  const names: Array<string> = []
  let last = false
  let incarnation = 0
  const podColumns = new PodColumns()
  while (reader.pos < reader.len) {
    const field = reader.uint32()
    switch (field >>> 3) {
      case 1:
        resumeVersion = reader.string()
        break
      case 2:
        epoch = reader.uint32()
        break
      case 3:
        nextObjectNumber = reader.uint32()
        break
      case 4:
        lastTime = reader.double()
        break
      case 5:
        completeTime = reader.double()
        break
      case 6:
        clusterUid = reader.string()
        break
      case 7:
        numbers = reader.bytes()
        break
      case 8:
        versions = reader.bytes()
        break
      case 9:
        fingerprints = reader.bytes()
        break
      case 10:
        opaque.push(reader.string())
        break
      case 11:
        uids.push(reader.string())
        break
      case 12:
        namespaces.push(reader.string())
        break
      case 13:
        names.push(reader.string())
        break
      case 14:
        last = reader.bool()
        break
      case 15:
        incarnation = reader.uint32()
        break
      case 25:
        listReason = reader.string()
        break
      case 26:
        selection = reader.string()
        break
      case 28:
        progress.push(readNamespaceProgress(reader, reader.uint32() + reader.pos))
        break
      default:
        if (!podColumns.read(field >>> 3, reader)) reader.skipType(field & 7)
    }
  }
  const numberView = viewOf(numbers)
  const versionView = viewOf(versions)
  const fingerprintView = viewOf(fingerprints)
  const objects = uids.map((uid, index): StoredObject => {
    const wide = versionView.getBigUint64(index * 8, true)
    return {
      number: numberView.getUint32(index * 4, true),
      uid,
      namespace: namespaces[index] ?? "",
      name: names[index] ?? "",
      version: opaque[index] ?? (wide <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(wide) : wide),
      fingerprintLow: fingerprintView.getUint32(index * 8, true) | 0,
      fingerprintHigh: fingerprintView.getUint32(index * 8 + 4, true) | 0,
    }
  })
  const { pods, nextPodNumber, lives } = podColumns.finish()
  return {
    ...{ resumeVersion, epoch, nextObjectNumber, lastTime, completeTime, clusterUid, objects, last, incarnation },
    ...{ pods, nextPodNumber, lives, listReason, selection, namespaces: progress },
  }
}

const tag = (field: number, wireType: number): number => (field << 3) | wireType

const viewOf = (bytes: Uint8Array): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
