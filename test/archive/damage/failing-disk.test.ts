/** A disk fails under a writer: nothing that was acknowledged is silently lost, and nothing is added to what cannot be trusted. */
import { spawn } from "node:child_process"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { DatabaseSync } from "node:sqlite"
import { setTimeout } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import { describe, expect, onTestFinished, test } from "vitest"
import { ArchiveReader } from "../../../src/archive/archive-reader.ts"
import { verifyRecording } from "../../../src/archive/damage/verify-recording.ts"
import { addChecksumFunction } from "../../../src/archive/tables/sound-rows.ts"
import { FaultyDisk, noFaultyDisk } from "../../harness/faulty-disk/faulty-disk.ts"
import { patient } from "../../harness/patience.ts"
import { temporaryDirectory } from "../../harness/temporary-directory.ts"

const child = fileURLToPath(new URL("writing-child.ts", import.meta.url))

const start = (directory: string, disk: FaultyDisk) => {
  const [program = "", ...words] = disk.wrap([process.execPath, "--no-warnings", child, directory])
  const running = spawn(program, words, { stdio: ["pipe", "pipe", "inherit"] })
  onTestFinished(() => void running.kill("SIGKILL"))
  const lines = createInterface({ input: running.stdout })[Symbol.asyncIterator]()
  const run = async (
    ...commands: ReadonlyArray<string>
  ): Promise<{ done?: unknown; tag?: string; message?: string }> => {
    let last = {}
    for (const command of commands) {
      running.stdin.write(`${command}\n`)
      const silence = setTimeout(patient(15_000), undefined, { ref: false }).then(() => {
        throw new Error(`the writer does not answer ${command}`)
      })
      last = JSON.parse((await Promise.race([lines.next(), silence])).value ?? "{}")
    }
    return last
  }
  return { run, kill: () => running.kill("SIGKILL") }
}

const sequencesIn = (directory: string): ReadonlyArray<number> => {
  const reader = ArchiveReader.open(directory)
  try {
    return Array.from(reader.events(), ({ sequence }) => sequence)
  } finally {
    reader.close()
  }
}

const skipped = noFaultyDisk()

describe.skipIf(skipped !== undefined)(`a disk that fails${skipped === undefined ? "" : ` (${skipped})`}`, () => {
  const place = () => {
    const above = temporaryDirectory()
    const directory = join(above, "data")
    const disk = new FaultyDisk(above, "recording.db")
    return { directory, disk, ...start(directory, disk) }
  }

  test("at a sync, and loses nothing: writing goes on after the database was checked and synced again", {
    timeout: patient(30_000),
  }, async () => {
    const { run, disk, directory } = place()
    expect(await run("append", "commit", "sync")).toEqual({ done: null })
    await run("append", "commit")
    disk.now("sync-fails")
    expect(await run("sync")).toMatchObject({ tag: "ArchiveIoError", message: expect.stringContaining("sync failed") })
    // The check ends with a checkpoint, which syncs the database: as long as that fails, nothing is acknowledged.
    expect(await run("append", "commit")).toMatchObject({ tag: "ArchiveIoError" })
    expect(await run("commit")).toMatchObject({ tag: "ArchiveIoError" })
    disk.now("ok")
    expect(await run("commit")).toEqual({ done: 3 })
    expect(await run("sync", "close")).toEqual({ done: null })
    expect(sequencesIn(directory)).toEqual([1, 2, 3])
    expect(verifyRecording(directory).isSound).toBe(true)
  })

  test("at a sync, and is not trusted as long as a reader keeps the log from being written once more", {
    timeout: patient(60_000),
  }, async () => {
    const { run, disk, directory } = place()
    await run("append", "commit", "sync")
    const reader = new DatabaseSync(join(directory, "recording.db"), { readOnly: true })
    addChecksumFunction(reader)
    reader.exec("BEGIN")
    reader.prepare("SELECT count(*) FROM metadata").get()
    await run("append", "commit")
    disk.now("sync-fails")
    expect(await run("sync")).toMatchObject({ tag: "ArchiveIoError" })
    disk.now("ok")
    const commit = await run("append", "commit")
    expect(commit).toMatchObject({ tag: "ArchiveIoError", message: expect.stringContaining("is being read") })
    reader.close()
    expect(await run("commit")).toEqual({ done: 3 })
    await run("close")
    expect(sequencesIn(directory)).toEqual([1, 2, 3])
  })

  test("at a sync, and loses what was written: that is noticed before anything is added, and the writer continues from what there is", {
    timeout: patient(30_000),
  }, async () => {
    const { run, disk, directory, kill } = place()
    await run("append", "commit", "sync")
    await run("append", "commit", "append", "commit")
    disk.now("sync-loses")
    expect(await run("sync")).toMatchObject({ tag: "ArchiveIoError" })
    disk.now("ok")
    const commit = await run("append", "commit")
    expect(commit).toMatchObject({ tag: "CorruptArchiveError" })
    expect(commit.message).toMatch(/its log is damaged|ends at event 1, and event 3 was committed/)
    await run("abandon")
    kill()
    const next = start(directory, disk)
    expect(await next.run("open")).toEqual({ done: { kinds: "1" } })
    await next.run("close")
    expect(sequencesIn(directory)).toEqual([1])
  })

  test("at a write, or is full: the commit fails, and succeeds later", { timeout: patient(30_000) }, async () => {
    const { run, disk, directory } = place()
    await run("append", "commit")
    disk.now("full")
    expect(await run("append", "commit")).toMatchObject({ tag: "DiskFullError" })
    disk.now("write-fails")
    expect(await run("commit")).toMatchObject({ tag: "ArchiveIoError" })
    // SQLite does not say why it cannot make the index of the log.
    expect(await run("commit")).toMatchObject({ tag: "DiskFullError" })
    disk.now("ok")
    expect(await run("commit")).toEqual({ done: 2 })
    await run("close")
    expect(sequencesIn(directory)).toEqual([1, 2])
  })

  test("while it is closed: everything that was synced before is still there", {
    timeout: patient(30_000),
  }, async () => {
    const { run, disk, directory, kill } = place()
    await run("append", "commit", "append", "commit", "sync")
    disk.now("sync-loses")
    expect(await run("close")).toMatchObject({ tag: "ArchiveIoError" })
    kill()
    disk.now("ok")
    const next = start(directory, disk)
    expect(await next.run("open")).toEqual({ done: { kinds: "2" } })
    await next.run("close")
    expect(sequencesIn(directory)).toEqual([1, 2])
    expect(verifyRecording(directory).isSound).toBe(true)
  })
})
