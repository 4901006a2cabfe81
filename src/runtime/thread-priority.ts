/**
 * Lowers a thread's priority, for work that may take longer so that other threads are not slowed.
 *
 * Only Linux has priorities per thread, where setting a process's priority accepts a thread's number; elsewhere, and where the system
 * refuses, the priority stays as it is: only politeness is lost.
 */
import { readdirSync, readFileSync, readlinkSync } from "node:fs"
import { setPriority } from "node:os"
import { setFlagsFromString } from "node:v8"

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

/** The name that Node gives the threads in which V8 compiles and collects garbage for all others. */
const helperName = "node-V8Worker\n"

/**
 * Lowers the priority of V8's helper threads, of which all threads of the process make use: what they do for a query is then as little ahead of recording as the
 * query itself. A thread does its own share of such work and does not depend on them. Returns how many they are: 0 where threads have no
 * priorities or names.
 */
export const lowerHelperPriority = (nice: number): number => {
  try {
    const helpers = readdirSync("/proc/self/task").filter(
      (thread) => readFileSync(`/proc/self/task/${thread}/comm`, "utf8") === helperName,
    )
    for (const thread of helpers) setPriority(Number(thread), nice)
    return helpers.length
  } catch {
    return 0
  }
}

/** Never notified: waiting for it is sleeping. */
const nothing = new Int32Array(new SharedArrayBuffer(4))

/** ms; with the slack of a timer, some 0.1. */
const cedingMs = 0.05

/**
 * Sleeps for some 0.1 ms, so that a thread that waits for this core gets it.
 *
 * A lower priority does not do that: Linux lets a running thread finish its slice, and looks only with the next tick, up to 4 ms later, whether another one
 * should run (EEVDF with RUN_TO_PARITY). For work in slices of up to a ms, in threads that compete with recording.
 */
export const cedeCore = (): void => {
  Atomics.wait(nothing, 0, 0, cedingMs)
}

/**
 * From now on, no young generation of this process grows: each stays at halves of 1 MiB, or at the size that it has now. To be called before the process has much memory.
 *
 * V8 reads this flag before each growth. The one that bounds the size, `--max-semi-space-size`, counts only on the command line.
 */
export const keepYoungGenerationsSmall = (): void => setFlagsFromString("--semi-space-growth-factor=1")
