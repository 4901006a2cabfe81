import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { createInterface } from "node:readline"
import { expect, onTestFinished, test } from "vitest"
import { ArchiveReader } from "../../src/archive/archive-reader.ts"
import { ArchiveWriter } from "../../src/archive/archive-writer.ts"
import { DirectoryInUseError } from "../../src/archive/directory/archive-errors.ts"
import { rounds } from "../harness/effort.ts"
import { patient } from "../harness/patience.ts"
import { temporaryDirectory } from "../harness/temporary-directory.ts"
import { testWorker } from "../harness/test-worker.ts"

const CHILD = testWorker("child-writer").pathname

const start = (...parameters: ReadonlyArray<string>): ChildProcess => {
  const child = spawn(process.execPath, [CHILD, ...parameters], { stdio: ["ignore", "pipe", "inherit"] })
  onTestFinished(() => {
    child.kill("SIGKILL")
  })
  return child
}

const linesOf = (child: ChildProcess) => {
  if (child.stdout === null) throw new Error("the child has no output")
  return createInterface({ input: child.stdout })
}

const versionsIn = (directory: string): ReadonlyArray<number> => {
  const reader = ArchiveReader.open(directory)
  try {
    return Array.from(reader.events(), (event) => (event.type === "object" ? Number(event.resourceVersion) : -1))
  } finally {
    reader.close()
  }
}

test("a writer killed during its commits loses nothing acknowledged and repeats nothing", {
  timeout: patient(120_000),
}, async () => {
  const directory = temporaryDirectory()
  const seed = Date.now() % 2 ** 31
  console.log(`seed of the kills: ${seed}`)
  let state = seed
  const random = (below: number): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
  const lastVersion = 2000
  const wantedKills = rounds(16)
  let acknowledged = 0
  let kills = 0
  while (acknowledged < lastVersion) {
    const child = start("record", directory, String(lastVersion))
    let commitsToLive = 1 + random(60)
    // The line is read after the commit that it reports, while later ones are running: the kill can hit any moment of them.
    for await (const line of linesOf(child)) {
      acknowledged = Number(line)
      if (--commitsToLive === 0 && kills < wantedKills) {
        kills++
        child.kill("SIGKILL")
      }
    }
    if (child.exitCode === null && child.signalCode === null) await once(child, "exit")
    const versions = versionsIn(directory)
    expect(versions.length).toBeGreaterThanOrEqual(acknowledged)
    expect(versions).toEqual(Array.from(versions, (_, index) => index + 1))
  }
  expect(kills).toBe(wantedKills)
  expect(versionsIn(directory)).toHaveLength(lastVersion)
  const writer = ArchiveWriter.open(directory)
  expect(writer.nextIncarnation("watcher")).toBe(wantedKills + 2)
  expect([...writer.liveObjects("v1.Pod")].flat()).toHaveLength(50)
  writer.close()
})

test("a disk that rejects a write fails the commit with its name and leaves everything acknowledged", {
  timeout: patient(60_000),
}, async () => {
  const directory = temporaryDirectory()
  // Files may not grow beyond 512 kB: the system answers EFBIG, SQLite an input/output error.
  const limited = `ulimit -f 1024; exec "$0" "$@"`
  const child = spawn("sh", ["-c", limited, process.execPath, CHILD, "record", directory, "30000"], {
    stdio: ["ignore", "pipe", "inherit"],
  })
  const lines: Array<string> = []
  for await (const line of linesOf(child)) lines.push(line)
  expect(lines.pop()).toBe("ArchiveIoError with frames pending")
  const acknowledged = Number(lines.at(-1))
  expect(acknowledged).toBeGreaterThan(20)
  expect(versionsIn(directory)).toEqual(Array.from({ length: acknowledged }, (_, index) => index + 1))
})

test("a directory in use is reported with host, process and start; the kernel frees it when that process is killed", {
  timeout: patient(60_000),
}, async () => {
  const directory = temporaryDirectory()
  const child = start("hold", directory)
  await once(linesOf(child), "line")
  let refusal: unknown
  try {
    ArchiveWriter.open(directory)
  } catch (error) {
    refusal = error
  }
  expect(refusal).toBeInstanceOf(DirectoryInUseError)
  const { pid, host, startedAt, message } = refusal as DirectoryInUseError
  expect(pid).toBe(child.pid)
  expect(host).not.toBe("")
  expect(Date.parse(startedAt)).toBeGreaterThan(Date.parse("2025-01-01"))
  expect(message).toContain(`process ${child.pid} on host ${host}`)
  expect(message).toContain("choose another --data-dir")
  // Readers are not excluded.
  expect(versionsIn(directory)).toEqual([])
  const exit = once(child, "exit")
  child.kill("SIGKILL")
  await exit
  ArchiveWriter.open(directory).close()
})
