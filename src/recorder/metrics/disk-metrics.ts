/**
 * Metrics of the disk space that the recording uses and has left.
 *
 * An emptyDir has a size limit that its file system does not know: a pod that exceeds it is evicted and its recording is lost. The
 * Deployment passes the limit in {@link volumeVariable}; free space is then the smaller of what the limit and the disk leave.
 */
import { readdir, stat, statfs } from "node:fs/promises"
import { join } from "node:path"
import type { Clock } from "../../clock.ts"
import type { Metric } from "./metrics-text.ts"

/** Environment variable with the size limit of the data directory's volume in bytes; 0 or absent: the size of its file system. */
export const volumeVariable = "KUBEREEL_VOLUME_BYTES"

/** The value of {@link volumeVariable}; `undefined` if it is not a positive number. */
export const readVolumeBytes = (text: string | undefined): number | undefined => {
  const bytes = /^\d{1,16}$/.test(text ?? "") ? Number(text) : 0
  return bytes > 0 ? bytes : undefined
}

/** Bytes of the file system; `free` is what unprivileged processes can use. */
interface Room {
  readonly size: number
  readonly free: number
}

export interface Disk {
  readonly room: (directory: string) => Promise<Room>
  /** Bytes that the files of a directory take on disk, and those of recordings that were set aside in it. */
  readonly used: (directory: string) => Promise<number>
}

/** What names of directories begin with in which recordings are that were set aside, as in `archive/set-aside.ts`. */
export const setAsidePrefixes = ["damaged-", "replaced-"]

/** ms after which metrics that the file system has not delivered are omitted. */
const timeoutMs = 1000

/**
 * The metrics of one directory, read on demand. A file system that hangs is not queried again until the query returns: each query
 * occupies one of the process's few threads for files.
 */
export class DiskMetrics {
  readonly #directory: string
  readonly #allowed: number
  readonly #clock: Clock
  readonly #disk: Disk
  #query: Promise<readonly [Room | undefined, number | undefined]> | undefined

  /** `volumeBytes`: from {@link readVolumeBytes}. */
  constructor(directory: string, volumeBytes: number | undefined, clock: Clock, disk: Disk = systemDisk) {
    this.#directory = directory
    this.#allowed = volumeBytes ?? Number.POSITIVE_INFINITY
    this.#clock = clock
    this.#disk = disk
  }

  /** Makes one query to the file system and one for each of about four files. Metrics that cannot be read are omitted; never rejects. */
  async now(): Promise<ReadonlyArray<Metric>> {
    const [room, used] = await this.#queryWithTimeout()
    const metrics: Metric[] = []
    const add = (name: string, help: string, value: number): void =>
      void metrics.push({ name, help, type: "gauge", samples: [{ value }] })
    if (room !== undefined) {
      const free = Math.max(0, Math.min(room.free, this.#allowed - (used ?? 0)))
      add("kubereel_store_disk_free_bytes", "Bytes by which the recording can still grow.", free)
      add(
        "kubereel_store_disk_size_bytes",
        "Size of the recording's volume in bytes.",
        Math.min(room.size, this.#allowed),
      )
    }
    if (used !== undefined) add("kubereel_store_recording_bytes", "Size of the recording on disk in bytes.", used)
    return metrics
  }

  #queryWithTimeout(): Promise<readonly [Room | undefined, number | undefined]> {
    this.#query ??= Promise.all([
      orUndefined(this.#disk.room(this.#directory)),
      orUndefined(this.#disk.used(this.#directory)),
    ]).finally(() => {
      this.#query = undefined
    })
    const query = this.#query
    return new Promise((resolve) => {
      const timer = this.#clock.after(timeoutMs, () => resolve([undefined, undefined]))
      void query.then((found) => {
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
    const entries = await readdir(directory, { withFileTypes: true })
    const setAside = entries.filter(
      (each) => each.isDirectory() && setAsidePrefixes.some((prefix) => each.name.startsWith(prefix)),
    )
    const below = setAside.map(({ name }) => readdir(join(directory, name), { withFileTypes: true }))
    const files = [...entries, ...(await Promise.all(below)).flat()]
    const sizes = await Promise.all(
      files
        .filter((each) => each.isFile())
        // A file that has been removed in the meantime takes no space; blocks of stat(2) have 512 bytes.
        .map(async ({ parentPath, name }) => ((await orUndefined(stat(join(parentPath, name))))?.blocks ?? 0) * 512),
    )
    return sizes.reduce((sum, bytes) => sum + bytes, 0)
  },
}
