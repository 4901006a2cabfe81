/** The processes of a group and their unread bytes: how a program is followed that reports nothing itself. */
import { readdirSync, readFileSync } from "node:fs"
import { hasEnded, parseGroup, parseQueues, parseStat } from "./process-files.ts"

interface Member {
  readonly pid: number
  readonly cpuSeconds: number
  /** The exit code has not been collected yet. Its CPU time counts; nothing else can be seen. */
  readonly hasEnded: boolean
}

/** Members of the group `id`, which is also its first process's id. */
const membersOf = (id: number): ReadonlyArray<Member> =>
  readdirSync("/proc").flatMap((name): ReadonlyArray<Member> => {
    if (!/^\d+$/.test(name)) return []
    try {
      const stat = readFileSync(`/proc/${name}/stat`, "utf8")
      if (parseGroup(stat) !== id) return []
      return [{ pid: Number(name), cpuSeconds: parseStat(stat).seconds, hasEnded: hasEnded(stat) }]
    } catch (cause) {
      // Ended since the directory was read; ENOENT or, in the middle of the read, ESRCH.
      if (["ENOENT", "ESRCH"].includes((cause as NodeJS.ErrnoException).code ?? "")) return []
      throw cause
    }
  })

/** Processes of the group that run. */
export const processesOf = (id: number): ReadonlyArray<number> =>
  membersOf(id)
    .filter((member) => !member.hasEnded)
    .map(({ pid }) => pid)

/** User and system time of the members, s. */
export const groupCpuSeconds = (id: number): number =>
  membersOf(id).reduce((sum, { cpuSeconds }) => sum + cpuSeconds, 0)

/** Bytes that a server on this machine's `port` has sent and its clients have not read: in the kernel, at either end. */
export const unreadBytes = (port: number): number =>
  ["/proc/net/tcp", "/proc/net/tcp6"].reduce((sum, file) => sum + parseQueues(readFileSync(file, "utf8"), port), 0)
