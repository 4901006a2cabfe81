/** Damage is found, confined to what it concerns, and what is sound is copied. */
import { execFileSync, spawnSync } from "node:child_process"
import { readdirSync, statSync, truncateSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, test } from "vitest"
import { ArchiveReader } from "../../../src/archive/archive-reader.ts"
import { ArchiveWriter } from "../../../src/archive/archive-writer.ts"
import { salvageRecording } from "../../../src/archive/damage/salvage-recording.ts"
import { verifyRecording } from "../../../src/archive/damage/verify-recording.ts"
import { CorruptArchiveError } from "../../../src/archive/directory/archive-errors.ts"
import { readCoverage } from "../../../src/archive/reading/recorded-coverage.ts"
import type { GapEvent } from "../../../src/trace/index.ts"
import { temporaryDirectory } from "../../harness/temporary-directory.ts"
import { reel } from "../../recorder/recorder/recorder-command.ts"
import { type PlainEvent, plain } from "../sample-frames.ts"
import { damage, recordSample, sample, sampleMiddle, withDatabase } from "../sample-recording.ts"

const keysOf = (directory: string): ReadonlyArray<number> =>
  withDatabase(directory, (database) =>
    database
      .prepare("SELECT last_sequence AS key FROM block ORDER BY key")
      .all()
      .map(({ key }) => Number(key)),
  )

/** The row's checksum is right again; that of the BLOB is not. */
const loseBlob = (directory: string, key: number, column: "toc" | "data"): void => {
  damage(directory, `UPDATE block SET ${column} = zeroblob(length(${column})) WHERE last_sequence = ${key}`)
  withDatabase(directory, (database) => database.exec("UPDATE block SET events = events"))
}

const read = (directory: string, fromTime = 0): ReadonlyArray<PlainEvent | GapEvent> => {
  const reader = ArchiveReader.open(directory)
  try {
    const snapshot = fromTime === 0 ? [] : Array.from(reader.snapshotAt({ time: fromTime }), plain)
    return [...snapshot, ...Array.from(reader.events({ fromTime }), plain)]
  } finally {
    reader.close()
  }
}

const isGap = (event: PlainEvent | GapEvent): event is GapEvent => event.type === "gap"
const damageIn = (events: ReadonlyArray<PlainEvent | GapEvent>) =>
  events.filter(isGap).filter(({ reason }) => reason === "damaged")

