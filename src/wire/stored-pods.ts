/** The part of a stored state about pods, `proto/stored-state.proto` fields 16 to 24, 27 and 29. */
import type protobuf from "protobufjs/minimal.js"
import { type NamespaceProgress, readNamespaceProgress, writeNamespaceProgress } from "./namespace-progress.ts"

/** A pod that has run and exists. Start and end are whole seconds since the Unix epoch. */
export interface StoredPod {
  readonly number: number
  readonly uid: string
  readonly namespace: string
  readonly start: number
  /** `undefined` while it runs. */
  readonly end: number | undefined
  /** Whether it was ever seen with an owner. */
  readonly owned: boolean
}

/** The end of the recording of pod lifecycles, by any watcher. */
export interface LivesResumePoint {
  /** The empty string if they were never complete, or are followed namespace by namespace. */
  readonly resumeVersion: string
  /** Empty unless they are followed namespace by namespace. */
  readonly namespaces: ReadonlyArray<NamespaceProgress>
  readonly epoch: number
  /** µs since the Unix epoch; 0 for never. */
  readonly completeTime: number
}

/** The state from which a watcher continues following pods. */
export interface StoredPods {
  readonly lives: LivesResumePoint
  readonly nextPodNumber: number
  readonly pods: ReadonlyArray<StoredPod>
}

export const writePods = (writer: protobuf.Writer, { lives, nextPodNumber, pods }: StoredPods): void => {
  if (pods.length > 0) {
    const numbers = new DataView(new ArrayBuffer(pods.length * 4))
    const starts = new DataView(new ArrayBuffer(pods.length * 8))
    const ends = new DataView(new ArrayBuffer(pods.length * 8))
    const owned = new Uint8Array(pods.length)
    pods.forEach((pod, index) => {
      numbers.setUint32(index * 4, pod.number, true)
      starts.setFloat64(index * 8, pod.start, true)
      ends.setFloat64(index * 8, pod.end ?? Number.NaN, true)
      owned[index] = pod.owned ? 1 : 0
      writer.uint32((20 << 3) | 2).string(pod.uid)
      writer.uint32((27 << 3) | 2).string(pod.namespace)
    })
    writer.uint32((16 << 3) | 2).bytes(new Uint8Array(numbers.buffer))
    writer.uint32((17 << 3) | 2).bytes(new Uint8Array(starts.buffer))
    writer.uint32((18 << 3) | 2).bytes(new Uint8Array(ends.buffer))
    writer.uint32((19 << 3) | 2).bytes(owned)
  }
  writer.uint32(21 << 3).uint32(nextPodNumber)
  writer.uint32((22 << 3) | 2).string(lives.resumeVersion)
  writer.uint32(23 << 3).uint32(lives.epoch)
  writer.uint32((24 << 3) | 1).double(lives.completeTime)
  for (const progress of lives.namespaces) writeNamespaceProgress(writer, (29 << 3) | 2, progress)
}

/** Gathers the fields as they are read. */
export class PodColumns {
  #numbers: Uint8Array = new Uint8Array(0)
  #starts: Uint8Array = new Uint8Array(0)
  #ends: Uint8Array = new Uint8Array(0)
  #owned: Uint8Array = new Uint8Array(0)
  readonly #uids: Array<string> = []
  readonly #namespaces: Array<string> = []
  #nextPodNumber = 0
  #livesVersion = ""
  #livesEpoch = 0
  #livesTime = 0
  readonly #livesProgress: Array<NamespaceProgress> = []

  /** Reads the field if it belongs to this part. */
  read(field: number, reader: protobuf.Reader): boolean {
    if (field === 16) this.#numbers = reader.bytes()
    else if (field === 17) this.#starts = reader.bytes()
    else if (field === 18) this.#ends = reader.bytes()
    else if (field === 19) this.#owned = reader.bytes()
    else if (field === 20) this.#uids.push(reader.string())
    else if (field === 27) this.#namespaces.push(reader.string())
    else if (field === 21) this.#nextPodNumber = reader.uint32()
    else if (field === 22) this.#livesVersion = reader.string()
    else if (field === 23) this.#livesEpoch = reader.uint32()
    else if (field === 24) this.#livesTime = reader.double()
    else if (field === 29) this.#livesProgress.push(readNamespaceProgress(reader, reader.uint32() + reader.pos))
    else return false
    return true
  }

  /** Throws RangeError if the columns differ in length. */
  finish(): StoredPods {
    const numbers = viewOf(this.#numbers)
    const starts = viewOf(this.#starts)
    const ends = viewOf(this.#ends)
    const pods = this.#uids.map((uid, index): StoredPod => {
      const end = ends.getFloat64(index * 8, true)
      return {
        number: numbers.getUint32(index * 4, true),
        uid,
        namespace: this.#namespaces[index] ?? "",
        start: starts.getFloat64(index * 8, true),
        end: Number.isNaN(end) ? undefined : end,
        owned: this.#owned[index] === 1,
      }
    })
    const lives: LivesResumePoint = {
      resumeVersion: this.#livesVersion,
      epoch: this.#livesEpoch,
      completeTime: this.#livesTime,
      namespaces: this.#livesProgress,
    }
    return { lives, nextPodNumber: this.#nextPodNumber, pods }
  }
}

const viewOf = (bytes: Uint8Array): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
