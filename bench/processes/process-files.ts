/** Parses what Linux reports about a process: the texts of /proc/<pid>/status and of a `stat` file. Pure. */

/** Resident memory of a process, bytes. */
export interface ResidentMemory {
  readonly resident: number
  /** Largest ever. */
  readonly peak: number
  /** Heaps, stacks, buffers. */
  readonly anonymous: number
  /** Mapped files: programs and libraries. */
  readonly file: number
  /** Shared mappings, such as the index of a write-ahead log. SharedArrayBuffers are anonymous. */
  readonly shared: number
}

/** @throws Error if a field is missing, as in the `status` of a process that has ended. */
export const parseStatus = (text: string): ResidentMemory => {
  const bytes = (field: string): number => {
    const match = new RegExp(`^${field}:\\s+(\\d+) kB$`, "m").exec(text)
    if (match === null) throw new Error(`no ${field} in /proc/<pid>/status: has the process ended?`)
    return Number(match[1]) * 1024
  }
  return {
    resident: bytes("VmRSS"),
    peak: bytes("VmHWM"),
    anonymous: bytes("RssAnon"),
    file: bytes("RssFile"),
    shared: bytes("RssShmem"),
  }
}

/**
 * Proportional set size in `/proc/<pid>/smaps_rollup`, bytes: what several processes share counts for each in equal parts, so that those of
 * several can be added. @throws Error for another text
 */
export const parsePss = (text: string): number => {
  const match = /^Pss:\s+(\d+) kB$/m.exec(text)
  if (match === null) throw new Error(`no Pss in: ${text.slice(0, 80)}`)
  return Number(match[1]) * 1024
}

/** CPU time of a process (its ended threads included) or of one thread. */
export interface CpuTime {
  /** Name of the program or thread, as the kernel cut it: 15 bytes at most. */
  readonly name: string
  /** User and system, s. */
  readonly seconds: number
}

/** Units of `stat`: USER_HZ is 100 on every Linux that Node runs on. */
const ticksPerSecond = 100

/** Reads `/proc/<pid>/stat` and `/proc/<pid>/task/<tid>/stat`. @throws Error for another text */
export const parseStat = (text: string): CpuTime => {
  // The name is in parentheses and may contain some: the last one ends it.
  const open = text.indexOf("(")
  const close = text.lastIndexOf(")")
  const fields = text.slice(close + 2).split(" ")
  // Fields 14 and 15, counted from 1; the third is the first after the name.
  const ticks = Number(fields[11]) + Number(fields[12])
  if (open < 0 || close < open || Number.isNaN(ticks)) throw new Error(`not a stat file: ${text.slice(0, 80)}`)
  return { name: text.slice(open + 1, close), seconds: ticks / ticksPerSecond }
}

/** How a thread spent its time, from `/proc/<pid>/task/<tid>/schedstat`. */
export interface Scheduling {
  /** s on a CPU. */
  readonly running: number
  /** s ready to run while others had the CPUs. */
  readonly waiting: number
}

/** @throws Error for another text */
export const parseSchedstat = (text: string): Scheduling => {
  const match = /^(\d+) (\d+) \d+\s*$/.exec(text)
  if (match === null) throw new Error(`not a schedstat file: ${text.slice(0, 80)}`)
  return { running: Number(match[1]) / 1e9, waiting: Number(match[2]) / 1e9 }
}

/** The process group in `/proc/<pid>/stat`. @throws Error for another text */
export const parseGroup = (text: string): number => {
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ")
  const group = Number(fields[2])
  if (!text.includes(")") || !Number.isInteger(group)) throw new Error(`not a stat file: ${text.slice(0, 80)}`)
  return group
}

/** True for a process that has ended and is still listed, by its `/proc/<pid>/stat`. */
export const hasEnded = (text: string): boolean => /^[ZX] /.test(text.slice(text.lastIndexOf(")") + 2))

/**
 * Bytes of `/proc/net/tcp` that wait between a server on `port` and its clients: unsent bytes of the server's sockets and unread bytes of
 * the clients'.
 */
export const parseQueues = (text: string, port: number): number => {
  const portText = `:${port.toString(16).toUpperCase().padStart(4, "0")}`
  let bytes = 0
  for (const line of text.split("\n").slice(1)) {
    const [, local = "", remote = "", , queues = ""] = line.trim().split(/\s+/)
    const [sent = "0", received = "0"] = queues.split(":")
    if (local.endsWith(portText)) bytes += Number.parseInt(sent, 16)
    if (remote.endsWith(portText)) bytes += Number.parseInt(received, 16)
  }
  return bytes
}
