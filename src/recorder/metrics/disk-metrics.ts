/**
 * How much room the recording has left, and how much it takes.
 *
 * An emptyDir has a limit that its file system knows nothing of: who exceeds it is evicted, and the recording is gone with the pod.
 * The Deployment tells it in {@link volumeVariable}; then the room is what is left of that, if it is less.
 */
import { readdir, stat, statfs } from "node:fs/promises"
import { join } from "node:path"
import type { Clock } from "../../runtime/clock.ts"
import type { Metric } from "./metrics-text.ts"

/** Environment variable with the bytes that the volume of the data directory may hold; 0 or absent: as many as its file system. */
export const volumeVariable = "KUBEREEL_VOLUME_BYTES"

/** The value of {@link volumeVariable}; `undefined` for what is no positive number. */
export const readVolumeBytes = (text: string | undefined): number | undefined => {
  const bytes = /^\d{1,16}$/.test(text ?? "") ? Number(text) : 0
  return bytes > 0 ? bytes : undefined
}

/** Of the file system, bytes; `free`: for those who are not its administrators. */
export interface Room {
  readonly size: number
  readonly free: number
}

export interface Disk {
  readonly room: (directory: string) => Promise<Room>
  /** Bytes that a directory's files take on disk, those in directories below it not counted: a recording has none. */
  readonly used: (directory: string) => Promise<number>
}

/** ms after which what the file system has not said is left out. */
const patienceMs = 1000

/**
 * The metrics of one directory, whenever somebody asks. A file system that does not answer is not asked again until it has: each
 * question holds one of the process's few threads for files.
 */
export class DiskMetrics {
  readonly #directory: string
  readonly #allowed: number
  readonly #clock: Clock
  readonly #disk: Disk
  #looking: Promise<readonly [Room | undefined, number | undefined]> | undefined

  /** `volumeBytes`: as {@link readVolumeBytes} says. */
  constructor(directory: string, volumeBytes: number | undefined, clock: Clock, disk: Disk = systemDisk) {
    this.#directory = directory
    this.#allowed = volumeBytes ?? Number.POSITIVE_INFINITY
    this.#clock = clock
    this.#disk = disk
  }

  /** One question to the file system and one for each of some four files. What cannot be had is left out; never rejects. */
  async now(): Promise<ReadonlyArray<Metric>> {
    const [room, used] = await this.#inTime()
    const metrics: Metric[] = []
    const add = (name: string, help: string, value: number): void =>
      void metrics.push({ name, help, type: "gauge", samples: [{ value }] })
    if (room !== undefined) {
      const free = Math.max(0, Math.min(room.free, this.#allowed - (used ?? 0)))
      add("kubereel_store_disk_free_bytes", "Bytes that the recording can still grow by.", free)
      add("kubereel_store_disk_size_bytes", "Bytes of the recording's volume.", Math.min(room.size, this.#allowed))
    }
    if (used !== undefined) add("kubereel_store_recording_bytes", "Bytes on disk of the recording.", used)
    return metrics
  }

  #inTime(): Promise<readonly [Room | undefined, number | undefined]> {
    this.#looking ??= Promise.all([
      orUndefined(this.#disk.room(this.#directory)),
      orUndefined(this.#disk.used(this.#directory)),
    ]).finally(() => {
      this.#looking = undefined
    })
    const looking = this.#looking
    return new Promise((resolve) => {
      const timer = this.#clock.after(patienceMs, () => resolve([undefined, undefined]))
      void looking.then((found) => {
        timer.cancel()
        resolve(found)
      })
    })
  }
}

const orUndefined = <A>(answer: Promise<A>): Promise<A | undefined> => answer.catch(() => undefined)

const systemDisk: Disk = {
  room: async (directory) => {
    const { bsize, blocks, bavail } = await statfs(directory)
    return { size: blocks * bsize, free: bavail * bsize }
  },
  used: async (directory) => {
    const files = await readdir(directory, { withFileTypes: true })
    const sizes = await Promise.all(
      files
        .filter((each) => each.isFile())
        // One that is gone meanwhile takes no room; blocks of stat(2) have 512 bytes.
        .map(async ({ name }) => ((await orUndefined(stat(join(directory, name))))?.blocks ?? 0) * 512),
    )
    return sizes.reduce((sum, bytes) => sum + bytes, 0)
  },
}
