/**
 * One directory for everything that a test run leaves in the file system, and the check at its end: Vitest's global set-up creates the
 * directory, test/harness/ends-with-its-test.ts puts the temporary directories of each file into it, the tear-down removes it. A process of
 * the run that is still alive then is ended, a file that was not removed is removed; both are named and fail the run.
 */
import { execFileSync } from "node:child_process"
import { chmodSync, existsSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { endProcess, endProcesses, processesOf, startTimeOf } from "./processes.ts"

/** Names the directory to the processes that run the tests. */
export const runDirectoryVariable = "KUBEREEL_TEST_RUN_DIRECTORY"

const prefix = "kubereel-tests-"
/** ms that processes get to end after the last test. */
const patienceMs = 2000

/** Below the run's directory: temporary directories of the test files, and notes of the processes that they started. */
export const temporaryIn = (run: string): string => join(run, "tmp")
export const notesIn = (run: string): string => join(run, "processes")

/** @returns the tear-down, for the first of the projects that call this. */
export default (): (() => Promise<void>) | undefined => {
  if (process.env[runDirectoryVariable] !== undefined) return undefined
  removeAbandoned(tmpdir())
  // Hundreds of processes load the same few bundles: with a compile cache they need a fifth less CPU. It is where Node's own default is, not in
  // the run's directory: processes write to it as they exit, and one that exited late created that directory again after its removal.
  const compileCache = join(tmpdir(), "node-compile-cache")
  const run = mkdtempSync(join(tmpdir(), `${prefix}${process.pid}-${startTimeOf(process.pid) ?? 0}-`))
  // Some tests start processes as another user.
  chmodSync(run, 0o755)
  for (const directory of [temporaryIn(run), notesIn(run)]) mkdirSync(directory)
  process.env[runDirectoryVariable] = run
  process.env.TMPDIR = temporaryIn(run)
  process.env.NODE_COMPILE_CACHE ??= compileCache
  return async () => {
    const left = await leftIn(run)
    removeWhole(run)
    if (left.length === 0) return
    process.exitCode = 1
    throw new Error(`the tests left behind, until now:\n${left.map((each) => `  ${each}`).join("\n")}`)
  }
}

/** Names what a run has left, and ends its processes. */
const leftIn = async (run: string): Promise<ReadonlyArray<string>> => {
  const processes = await endProcesses(() => processesOf(temporaryIn(run), notesIn(run)), patienceMs)
  const files = readdirSync(temporaryIn(run)).map((name) => join(temporaryIn(run), name))
  return [...processes, ...files.filter((path) => !isEmptyDirectory(path))]
}

/** Vitest runs no hooks in a file whose tests are all skipped, so the directory of such a file is still there at the end, and empty. */
const isEmptyDirectory = (path: string): boolean => lstatSync(path).isDirectory() && readdirSync(path).length === 0

/** A killed run could not clean up: the next one does. */
const removeAbandoned = (directory: string): void => {
  for (const name of readdirSync(directory)) {
    const [, pid = "", startTime = ""] = new RegExp(`^${prefix}(\\d+)-(\\d+)-`).exec(name) ?? []
    if (pid === "" || String(startTimeOf(Number(pid)) ?? "none") === startTime) continue
    const run = join(directory, name)
    for (const { pid: child } of existsSync(notesIn(run)) ? processesOf(temporaryIn(run), notesIn(run)) : [])
      endProcess(child)
    removeWhole(run)
  }
}

/** Removes a directory, even if its owner may not write below it, or if a killed test has left a file system mounted there. */
export const removeWhole = (directory: string): void => {
  unmountBelow(directory)
  makeWritable(directory)
  rmSync(directory, { recursive: true, force: true })
}

const unmountBelow = (directory: string): void => {
  const mounts = existsSync("/proc/self/mounts") ? readFileSync("/proc/self/mounts", "utf8").split("\n") : []
  const points = mounts.map((line) => line.split(" ")[1] ?? "").filter((point) => point.startsWith(`${directory}/`))
  // Those mounted last first: one may be below another.
  for (const point of points.toReversed()) execFileSync("umount", ["--lazy", point])
}

const makeWritable = (directory: string): void => {
  // Permissions do not bind root.
  if (process.getuid?.() === 0) return
  chmodSync(directory, 0o755)
  for (const entry of readdirSync(directory, { withFileTypes: true }))
    if (entry.isDirectory()) makeWritable(join(directory, entry.name))
}
