/** What a delta has: what came after a position, nothing that is not for others, and nothing that damage has changed. */
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterEach, expect, test } from "vitest"
import {
  ArchiveReader,
  ArchiveWriter,
  type Delta,
  DeltaReader,
  type DeltaRow,
  fromTheBeginning,
  type Position,
  RecordingCopy,
  shippedTables,
} from "../../../src/archive/index.ts"
import { keepsAll } from "../../../src/archive/retention/policy.ts"
import { discoveryKey, withDiscovered } from "../../../src/archive/rows/discovery.ts"
import { beginSending, noteSent } from "../../../src/archive/rows/unsent-writes.ts"
import type { AuthoredWrite } from "../../../src/trace/index.ts"
import { ObservationsBuilder } from "../../../src/wire/index.ts"
import { expectSameRecording } from "../../fleet/same-recording.ts"
import { temporaryDirectory } from "../../harness/temporary-directory.ts"
import { frameEvent } from "../../wire/frame-events.ts"
import { encodeFrame, nameOf, plain, START } from "../sample-frames.ts"
import { damage, recordSample, sample, sampleKinds } from "../sample-recording.ts"

const open: Array<{ readonly close: () => void }> = []
afterEach(() => {
  for (const each of open.splice(0)) each.close()
})

const opened = <Each extends { readonly close: () => void }>(each: Each): Each => {
  open.push(each)
  return each
}

interface Read extends Delta {
  readonly all: ReadonlyArray<DeltaRow>
}

const read = (
  reader: DeltaReader,
  position: Position = fromTheBeginning,
  maximumBytes = Number.POSITIVE_INFINITY,
): Read => {
  const all: DeltaRow[] = []
  let bytes = 0
  const take = (row: DeltaRow): number => {
    all.push(row)
    bytes += 100 + row.blobs.reduce((sum, blob) => sum + blob.length, 0)
    return bytes
  }
  return { ...reader.read(position, take, maximumBytes), all }
}

const apply = (copy: RecordingCopy, { all, ...delta }: Read): void => {
  const order = ({ table }: DeltaRow): number => shippedTables.indexOf(table)
  copy.apply(
    delta,
    [...all].sort((one, other) => order(one) - order(other)),
    "m",
  )
}

const of = ({ all }: Read, table: string): ReadonlyArray<DeltaRow["values"]> =>
  all.filter((row) => row.table === table).map(({ values }) => values)

test("no secret and nothing of one process or one directory is in it", () => {
  const directory = temporaryDirectory()
  const writer = opened(recordSample(directory, 20))
  const planted = ["planted-key", "planted-value", "planted-file", "planted-sender", "planted-aside"]
  writer.metadata.set("planted-key", "planted-value")
  writer.metadata.set("setAside", "planted-aside")
  writer.metadata.set("incarnationsAbove", "0")
  writeFileSync(join(directory, "redaction.key"), "planted-file")
  writer.append("planted-sender", 1, 1, encodeFrame({ gvk: "v1.Pod", completeThrough: "900" }))
  writer.commit()
  const delta = read(opened(new DeltaReader(directory)))
  const bytes = Buffer.from(
    JSON.stringify(
      delta.all.map(({ values, blobs }) => [values, blobs.map((blob) => Buffer.from(blob).toString("latin1"))]),
    ),
  )
  expect(planted.filter((text) => bytes.includes(text))).toEqual([])
  expect(of(delta, "metadata").map(([key]) => key)).toEqual(["clusterUid"])
  expect(new Set(delta.all.map(({ table }) => table))).not.toContain("sender")
})

test("when nothing has happened, there are no rows but those that every whole delta has", () => {
  const directory = sample()
  const reader = opened(new DeltaReader(directory))
  const first = read(reader)
  expect(first).toMatchObject({ after: 0, isWhole: true })
  const second = read(reader, first.position)
  expect(second).toMatchObject({
    rows: 0,
    after: first.through,
    through: first.through,
    kinds: [],
    position: first.position,
  })
  expect(new Set(second.all.map(({ table }) => table))).toEqual(new Set(["kind", "metadata"]))
})

const podFrame = (owner: string | undefined, version: number): Buffer => {
  const builder = new ObservationsBuilder("v1.Pod")
  const slab = Buffer.alloc(4096)
  builder.begin(slab, 0)
  const references = [{ apiVersion: "apps/v1", kind: "ReplicaSet", name: owner, uid: owner }]
  const owned = owner === undefined ? {} : { ownerReferences: Buffer.from(JSON.stringify(references)) }
  builder.addObject({ number: 1, ...nameOf("v1.Pod", 1), ...owned })
  builder.append(
    frameEvent({ action: 1, objectNumber: 1, timeMicros: START + version, version, bytes: Buffer.from("{}") }),
  )
  return slab.subarray(0, builder.finish())
}

