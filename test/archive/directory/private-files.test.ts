/** Who may read a recording: the files are private from the moment they are made, and those that are not are named. */
import { chmodSync, mkdirSync, readdirSync, statSync } from "node:fs"
import { join } from "node:path"
import { expect, onTestFinished, test } from "vitest"
import { ArchiveWriter } from "../../../src/archive/archive-writer.ts"
import { exposureOf } from "../../../src/archive/directory/private-files.ts"
import { LEASES } from "../../../src/archive/leases/lease.ts"
import { temporaryDirectory } from "../../harness/temporary-directory.ts"
import { encodeFrame, START } from "../sample-frames.ts"

const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8)

const withUmask = (umask: number): void => {
  const before = process.umask(umask)
  onTestFinished(() => void process.umask(before))
}

const frame = encodeFrame({
  gvk: "v1.Secret",
  newObjects: [1],
  events: [{ action: "applied", number: 1, time: START, version: 1, object: "{}" }],
})

test.each([
  ["that takes nothing away", 0o000],
  ["that is usual", 0o022],
  ["that takes everything away", 0o777],
])("a new recording is private under a umask %s", (_, umask) => {
  const directory = join(temporaryDirectory(), "data")
  withUmask(umask)
  const writer = ArchiveWriter.open(directory)
  try {
    writer.append("watcher/Secret", 1, 1, frame)
    writer.commit()
    const files = readdirSync(directory).filter((file) => file !== LEASES)
    expect(files).toEqual(
      expect.arrayContaining(["recorder.json", "recorder.lock", "recording.db", "recording.db-wal"]),
    )
    expect([directory, join(directory, LEASES)].map(modeOf)).toEqual(["700", "700"])
    for (const file of files) expect(`${file} ${modeOf(join(directory, file))}`).toBe(`${file} 600`)
    expect(exposureOf(directory)).toBeUndefined()
  } finally {
    writer.close()
  }
})

test("directories on the way to a recording are made as mkdir makes them", () => {
  const above = join(temporaryDirectory(), "above")
  withUmask(0o022)
  ArchiveWriter.open(join(above, "data")).close()
  expect(modeOf(above)).toBe("755")
})

test("files to which others have access are named, with the command that restricts them", () => {
  const directory = join(temporaryDirectory(), "it's data")
  mkdirSync(directory)
  ArchiveWriter.open(directory).close()
  chmodSync(directory, 0o755)
  chmodSync(join(directory, "recording.db"), 0o644)
  const file = join(directory, "recording.db")
  const shown = (path: string): string => `'${path.replaceAll("'", "'\\''")}'`
  expect(exposureOf(directory)).toBe(
    `other users have access to ${directory}, ${file}, and the recording contains everything that the recorded objects contain. ` +
      `Restrict them: chmod go= ${shown(directory)} ${shown(file)}`,
  )
  // They are left as they are: someone may have widened them on purpose.
  ArchiveWriter.open(directory).close()
  expect([modeOf(directory), modeOf(file)]).toEqual(["755", "644"])
})
