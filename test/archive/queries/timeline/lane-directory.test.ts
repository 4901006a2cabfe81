/** Names and owners of objects in columns: every row is found again, whatever is in its texts, and a damaged one is refused. */
import fc from "fast-check"
import { expect, test } from "vitest"
import { ArchiveWriter, QueriedRecording } from "../../../../src/archive/index.ts"
import { directoryRows, LaneDirectory, laneId } from "../../../../src/archive/queries/timeline/lane-directory.ts"
import { ObjectColumns } from "../../../../src/archive/queries/timeline/object-columns.ts"
import { temporaryDirectory } from "../../../harness/temporary-directory.ts"
import { encodeFrame, nameOf, START } from "../../sample-frames.ts"
import { damage } from "../../sample-recording.ts"

test("rows have the texts with which they were added, and are found by UID", () => {
  const text = fc.string({ unit: "grapheme", maxLength: 12 })
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.constantFrom("a", "b", "c", "ü"), text), { maxLength: 3000 }), (objects) => {
      const columns = new ObjectColumns()
      for (const [number, [uid, name]] of objects.entries()) {
        const bytes = Buffer.from(`${uid}/${name}`)
        const uidEnd = Buffer.byteLength(uid)
        columns.add({
          ...{ kind: 1, number, firstSequence: number, namespace: number % 7, owners: 0, bytes },
          ...{ uidStart: 0, uidEnd, nameStart: uidEnd + 1, nameEnd: bytes.length },
        })
      }
      const rows = objects.map((_, row) => [columns.uidOf(row), columns.nameOf(row), columns.namespaces[row]])
      expect(rows).toEqual(objects.map(([uid, name], number) => [uid, Buffer.from(name).toString(), number % 7]))
      const found = [...columns.rowsWithUid("ü")].sort((one, other) => one - other)
      expect(found).toEqual(objects.flatMap(([uid], row) => (uid === "ü" ? [row] : [])))
      expect([...columns.rowsWithUid("none")]).toEqual([])
    }),
    { numRuns: 30 },
  )
})

const pods = "v1.Pod"

const record = (numbers: ReadonlyArray<number>): string => {
  const directory = temporaryDirectory()
  const writer = ArchiveWriter.open(directory, { now: () => START })
  for (const [frame, number] of numbers.entries()) {
    const event = { action: "applied", number, time: START + frame, version: frame + 2, object: "{}" } as const
    writer.append("watcher", 1, frame + 1, encodeFrame({ gvk: pods, newObjects: [number], events: [event] }))
  }
  writer.commit()
  writer.close()
  return directory
}

const read = (directory: string, known = new LaneDirectory()) => {
  const recording = QueriedRecording.open(directory)
  try {
    for (const kind of recording.kinds) for (const _ of known.read(recording, kind));
    return known
  } finally {
    recording.close()
  }
}

test("all objects of a recording, once, however often it is read", () => {
  const directory = record([1, 2, 3, 4])
  const known = read(directory, read(directory))
  const rows = directoryRows(
    known,
    Uint32Array.from({ length: known.columns.count }, (_, row) => row),
  )
  expect(Array.from({ length: rows.count }, (_, index) => rows.objectAt(index))).toEqual(
    [1, 2, 3, 4].map((number) => ({ id: laneId({ id: 1 }, number), gvk: pods, ...nameOf(pods, number) })),
  )
  expect([rows.indexOf("1.3"), rows.indexOf("1.9"), rows.indexOf("2.3"), rows.indexOfUid(`${pods}/4`)]).toEqual([
    ...[2, -1, -1, 3],
  ])
  expect(known.columns.bytes).toBeGreaterThan(0)
})

test("a row that is not as it was written is refused", () => {
  const directory = record([1, 2])
  damage(directory, "UPDATE object SET name = 'other' WHERE number = 2")
  expect(() => read(directory)).toThrow(/table object: a row has a wrong checksum/)
})