test("an object whose owners were replaced is sent again, with those that it had; owners that were learnt meanwhile, too", () => {
  const writer = opened(ArchiveWriter.open(temporaryDirectory(), { now: () => START }))
  const reader = () => opened(new DeltaReader(writer.directory))
  writer.append("w", 1, 1, podFrame("one", 1))
  writer.commit()
  const own = reader()
  const first = read(own)
  expect(of(first, "owner").map(([uid, , , , , state]) => [uid, state])).toEqual([["one", "open"]])
  writer.append("w", 1, 2, podFrame("two", 2))
  const answer = {
    uid: "one",
    gvk: "apps/v1.ReplicaSet",
    namespace: "ns-1",
    name: "one",
    ownerReferences: "",
    state: "gone",
  } as const
  writer.appendOwners("o", 1, 1, [answer], 10)
  writer.commit()
  const second = read(own, first.position)
  expect(of(second, "object")).toHaveLength(1)
  expect(of(second, "former_owner_set")).toHaveLength(1)
  expect(of(second, "owner").map(([uid, , , , , state]) => [uid, state])).toEqual([
    ["one", "gone"],
    ["two", "open"],
  ])
  const third = read(own, second.position)
  expect(third.rows).toBe(0)
  // A reader of another life does not know what was sent.
  expect(of(read(reader(), second.position), "owner")).toHaveLength(2)
})

test("audited writes are sent when they arrive, whatever they are of, and few again", () => {
  const writer = opened(ArchiveWriter.open(temporaryDirectory(), { now: () => START }))
  beginSending(writer.metadata)
  const known = { gvk: "v1.Pod", plural: "pods", singular: "", shortNames: [], categories: [], namespaced: true }
  writer.metadata.set(discoveryKey, withDiscovered(undefined, known))
  writer.append("w", 1, 1, podFrame(undefined, 1))
  writer.commit()
  const add = (version: number, more: Partial<AuthoredWrite> = {}): void => {
    const write: AuthoredWrite = {
      ...{ group: "", resource: "pods", object: "u", effect: "wrote", version: String(version), isCertain: true },
      ...{ auditID: "", received: START + version, completed: START + version + 1 },
      author: { user: "a", groups: [], userAgent: "", sourceIPs: [], verb: "update" },
      ...more,
    }
    writer.addAuthors([write], { from: START, to: START + 1000 })
  }
  for (let version = 100; version < 200; version++) add(version)
  const reader = opened(new DeltaReader(writer.directory))
  const versionsOf = (delta: Read) => of(delta, "audited_write").map(([, version]) => version)
  // In pieces of some rows.
  let position = fromTheBeginning
  const seen = new Set<unknown>()
  for (let delta: Read | undefined; delta?.isWhole !== true; ) {
    delta = read(reader, position, 1500)
    position = delta.position
    for (const version of versionsOf(delta)) seen.add(version)
  }
  expect(seen.size).toBe(100)
  expect(of(read(reader, position), "author")).toEqual([])
  noteSent(writer.metadata, position.writes)
  add(195, { object: "late" })
  add(200)
  add(5, { version: "", effect: "removed" })
  const next = read(reader, position)
  expect(versionsOf(next)).toEqual([195, 195, 196, 197, 198, 199, 200, 0])
  position = next.position
  expect(read(reader, position).rows).toBe(0)
  // What was sent and not noted costs some rows again, and none is missing.
  for (let version = 300; version < 400; version++) add(version)
  expect(versionsOf(read(reader, position)).filter((version) => Number(version) >= 300)).toHaveLength(100)
})

const flipped = "SET data = cast(substr(data, 1, 20) || x'00ff' || substr(data, 23) AS BLOB)"
const firstBlock = "WHERE last_sequence = (SELECT min(last_sequence) FROM block)"

test.each([
  ["its row", `UPDATE block SET events = events + 1 ${firstBlock}`],
  ["its objects", `UPDATE block ${flipped} ${firstBlock}`],
  ["all of it", `DELETE FROM block ${firstBlock}`],
])(
  "a block that is damaged (%s) is not sent, and its kinds name it as a gap, in the delta and in the copy",
  (_, sql) => {
    const directory = sample()
    const whole = read(opened(new DeltaReader(directory)))
    const window = { cut: whole.through, fromTime: 0, untilTime: Number.MAX_SAFE_INTEGER, kinds: sampleKinds }
    damage(directory, sql)
    const delta = read(opened(new DeltaReader(directory)))
    expect(of(delta, "block")).toEqual(of(whole, "block").slice(1))
    expect(of(delta, "block_kind")).toHaveLength(of(whole, "block_kind").length)
    expect(delta.kinds.map(({ gvk, gaps }) => [gvk, gaps]).sort()).toEqual(sampleKinds.map((gvk) => [gvk, 2]))
    expect(delta.through).toBe(whole.through)

    const target = temporaryDirectory()
    const copy = opened(new RecordingCopy(target))
    apply(copy, delta)
    expect(copy.finish()).toMatchObject({ isSound: true, lostBlocks: 1 })
    const eventsIn = (path: string) => {
      const reader = opened(ArchiveReader.open(path))
      return Array.from(reader.events(window), plain)
    }
    const events = eventsIn(target)
    const isDamage = (event: object): boolean => "reason" in event && event.reason === "damaged"
    const named = events.filter(isDamage).map(({ gvk }) => gvk)
    expect(named.sort()).toEqual(sampleKinds)
    const others = eventsIn(directory).filter((event) => !isDamage(event))
    expect(events.filter((event) => !isDamage(event))).toEqual(others)
  },
)