describe("a damaged block", () => {
  const damageBlock = (directory: string, index: number, column: "toc" | "data"): number => {
    const key = keysOf(directory)[index] as number
    loseBlob(directory, key, column)
    return key
  }

  test.each(["toc", "data"] as const)("whose %s is lost is a gap of its kinds, and the rest is read", (column) => {
    const directory = sample()
    const before = read(directory)
    const key = damageBlock(directory, 3, column)
    const after = read(directory)
    const gaps = damageIn(after)
    const kept = after.filter((event) => damageIn([event]).length === 0)
    const lost = before.filter((event) => !kept.some(({ sequence }) => sequence === event.sequence))
    expect(gaps.map(({ gvk }) => gvk).sort()).toEqual([...new Set(lost.map(({ gvk }) => gvk))].sort())
    for (const event of lost) {
      const gap = gaps.find(({ gvk }) => gvk === event.gvk)
      expect(event.time).toBeGreaterThanOrEqual(gap?.fromTime ?? Number.POSITIVE_INFINITY)
      expect(event.time).toBeLessThanOrEqual(gap?.toTime ?? 0)
    }
    expect(gaps[0]?.detail).toContain(`the block up to event ${key} is damaged (malformed frame of `)
    expect(after.filter((event) => !damageIn([event]).length)).toEqual(before.filter((event) => !lost.includes(event)))
    const { kinds } = readCoverage(directory, { fromTime: 0, untilTime: Number.MAX_SAFE_INTEGER })
    expect(kinds.flatMap(({ gaps: known }) => known.filter(({ reason }) => reason === "damaged"))).toHaveLength(
      gaps.length,
    )
    expect(kinds.reduce((sum, { events }) => sum + events, 0)).toBe(after.filter((event) => !isGap(event)).length)
  })

  test("before a window is a gap up to the start if objects as of then are in it, and none otherwise", () => {
    const directory = sample()
    const before = read(directory, sampleMiddle)
    const keys = keysOf(directory)
    const needed = Math.max(...keys.filter((key) => key < 185))
    damageBlock(directory, keys.indexOf(needed), "data")
    const after = read(directory, sampleMiddle)
    const [gap] = damageIn(after)
    expect(gap).toMatchObject({ toTime: sampleMiddle, reason: "damaged" })
    expect(gap?.detail).toMatch(/objects that were last changed in it are missing$/)
    expect(before.length - after.filter((event) => !damageIn([event]).length).length).toBeGreaterThan(0)
    const second = sample()
    damageBlock(second, 0, "data")
    expect(read(second, sampleMiddle)).toEqual(before)
  })

  test("is named by verify with its kinds, and stays a gap in what salvage copies", () => {
    const directory = sample()
    const key = damageBlock(directory, 3, "data")
    const after = read(directory)
    expect(verifyRecording(directory)).toMatchObject({
      ...{ faults: [], isSound: false },
      damagedBlocks: [
        { lastSequence: key, kinds: expect.arrayContaining([expect.objectContaining({ gvk: "v1.Pod" })]) },
      ],
    })
    const copy = join(temporaryDirectory(), "copy")
    const { lost, recovered, lostBlocks } = salvageRecording(directory, copy)
    expect([lost.length, recovered, lostBlocks]).toEqual([1, [], 1])
    const withoutReason = (events: ReadonlyArray<PlainEvent | GapEvent>) =>
      events.map((event) => (isGap(event) ? { ...event, detail: "" } : event))
    expect(withoutReason(read(copy))).toEqual(withoutReason(after))
    // A recorder goes on with it.
    const writer = ArchiveWriter.open(copy)
    expect(writer.kindState("v1.Pod").completeThrough).toBe("219")
    writer.close()
  })
})

test("an integer that is none of JavaScript's is damage of its block, and the rest is read", () => {
  const directory = sample()
  const key = keysOf(directory)[3]
  damage(directory, `UPDATE block SET toc_size = 314407551741015501 WHERE last_sequence = ${key}`)
  const events = read(directory)
  expect(damageIn(events)).not.toEqual([])
  expect(events.length).toBeGreaterThan(100)
  expect(verifyRecording(directory).damagedBlocks).toHaveLength(1)
})

describe("what retention carried over", () => {
  /** Half of the sample is kept; what lives on from the other half is in blocks of its own. */
  const carried = (): {
    readonly directory: string
    readonly beginning: number
    readonly keys: ReadonlyArray<number>
  } => {
    const directory = sample()
    const writer = ArchiveWriter.open(directory, { now: () => sampleMiddle + 60_000_000 })
    writer.retention.setPolicy({ forMicros: 60_000_000, kinds: new Map() })
    while (writer.retention.step(() => true));
    writer.close()
    return withDatabase(directory, (database) => {
      const blocks = database.prepare("SELECT last_sequence AS key FROM block WHERE carried > 0 AND carried = events")
      const last = database.prepare("SELECT max(removed_through) AS beginning FROM retained").get()
      const keys = blocks.all().map(({ key }) => Number(key))
      return { directory, beginning: Number(last?.beginning) + 1, keys }
    })
  }

  test("is copied by salvage with the rest, and states at the beginning are the same", () => {
    const { directory, beginning, keys } = carried()
    expect(keys.length).toBeGreaterThan(0)
    const before = read(directory, beginning)
    expect(verifyRecording(directory)).toMatchObject({ isSound: true, faults: [], damagedBlocks: [] })
    const copy = join(temporaryDirectory(), "copy")
    expect(salvageRecording(directory, copy)).toMatchObject({ lost: [], lostBlocks: 0 })
    expect(read(copy, beginning)).toEqual(before)
    expect(verifyRecording(copy).isSound).toBe(true)
  })

  test("is a gap up to the beginning of its kinds if it is damaged; everything after it is read, also of a copy", () => {
    const { directory, beginning, keys } = carried()
    const before = read(directory, beginning)
    const key = keys.at(-1) as number
    loseBlob(directory, key, "data")
    const after = read(directory, beginning)
    const gaps = damageIn(after)
    expect(gaps.length).toBeGreaterThan(0)
    expect(gaps.every(({ toTime }) => toTime <= beginning)).toBe(true)
    const kept = after.filter((event) => damageIn([event]).length === 0)
    const lost = before.filter((event) => !kept.some(({ sequence }) => sequence === event.sequence))
    expect(lost.length).toBeGreaterThan(0)
    // Only states at the beginning, of kinds that have a gap.
    for (const { gvk, sequence } of lost) {
      expect(sequence).toBeLessThanOrEqual(key)
      expect(gaps.map((gap) => gap.gvk)).toContain(gvk)
    }
    expect(verifyRecording(directory).damagedBlocks.map(({ lastSequence }) => lastSequence)).toEqual([key])
    const copy = join(temporaryDirectory(), "copy")
    expect(salvageRecording(directory, copy)).toMatchObject({ lostBlocks: 1 })
    const copied = read(copy, beginning)
    expect(copied.filter((event) => !isGap(event))).toEqual(kept.filter((event) => !isGap(event)))
    expect(damageIn(copied).length).toBeGreaterThan(0)
  })
})

