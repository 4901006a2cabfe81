/**
 * Lets other threads of the machine go first, for work that may take longer so that the rest does not.
 *
 * Priorities belong to threads on Linux only, where a thread's number counts as a process's; elsewhere, and where the system
 * refuses, everything keeps its priority: what is lost is politeness.
 */
import { readlinkSync } from "node:fs"
import { setPriority } from "node:os"

/**
 * As `nice` counts, 0 to 19. With 10, a thread that others compete with gets a tenth of what each of them gets; alone, all there is.
 * It is for the thread that calls and cannot be taken back without privileges. Answers whether it took effect.
 */
export const lowerThreadPriority = (nice: number): boolean => {
  try {
    // <process>/task/<thread>
    const thread = Number(readlinkSync("/proc/thread-self").split("/").at(-1))
    if (!Number.isSafeInteger(thread) || thread <= 0) return false
    setPriority(thread, nice)
    return true
  } catch {
    return false
  }
}