test("a block that is damaged after its parts were sent costs the events that came after them", () => {
  const directory = temporaryDirectory()
  const writer = recordSample(directory, 31)
  const reader = opened(new DeltaReader(directory))
  const first = read(reader)
  writer.close()
  damage(directory, `UPDATE block ${flipped} WHERE last_sequence = (SELECT max(last_sequence) FROM block)`)
  const second = read(opened(new DeltaReader(directory)), first.position)
  expect(of(second, "block")).toEqual([])
  const target = temporaryDirectory()
  const copy = opened(new RecordingCopy(target))
  for (const delta of [first, second]) apply(copy, delta)
  const { sealedThrough } = second.position
  expect(sealedThrough).toBe(second.through)
  expect(copy.finish({ sealedThrough })).toMatchObject({ isSound: true, lostBlocks: 0 })
  copy.close()
  const next = opened(ArchiveWriter.open(target, { now: () => START }))
  expect(next.cut()).toBe(second.through)
})

test("a part that was damaged is named no longer when the block has come that it was sealed into", () => {
  const directory = temporaryDirectory()
  const writer = recordSample(directory, 31)
  damage(directory, `UPDATE block ${flipped} WHERE sealed = 0`)
  const first = read(opened(new DeltaReader(directory)))
  expect(first.kinds.some(({ gaps }) => gaps > 0)).toBe(true)
  writer.close()
  const second = read(opened(new DeltaReader(directory)), first.position)
  const target = temporaryDirectory()
  const copy = opened(new RecordingCopy(target))
  for (const delta of [first, second]) apply(copy, delta)
  expect(copy.finish()).toMatchObject({ isSound: true, lostBlocks: 0 })
  copy.close()
  expectSameRecording(target, directory)
})

test("a checkpoint with damaged states is left out; any other damaged row ends the delta", () => {
  const directory = sample()
  const whole = read(opened(new DeltaReader(directory)))
  damage(directory, "UPDATE checkpoint SET states = x'00' WHERE rowid = (SELECT min(rowid) FROM checkpoint)")
  expect(of(read(opened(new DeltaReader(directory))), "checkpoint")).toHaveLength(of(whole, "checkpoint").length - 1)
  damage(directory, "UPDATE object SET name = 'other' WHERE number = 3")
  expect(() => read(opened(new DeltaReader(directory)))).toThrow(/table object: a row is damaged/)
})

test("blocks that were removed before they were sent leave the states that were kept", () => {
  const directory = temporaryDirectory()
  const writer = opened(
    ArchiveWriter.open(directory, {
      now: () => START + 1_000_000_000,
      limits: {
        blockBytes: 3000,
        blocksPerCheckpoint: 2,
        retention: { stride: { blocks: 4, events: 40, rows: 10 }, collectAfter: 1 },
      },
    }),
  )
  const gvk = "v1.ConfigMap"
  const change = (frame: number): void => {
    // The fifth is deleted in what is removed.
    const number = 1 + (frame % (frame > 24 ? 4 : 5))
    const object = `${frame} `.padEnd(700, "x")
    const event = {
      action: frame === 24 ? "deleted" : "applied",
      number,
      time: START + frame,
      version: frame,
      object,
    } as const
    writer.append("w", 1, frame, encodeFrame({ gvk, events: [event], ...(frame <= 5 && { newObjects: [number] }) }))
    writer.commit()
  }
  for (let frame = 1; frame <= 20; frame++) change(frame)
  const reader = opened(new DeltaReader(directory))
  const first = read(reader)
  for (let frame = 21; frame <= 80; frame++) change(frame)
  writer.retention.setPolicy({ forMicros: 1_000_000_000 - 60, kinds: new Map() })
  while (writer.retention.step(() => true));
  writer.retention.setPolicy(keepsAll)
  for (let frame = 81; frame <= 90; frame++) change(frame)
  const second = read(reader, first.position)
  const target = temporaryDirectory()
  const copy = opened(new RecordingCopy(target))
  for (const delta of [first, second]) apply(copy, delta)
  expect(copy.finish()).toMatchObject({ isSound: true })
  copy.close()
  const restored = opened(ArchiveWriter.open(target, { now: () => START }))
  expect([...restored.liveObjects(gvk)]).toEqual([...writer.liveObjects(gvk)])
  expect(restored.cut()).toBe(writer.cut())
})

test("of a recording that is not sent nothing is noted when writes are added", () => {
  const writer = opened(ArchiveWriter.open(temporaryDirectory(), { now: () => START }))
  writer.addAuthors([], { from: START, to: START + 1000 })
  expect(writer.metadata.get("unsentWrites") ?? "").toBe("")
  beginSending(writer.metadata)
  writer.addAuthors([], { from: START, to: START + 1000 })
  expect(writer.metadata.get("unsentWrites")).toContain('"number":1')
})