describe("damage to rows", () => {
  test.each(["kind", "gap", "block_kind", "metadata"])("of table %s makes reading fail, in words", (table) => {
    const directory = sample()
    const [column, value] = table === "metadata" ? ["value", "'other'"] : [columnOf(table), "1"]
    damage(directory, `UPDATE ${table} SET ${column} = ${value}`)
    expect(() => read(directory)).toThrow(CorruptArchiveError)
    expect(() => read(directory)).toThrow(`table ${table}: `)
    expect(() => read(directory)).toThrow("reel store salvage")
    expect(verifyRecording(directory).faults.join()).toContain(`table ${table}: `)
  })

  test("of an object's name makes reading it fail; salvage finds the name in the object", () => {
    const directory = sample()
    const before = read(directory)
    damage(directory, "UPDATE object SET uid = 'another' WHERE kind = 3 AND number = 2")
    expect(() => read(directory)).toThrow("object 2 of kind 3 has a damaged row")
    const copy = join(temporaryDirectory(), "copy")
    const { lost, recovered } = salvageRecording(directory, copy)
    expect(lost).toEqual(["table object: 1 damaged row"])
    expect(recovered).toEqual(["the names of 1 objects of kind v1.Pod"])
    expect(read(copy)).toEqual(before)
    expect(verifyRecording(copy).isSound).toBe(true)
  })

  test("of a kind is repaired from its blocks, except since when it was recorded", () => {
    const directory = sample()
    const before = read(directory)
    damage(directory, "UPDATE kind SET gvk = 'v1.Bod' WHERE gvk = 'v1.Pod'")
    const copy = join(temporaryDirectory(), "copy")
    const { recovered } = salvageRecording(directory, copy)
    expect(recovered).toEqual(["the name of kind v1.Pod; since when it was recorded is unknown"])
    expect(read(copy).filter((event) => !isGap(event))).toEqual(before.filter((event) => !isGap(event)))
    const { kinds } = readCoverage(copy, { fromTime: 0, untilTime: Number.MAX_SAFE_INTEGER })
    expect(kinds.find(({ gvk }) => gvk === "v1.Pod")?.since).toBeUndefined()
  })

  test.each([
    ["of which no other row tells", "UPDATE pod_life SET start_seconds = 7 WHERE pod = 1"],
    ["without which events are not found", "UPDATE block_kind SET events = 0 WHERE kind = 3"],
  ])("%s is a gap of all kinds after salvage", (_, statement) => {
    const directory = sample()
    damage(directory, statement)
    const copy = join(temporaryDirectory(), "copy")
    salvageRecording(directory, copy)
    expect(damageIn(read(copy)).map(({ gvk }) => gvk)).toEqual(expect.arrayContaining(["v1.Pod", "v1.ConfigMap"]))
  })
})

