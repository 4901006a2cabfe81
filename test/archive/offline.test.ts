/** A recording read by a separate program, through the exports of `kubereel/archive`. */
import { expect, test } from "vitest"
import { ArchiveReader, NotARecordingError } from "../../src/library/archive.ts"
import { recordingOf } from "../actors/exporter/owned-recording.ts"
import { temporaryDirectory } from "../harness/temporary-directory.ts"

const minute = 60_000_000
const pod = (name: string) => ({ gvk: "v1.Pod", name, owners: [], rest: { spec: { nodeName: "node-1" } } })

test("the objects at a moment and the changes afterwards follow each other without a seam, and gaps are reported", () => {
  const reader = ArchiveReader.open(recordingOf([pod("web-1"), pod("web-2"), pod("web-3")]))
  try {
    const cut = reader.cut()
    // Just before the third event, which came two µs after the first.
    const time = minute + 2
    const existed = [...reader.snapshotAt({ cut, time })].map(({ name }) => name)
    const happened = [...reader.events({ cut, fromTime: time })].map((event) => event.type === "object" && event.name)
    expect([existed, happened]).toEqual([["web-1", "web-2"], ["web-3"]])
    const [first] = reader.snapshotAt({ cut, time })
    expect(JSON.parse(Buffer.from(first?.object ?? []).toString())).toMatchObject({ spec: { nodeName: "node-1" } })
    expect(reader.gaps({ cut, fromTime: 0, untilTime: 2 * minute, kinds: ["v1.Pod"] })).toEqual([])
  } finally {
    reader.close()
  }
})

test("a directory without a recording is rejected with its own error", () => {
  expect(() => ArchiveReader.open(temporaryDirectory())).toThrow(NotARecordingError)
})
