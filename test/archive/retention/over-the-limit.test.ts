/** What retention does in which order when a recording has more than its limits allow. */
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { expect, onTestFinished, test } from "vitest"
import { ArchiveReader } from "../../../src/archive/archive-reader.ts"
import { ArchiveWriter } from "../../../src/archive/archive-writer.ts"
import { verifyRecording } from "../../../src/archive/damage/verify-recording.ts"
import { mergingBounds } from "../../../src/archive/retention/block-merging.ts"
import { keepsAll, type RetentionPolicy } from "../../../src/archive/retention/policy.ts"
import { DATABASE_FILE } from "../../../src/archive/tables/schema.ts"
import { temporaryDirectory } from "../../harness/temporary-directory.ts"
import { asIfCrashed } from "../crashed-copy.ts"
import { encodeFrame, START } from "../sample-frames.ts"

const gvk = "v1.Pod"
const objects = 10

const open = (directory: string, perRound: number): ArchiveWriter => {
  const writer = ArchiveWriter.open(directory, {
    now: () => START + 400,
    limits: {
      blockBytes: 4000,
      retention: {
        ...{ stride: { blocks: 3, events: 1000, rows: 6 }, reserveBytes: 4096 },
        merging: { ...mergingBounds, objectBytes: 20_000, perRound },
      },
    },
  })
  onTestFinished(() => writer.close())
  return writer
}

/** 400 changes, one each µs, in some 40 blocks. `perRound`: merged blocks in a round of retention. */
const recorded = (perRound = 16) => {
  const directory = temporaryDirectory()
  const writer = open(directory, perRound)
  const incarnation = writer.nextIncarnation("watcher")
  for (let version = 1; version <= 400; version++) {
    const object = JSON.stringify({ version, text: "x".repeat(300) })
    const number = 1 + ((version - 1) % objects)
    const event = { action: "applied", number, time: START + version, version, object } as const
    const newObjects = version <= objects ? [number] : []
    const frame = encodeFrame({ gvk, events: [event], newObjects, completeThrough: String(version) })
    writer.append("watcher", incarnation, version, frame)
    writer.commit()
  }
  writer.shrinkLog()
  const { database, free, log } = writer.retention.diskUse()
  return { directory, writer, used: database - free + log }
}

const blocksOf = (directory: string) => {
  const database = new DatabaseSync(join(directory, DATABASE_FILE), { readOnly: true })
  try {
    return database
      .prepare("SELECT last_sequence AS last, sealed, events, carried FROM block ORDER BY last_sequence")
      .all()
      .map(({ last, sealed, events, carried }) => ({ last: Number(last), sealed, isCarried: events === carried }))
  } finally {
    database.close()
  }
}

const mergedIn = (directory: string): number =>
  blocksOf(directory).filter(({ sealed, isCarried }) => sealed === 2 && !isCarried).length

test.each<[string, (used: number) => RetentionPolicy]>([
  ["the bytes of all are too many", (used) => ({ bytes: used / 2, kinds: new Map() })],
  ["the bytes of a kind are too many", (used) => ({ kinds: new Map([[gvk, { bytes: used / 24 }]]) })],
  ["its time is up", () => ({ forMicros: 200, kinds: new Map() })],
])("merging that has begun is given up for what is to go: %s", (_, policyOf) => {
  const { directory, writer, used } = recorded()
  const { retention } = writer
  retention.setPolicy({ bytes: used * 4, kinds: new Map() })
  while (mergedIn(directory) === 0) retention.step(() => true)
  // In the middle of the next one.
  retention.step(() => true)
  const merged = mergedIn(directory)
  const policy = policyOf(used)
  retention.setPolicy(policy)
  while (retention.statistics.events === 0) expect(retention.step(() => true)).toBe(true)
  // Only the bytes of all are looked at in the middle of a block.
  expect(mergedIn(directory)).toBeLessThanOrEqual(policy.bytes === undefined ? merged + 1 : merged)
})

test("near the limit, blocks that are removed next are not merged before", () => {
  const { directory, writer, used } = recorded()
  writer.retention.setPolicy({ bytes: used * 1.1, kinds: new Map() })
  while (writer.retention.step(() => false));
  expect(writer.retention.statistics.events).toBe(0)
  const isMerged = blocksOf(directory).map(({ last, sealed }) => [last > 100, sealed === 2] as const)
  expect(isMerged.filter(([isLater, merged]) => merged && !isLater)).toEqual([])
  expect(isMerged.filter(([, merged]) => merged).length).toBeGreaterThan(2)
})

test("killed after several strides and before their blocks were freed, a recorder frees all of them when it goes on", () => {
  const { directory, writer, used } = recorded(0)
  const { retention } = writer
  // Until it has seen that there is room, it removes one stride after the other.
  while (retention.step(() => false));
  const blocks = blocksOf(directory)
  retention.setPolicy({ bytes: used / 2, kinds: new Map() })
  while (retention.statistics.blocks < 9) retention.step(() => true)
  expect(blocksOf(directory)).toEqual(blocks)
  const copy = asIfCrashed(directory)
  const next = open(copy, 0)
  next.retention.setPolicy(keepsAll)
  while (next.retention.step(() => false));
  const reader = ArchiveReader.open(copy)
  onTestFinished(() => reader.close())
  const beginning = reader.kinds()[0]?.removedThrough ?? 0
  const through = beginning - START
  expect(through).toBeGreaterThan(50)
  // Of the strides nothing is left but the last change of each object before the beginning.
  expect(blocksOf(copy).filter(({ last, isCarried }) => last <= through && !isCarried)).toEqual([])
  const state = Array.from(reader.snapshotAt({ time: beginning + 1 }), ({ resourceVersion }) => Number(resourceVersion))
  expect(state.toSorted((one, other) => one - other)).toEqual(
    Array.from({ length: objects }, (_, index) => through - objects + 1 + index),
  )
  expect(verifyRecording(copy)).toMatchObject({ faults: [], damagedBlocks: [] })
})