test("a copy for which there is no room is an error that names it, not damage, and nothing of it is left", () => {
  const directory = sample()
  const copy = join(temporaryDirectory(), "copy")
  const limit = Math.floor(statSync(join(directory, "recording.db")).size * 0.7)
  const salvage = [reel, "store", "salvage", "--data-dir", directory, "--to", copy]
  const { status, stderr } = spawnSync("prlimit", [`--fsize=${limit}`, process.execPath, ...salvage], {
    encoding: "utf8",
  })
  expect(status).toBe(1)
  expect(stderr).toContain(copy)
  expect(readdirSync(copy).filter((name) => name.startsWith("recording.db"))).toEqual([])
})

const columnOf = (table: string): string =>
  ({ kind: "recorded_since", gap: "to_time", block_kind: "min_time" })[table] ?? ""

test("a checkpoint that is damaged costs nothing but time", () => {
  const directory = sample()
  const before = read(directory, sampleMiddle)
  damage(directory, "UPDATE checkpoint SET objects = 0 WHERE rowid % 2 = 0")
  expect(read(directory, sampleMiddle)).toEqual(before)
  expect(verifyRecording(directory).faults[0]).toMatch(/^checkpoint \d+ is damaged$/)
})

test.each([0, 50, 5000])("a recording.db of %d bytes is not taken for a new recording", (bytes) => {
  const directory = sample()
  truncateSync(join(directory, "recording.db"), bytes)
  for (const open of [() => ArchiveWriter.open(directory), () => read(directory)])
    expect(open).toThrow(/damaged|not a database/)
})

test("a log without its database is not taken for a new recording", () => {
  const directory = temporaryDirectory()
  writeFileSync(join(directory, "recording.db-wal"), "left")
  expect(() => ArchiveWriter.open(directory)).toThrow("recording.db is missing, although its log is there")
})

test("verify reads beside a recorder and changes nothing", () => {
  const directory = temporaryDirectory()
  const writer = recordSample(directory)
  try {
    const copy = temporaryDirectory()
    execFileSync("cp", ["-r", `${directory}/.`, copy])
    expect(verifyRecording(copy)).toMatchObject({ isSound: true, damagedBlocks: [], faults: [] })
    expect(verifyRecording(directory).isSound).toBe(true)
  } finally {
    writer.close()
  }
})

describe("a database that was cut off", () => {
  /** Large enough for its tables to have pages all over the file. */
  const whole = (): string => sample(1800)
  const truncated = (share: number): string => {
    const directory = whole()
    const path = join(directory, "recording.db")
    truncateSync(path, Math.floor(statSync(path).size * share) + 100)
    return directory
  }

  test("is refused with what is left of it", () => {
    const directory = truncated(0.5)
    expect(() => read(directory)).toThrow(/recording\.db is cut off: \d+ of \d+ bytes are left.*reel store salvage/)
    expect(() => verifyRecording(directory)).toThrow("is cut off")
  })

  test.each([
    [0.5, 0],
    [0.7, 1000],
    [0.9, 1500],
  ])("to %f of its size is salvaged as far as it is listed, with a gap", (share, atLeast) => {
    const before = read(whole()).map((event) => JSON.stringify(event))
    const target = temporaryDirectory()
    const { lost } = salvageRecording(truncated(share), target)
    expect(lost[0]).toMatch(/^all after the first \d+ of \d+ bytes of recording.db$/)
    expect(readdirSync(target)).not.toContain("cut-off")
    expect(verifyRecording(target).faults).toEqual([])
    const events = read(target)
    const kept = events.filter((event) => !isGap(event)).map((event) => JSON.stringify(event))
    const known = new Set(before)
    expect(kept.filter((event) => !known.has(event))).toEqual([])
    expect(kept.length).toBeGreaterThanOrEqual(atLeast)
    expect(damageIn(events).length).toBeGreaterThan(0)
  })

  test("to less than its definitions cannot be salvaged, in so many words", () => {
    const directory = sample()
    truncateSync(join(directory, "recording.db"), 12_288)
    expect(() => salvageRecording(directory, temporaryDirectory())).toThrow("Nothing of it can be read")
  })
})
