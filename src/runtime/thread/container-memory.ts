/**
 * How much memory this process may take: what its control group allows, in either version, else what the machine has.
 *
 * `process.constrainedMemory()` answers a part of it: it says nothing of where the bound stands, and knows only the files of the
 * machine it runs on, which no test can make.
 */
import { readFileSync } from "node:fs"
import { totalmem } from "node:os"

export interface MemoryBound {
  readonly bytes: number
  /** The file that says so; `undefined`: the machine has no more, or nobody says less. */
  readonly file: string | undefined
}

/** The text of a file; `undefined` if there is none, or it may not be read. */
export type ReadText = (path: string) => string | undefined

const groupsFile = "/proc/self/cgroup"
/** Where the groups are mounted: version 2, and the memory controller of version 1. */
const mounts = { 2: "/sys/fs/cgroup", 1: "/sys/fs/cgroup/memory" } as const
const names = { 2: "memory.max", 1: "memory.limit_in_bytes" } as const

/**
 * The lowest bound of the process's group and of all above it, each of which counts. Reads some five small files, in less than a
 * millisecond. Never throws.
 *
 * A container sees its own group as the root of the mount, even where its path is told as the machine knows it; so a path that
 * is not there is not the end of the search.
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

/** `/a/b` → `/a/b`, `/a`, and the root. One that lies outside of what is mounted here (`/../x`) has only the root. */
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

/** `max`, and the largest page of version 1, which no machine has, are no bounds. */
const readBytes = (text: string | undefined): number | undefined => {
  const digits = text?.trim() ?? ""
  return /^\d+$/.test(digits) ? Number(digits) : undefined
}

const readFromDisk: ReadText = (path) => {
  try {
    return readFileSync(path, "utf8")
  } catch {
    // Not Linux, another version, or hidden from containers: there is no bound to be read then.
    return undefined
  }
}
