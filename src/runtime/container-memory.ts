/**
 * The memory that this process may use: the limit of its control group (version 1 or 2), else the machine's memory.
 *
 * `process.constrainedMemory()` is not enough: it does not say which file sets the limit, and reads only the files of the real machine,
 * which tests cannot replace.
 */
import { readFileSync } from "node:fs"
import { totalmem } from "node:os"

export interface MemoryBound {
  readonly bytes: number
  /** The file that sets the limit; `undefined`: the machine's memory is the limit. */
  readonly file: string | undefined
}

/** Returns the text of a file; `undefined` if it does not exist or may not be read. */
export type ReadText = (path: string) => string | undefined

const groupsFile = "/proc/self/cgroup"
/** Mount points of the groups: version 2, and the memory controller of version 1. */
const mounts = { 2: "/sys/fs/cgroup", 1: "/sys/fs/cgroup/memory" } as const
const names = { 2: "memory.max", 1: "memory.limit_in_bytes" } as const

/**
 * The lowest limit of the process's group and all its ancestors, each of which applies. Reads about five small files, in less than a
 * millisecond. Never throws.
 *
 * A container sees its own group as the root of the mount, even if its path is reported as the machine sees it; so a path that does not
 * exist does not end the search.
 */
export const memoryBound = (readText: ReadText = readFromDisk, machineBytes: number = totalmem()): MemoryBound => {
  let lowest: MemoryBound = { bytes: machineBytes, file: undefined }
  const groups = readText(groupsFile) ?? ""
  for (const version of [2, 1] as const) {
    const path = pathOf(groups, version)
    if (path === undefined) continue
    for (const group of withParents(path)) {
      const file = `${mounts[version]}${group}/${names[version]}`
      const bytes = readBytes(readText(file))
      if (bytes !== undefined && bytes < lowest.bytes) lowest = { bytes, file }
    }
  }
  return lowest
}

/** `0::/path` is version 2; `5:memory,…:/path` version 1. */
const pathOf = (groups: string, version: 1 | 2): string | undefined => {
  for (const line of groups.split("\n")) {
    const [, controllers, path] = /^\d+:([^:]*):(\/.*)$/.exec(line) ?? []
    if (controllers === undefined || path === undefined) continue
    if (version === 2 ? controllers === "" : controllers.split(",").includes("memory")) return path
  }
  return undefined
}

/** `/a/b` → `/a/b`, `/a`, and the root. A path outside the mount (`/../x`) has only the root. */
const withParents = (path: string): ReadonlyArray<string> => {
  const parts = path.split("/").filter((part) => part !== "")
  if (parts.includes("..")) return [""]
  return Array.from({ length: parts.length + 1 }, (_, index) =>
    parts
      .slice(0, parts.length - index)
      .map((part) => `/${part}`)
      .join(""),
  )
}

/** `max` means no limit, and so does the largest page-aligned number of version 1, which no machine has. */
const readBytes = (text: string | undefined): number | undefined => {
  const digits = text?.trim() ?? ""
  return /^\d+$/.test(digits) ? Number(digits) : undefined
}

const readFromDisk: ReadText = (path) => {
  try {
    return readFileSync(path, "utf8")
  } catch {
    // Not Linux, another version, or hidden from the container: there is no limit to read.
    return undefined
  }
}
