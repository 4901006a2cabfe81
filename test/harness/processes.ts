/** Processes that a test run has started, found in /proc. Without /proc, none are found. */
import type { ChildProcess } from "node:child_process"
import { readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"

export interface FoundProcess {
  readonly pid: number
  readonly command: string
}

/**
 * When a process was started, in clock ticks since boot, which distinguishes it from a later one with its PID; `undefined` if it is gone.
 */
export const startTimeOf = (pid: number): number | undefined => {
  const text = read(`/proc/${pid}/stat`)
  // The second field is the program's name in brackets, which may contain anything.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ")
  return fields[0] === "" || fields[0] === "Z" ? undefined : Number(fields[19])
}

/** Leaves a note of a process, for one that does not inherit our environment. */
export const noteProcess = (notes: string, child: ChildProcess): void => {
  const startTime = child.pid === undefined ? undefined : startTimeOf(child.pid)
  if (startTime !== undefined) writeFileSync(join(notes, String(child.pid)), String(startTime))
}

/**
 * The noted processes, and those whose temporary files go to `temporary` or below, whatever started them. Excludes Vitest's own, which
 * outlive the tests.
 */
export const processesOf = (temporary: string, notes: string): ReadonlyArray<FoundProcess> => {
  const noted = new Map(readdirSync(notes).map((name) => [Number(name), Number(read(join(notes, name)))]))
  const variable = `TMPDIR=${temporary}`
  return readdirSync("/proc")
    .map(Number)
    .filter((pid) => pid > 0 && pid !== process.pid)
    .filter((pid) => {
      const startTime = startTimeOf(pid)
      if (startTime === undefined) return false
      if (noted.get(pid) === startTime) return true
      return read(`/proc/${pid}/environ`)
        .split("\0")
        .some((text) => text === variable || text.startsWith(`${variable}/`))
    })
    .map((pid) => ({ pid, command: read(`/proc/${pid}/cmdline`).replaceAll("\0", " ").trim() }))
    .filter(({ command }) => command !== "" && !/\bvitest\/dist\/workers\/|^vitest-watchdog$/.test(command))
}

/** Waits for processes to end, then ends them. Names those that had to be ended. */
export const endProcesses = async (
  find: () => ReadonlyArray<FoundProcess>,
  patienceMs: number,
): Promise<ReadonlyArray<string>> => {
  const startedMs = performance.now()
  let found = find()
  while (found.length > 0 && performance.now() - startedMs < patienceMs) {
    await new Promise((resolve) => setTimeout(resolve, 100))
    found = find()
  }
  const names = found.map(({ pid, command }) => `process ${pid}: ${command.slice(0, 300)}`)
  for (; found.length > 0; found = find()) {
    for (const { pid } of found) endProcess(pid)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  return names
}

/** Ends a process, unless it is gone already. */
export const endProcess = (pid: number): void => {
  try {
    process.kill(pid, "SIGKILL")
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== "ESRCH") throw cause
  }
}

/** The text of a file that may disappear at any moment, or belong to another user: then `""`. */
const read = (path: string): string => {
  try {
    return readFileSync(path, "utf8")
  } catch (cause) {
    if (["ENOENT", "ESRCH", "EACCES", "EPERM"].includes((cause as NodeJS.ErrnoException).code ?? "")) return ""
    throw cause
  }
}
