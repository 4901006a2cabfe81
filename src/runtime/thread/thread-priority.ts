/**
 * Lowers a thread's priority, for work that may take longer so that other threads are not slowed.
 *
 * Only Linux has priorities per thread, where setting a process's priority accepts a thread's number; elsewhere, and where the system
 * refuses, the priority stays as it is: only politeness is lost.
 */
import { readlinkSync } from "node:fs"
import { setPriority } from "node:os"

/**
 * `nice`: 0 to 19, as in nice(1). With 10, a thread gets a tenth of what each competing thread gets; without competition, all there is.
 * Applies to the calling thread and cannot be undone without privileges. Returns whether it took effect.
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
