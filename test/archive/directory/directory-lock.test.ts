import { mkdirSync, readdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { expect, test } from "vitest"
import { ArchiveWriter } from "../../../src/archive/archive-writer.ts"
import {
  DirectoryInUseError,
  DirectoryNotWritableError,
  NetworkFileSystemError,
  NotARecordingError,
} from "../../../src/archive/directory/archive-errors.ts"
import { lockDirectory, networkFileSystemOf } from "../../../src/archive/directory/directory-lock.ts"
import { temporaryDirectory } from "../../harness/temporary-directory.ts"

const HOLDER = { host: "node-7", pid: 4711, startedAt: "2026-11-21T10:00:00.000Z" }

const thrownBy = (action: () => unknown): unknown => {
  try {
    action()
  } catch (error) {
    return error
  }
  return undefined
}

test("a directory is locked against a second recorder in the same process, until it is released", () => {
  const directory = join(temporaryDirectory(), "made", "on", "the", "way")
  const lock = lockDirectory(directory, HOLDER)
  const refusal = thrownBy(() => lockDirectory(directory))
  expect(refusal).toBeInstanceOf(DirectoryInUseError)
  expect(refusal).toMatchObject({ ...HOLDER, directory })
  lock.release()
  lock.release()
  lockDirectory(directory, HOLDER).release()
  expect(readdirSync(directory)).toEqual(["recorder.lock"])
})

test.each([
  ["missing", undefined],
  ["empty", ""],
  ["half written", '{"host":"no'],
  ["about something else", "[1]"],
])("a lock whose side file is %s is still a lock", (_, content) => {
  const directory = temporaryDirectory()
  const lock = lockDirectory(directory, HOLDER)
  if (content === undefined) lockDirectoryWithoutSideFile(directory)
  else writeFileSync(join(directory, "recorder.json"), content)
  expect(thrownBy(() => lockDirectory(directory))).toMatchObject({
    _tag: "DirectoryInUseError",
    host: "unknown",
    pid: 0,
  })
  lock.release()
})

const lockDirectoryWithoutSideFile = (directory: string): void =>
  writeFileSync(join(directory, "recorder.json"), "null")

test("a stale side file does not exclude anyone", () => {
  const directory = temporaryDirectory()
  writeFileSync(join(directory, "recorder.json"), JSON.stringify(HOLDER))
  lockDirectory(directory).release()
})

test("a directory in place of the lock file is reported", () => {
  const directory = temporaryDirectory()
  mkdirSync(join(directory, "recorder.lock"))
  const refusal = thrownBy(() => lockDirectory(directory))
  expect(refusal).toBeInstanceOf(NotARecordingError)
  expect((refusal as Error).message).toContain("recorder.lock, the file that a recorder locks, is something else there")
})

test("a directory that cannot be created or written is reported with advice", () => {
  const directory = temporaryDirectory()
  writeFileSync(join(directory, "file"), "")
  const refusal = thrownBy(() => ArchiveWriter.open(join(directory, "file", "below")))
  expect(refusal).toBeInstanceOf(DirectoryNotWritableError)
  expect(refusal).toMatchObject({ code: "ENOTDIR" })
  expect((refusal as Error).message).toMatch(/is not a directory, or is below a file .*Choose another --data-dir/)
  // No one can write there, not even root.
  const inProc = thrownBy(() => lockDirectory("/proc/self/recording"))
  expect(inProc).toBeInstanceOf(DirectoryNotWritableError)
  expect((inProc as Error).message).toMatch(/cannot be created .*Choose another --data-dir/)
  const facts = { directory: "/data", reason: "permission denied" }
  expect(new DirectoryNotWritableError({ ...facts, code: "EACCES" }).message).toContain(
    "Give this user write permission",
  )
})

test.each([
  [0x6969, "NFS"],
  [0x517b, "SMB"],
  [0xff534d42, "CIFS"],
  // As returned by a system with 32-bit signed types.
  [0xff534d42 | 0, "CIFS"],
  [0xfe534d42, "SMB2"],
  [0x00c36400, "Ceph"],
  [0x01021997, "9p"],
])("a file system of type 0x%x is refused as %s", (type, fileSystem) => {
  const directory = temporaryDirectory()
  const refusal = thrownBy(() => ArchiveWriter.open(directory, { fileSystemTypeOf: () => type }))
  expect(refusal).toBeInstanceOf(NetworkFileSystemError)
  expect(refusal).toMatchObject({ fileSystem, directory })
  expect((refusal as Error).message).toContain("Choose a --data-dir on a local disk")
  expect(readdirSync(directory)).toEqual([])
})

test("local file systems are not rejected", () => {
  // ext4, XFS, Btrfs, tmpfs, overlayfs, ZFS, FUSE
  const local = [0xef53, 0x58465342, 0x9123683e, 0x01021994, 0x794c7630, 0x2fc12fc1, 0x65735546]
  expect(local.map(networkFileSystemOf)).toEqual(local.map(() => undefined))
  const directory = temporaryDirectory()
  mkdirSync(join(directory, "data"))
  ArchiveWriter.open(join(directory, "data")).close()
})
