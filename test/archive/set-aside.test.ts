/** A recording that cannot be trusted is moved aside, and a new one begins with a gap. */
import { readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs"
import { basename, join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { describe, expect, test } from "vitest"
import { ArchiveReader } from "../../src/archive/archive-reader.ts"
import { ArchiveWriter } from "../../src/archive/archive-writer.ts"
import { NotARecordingError } from "../../src/archive/directory/archive-errors.ts"
import { readCoverage } from "../../src/archive/reading/recorded-coverage.ts"
import { openOrBegin, setAsideReplaced } from "../../src/archive/set-aside.ts"
import { addChecksumFunction } from "../../src/archive/tables/sound-rows.ts"
import { temporaryDirectory } from "../harness/temporary-directory.ts"
import { asIfCrashed } from "./crashed-copy.ts"
import { encodeFrame, START } from "./sample-frames.ts"
import { damage, sample, sampleKinds } from "./sample-recording.ts"

/** µs since the Unix epoch at which the damage is found. */
const later = START + 3_600_000_000

describe("a damaged recording", () => {
  test("of which the beginning never reached the disk is moved aside; a file that begins with something is not", () => {
    const directory = sample()
    const path = join(directory, "recording.db")
    const bytes = readFileSync(path)
    writeFileSync(path, Buffer.from(bytes).fill(0x55, 0, 100))
    expect(() => openOrBegin(directory, { now: () => later })).toThrow(NotARecordingError)
    writeFileSync(path, Buffer.from(bytes).fill(0, 0, 4096))
    const { writer, setAside } = openOrBegin(directory, { now: () => later })
    writer.close()
    expect(setAside?.reason).toBe("its beginning never reached the disk")
    expect(
      readFileSync(join(setAside?.path ?? "", "recording.db"))
        .subarray(4096)
        .equals(bytes.subarray(4096)),
    ).toBe(true)
  })

  test("is moved aside as a data directory of its own; the new one has a gap of each of its kinds", () => {
    const directory = sample()
    damage(directory, "UPDATE gap SET detail = 'another'")
    expect(() => ArchiveWriter.open(directory)).toThrow("table gap: 3 rows have a wrong checksum")
    const { writer, setAside } = openOrBegin(directory, { now: () => later })
    try {
      expect(setAside).toEqual({
        path: join(directory, `damaged-${new Date(later / 1000).toISOString().replaceAll(/[-:]|\.\d+/g, "")}`),
        reason: "table gap: 3 rows have a wrong checksum",
      })
      expect(readdirSync(setAside?.path ?? "")).toContain("recording.db")
      expect((statSync(setAside?.path ?? "").mode & 0o777).toString(8)).toBe("700")
      const { kinds } = readCoverage(directory, { fromTime: 0, untilTime: later * 2 })
      const known = [...sampleKinds, "kubereel.pod-lives"].filter((gvk) => kinds.some((kind) => kind.gvk === gvk))
      expect(known).toEqual(expect.arrayContaining([...sampleKinds]))
      for (const kind of kinds)
        expect(kind).toMatchObject({
          ...{ events: 0, since: undefined },
          gaps: [{ reason: "damaged", toTime: later, detail: expect.stringContaining("was set aside in damaged-") }],
        })
    } finally {
      writer.close()
    }
    const again = openOrBegin(directory)
    again.writer.close()
    expect(again.setAside).toBeUndefined()
  })

  test("leaves its gaps also if the start that moved it aside was interrupted before the new recording had them", () => {
    const directory = sample()
    damage(directory, "UPDATE gap SET detail = 'another'")
    const first = openOrBegin(directory, { now: () => later })
    first.writer.close()
    for (const file of readdirSync(directory))
      if (file.startsWith("recording.db")) rmSync(join(directory, file), { force: true })
    const second = openOrBegin(directory, { now: () => later })
    try {
      expect(second.setAside?.path).toBe(first.setAside?.path)
      const { kinds } = readCoverage(directory, { fromTime: 0, untilTime: later * 2 })
      expect(kinds.map(({ gvk }) => gvk)).toEqual(expect.arrayContaining([...sampleKinds]))
      for (const kind of kinds) expect(kind.gaps).toMatchObject([{ reason: "damaged", toTime: later }])
      expect(second.writer.append("watcher/2", 1, 121, encodeFrame({ gvk: "v1.Pod" }))).toBe("fenced")
    } finally {
      second.writer.close()
    }
  })

  test("that was begun in the place of another one, and had nothing yet, leaves one gap of each kind, since the other", () => {
    const directory = sample()
    damage(directory, "UPDATE gap SET detail = 'another'")
    const first = openOrBegin(directory, { now: () => later })
    first.writer.close()
    damage(directory, "UPDATE sender SET frame = 7; UPDATE gap SET detail = 'another'")
    const muchLater = later + 3_600_000_000
    openOrBegin(directory, { now: () => muchLater }).writer.close()
    expect(readdirSync(directory).filter((name) => name.startsWith("damaged-"))).toHaveLength(2)
    const { kinds } = readCoverage(directory, { fromTime: 0, untilTime: muchLater * 2 })
    expect(kinds.map(({ gvk }) => gvk)).toEqual(expect.arrayContaining([...sampleKinds]))
    const detail = expect.stringContaining(`was set aside in ${basename(first.setAside?.path ?? "")}`)
    for (const { gaps } of kinds) expect(gaps).toMatchObject([{ toTime: muchLater, detail }])
  })

  test("that is empty is moved aside too, without gaps, because it tells nothing", () => {
    const directory = sample()
    truncateSync(join(directory, "recording.db"))
    const { writer, setAside } = openOrBegin(directory)
    writer.close()
    expect(setAside?.reason).toBe("recording.db is empty")
    const reader = ArchiveReader.open(directory)
    expect([reader.kinds(), reader.gaps()]).toEqual([[], []])
    reader.close()
  })

  test("that does not tell its kinds any more leaves a gap of each kind of the first lists, from when its file was made", () => {
    const directory = sample()
    truncateSync(join(directory, "recording.db"), 5000)
    const { writer } = openOrBegin(directory)
    try {
      const list = (gvk: string, number: number): void => {
        const incarnation = writer.nextIncarnation(`watcher/${gvk}`)
        writer.append(`watcher/${gvk}`, incarnation, number, encodeFrame({ gvk, completeThrough: "7" }))
        writer.commit()
      }
      list("v1.Pod", 1)
      list("v1.Pod", 2)
      writer.metadata.set("firstLists", String(Date.now() * 1000))
      list("v1.Node", 1)
      const { kinds } = readCoverage(directory, { fromTime: 0, untilTime: Number.MAX_SAFE_INTEGER })
      expect(kinds).toMatchObject([
        {
          gvk: "v1.Pod",
          gaps: [{ reason: "damaged", detail: expect.stringContaining("which kinds it had is unknown") }],
        },
        { gvk: "v1.Node", gaps: [] },
      ])
      const [pods] = kinds
      expect(pods?.gaps[0]?.toTime).toBe(pods?.since)
      expect(pods?.gaps[0]?.fromTime).toBeGreaterThan((pods?.since ?? 0) - 60_000_000)
    } finally {
      writer.close()
    }
  })

  test("leaves no frames behind: those of lives before the new recording are fenced", () => {
    const directory = sample()
    damage(directory, "UPDATE sender SET frame = 0")
    const { writer } = openOrBegin(directory)
    try {
      const frame = encodeFrame({ gvk: "v1.Pod", completeThrough: "999" })
      expect(writer.append("watcher/2", 1, 121, frame)).toBe("fenced")
      const incarnation = writer.nextIncarnation("watcher/2")
      expect(incarnation).toBeGreaterThan(1_700_000_000)
      expect(incarnation).toBeLessThan(2 ** 32)
      expect(writer.append("watcher/2", incarnation, 1, frame)).toBe("appended")
    } finally {
      writer.close()
    }
  })

  test("whose damage is confined to tables of contents continues, and its gaps remain behind later checkpoints", () => {
    const directory = sample()
    const lost = "(SELECT max(last_sequence) FROM block WHERE last_sequence < 300)"
    const database = new DatabaseSync(join(directory, "recording.db"))
    addChecksumFunction(database)
    database.exec(`UPDATE block SET toc = zeroblob(length(toc)) WHERE last_sequence = ${lost}; DELETE FROM checkpoint`)
    database.close()
    const { writer, setAside } = openOrBegin(directory, { limits: { blockBytes: 12_000, blocksPerCheckpoint: 2 } })
    expect(setAside).toBeUndefined()
    expect(() => [...writer.liveObjects("v1.Pod")]).not.toThrow()
    const incarnation = writer.nextIncarnation("watcher/2")
    const later = START + 200_000_000
    for (let number = 1; number <= 30; number++) {
      const events = [
        {
          action: "applied" as const,
          number: 1,
          time: later + number,
          version: 900 + number,
          object: "x".repeat(5000),
        },
      ]
      writer.append("watcher/2", incarnation, number, encodeFrame({ gvk: "v1.Pod", events }))
      writer.commit()
    }
    writer.close()
    const reader = ArchiveReader.open(directory)
    const gaps = reader.gaps({ fromTime: later + 30, kinds: ["v1.Pod"] })
    reader.close()
    expect(gaps).toMatchObject([
      { reason: "damaged", toTime: later + 30, detail: expect.stringContaining("is unknown") },
    ])
  })

  test("with a damaged checkpoint continues, and no later checkpoint lacks what that one had", () => {
    const directory = temporaryDirectory()
    const write = (number: number): void => {
      const { writer, setAside } = openOrBegin(directory, {
        limits: { blockBytes: 12_000, blocksPerCheckpoint: 1, eventsPerObject: 0 },
      })
      expect(setAside).toBeUndefined()
      const events = [{ action: "applied" as const, number, time: START + number, version: number, object: "{}" }]
      const incarnation = writer.nextIncarnation("watcher")
      writer.append("watcher", incarnation, 1, encodeFrame({ gvk: "v1.Pod", newObjects: [number], events }))
      writer.close()
    }
    for (let number = 1; number <= 7; number++) write(number)
    const database = new DatabaseSync(join(directory, "recording.db"))
    addChecksumFunction(database)
    const full = (): ReadonlyArray<number> =>
      database
        .prepare("SELECT through_sequence AS through FROM checkpoint WHERE is_full = 1 ORDER BY 1")
        .all()
        .map(({ through }) => Number(through))
    expect(full()).toEqual([1, 2, 4])
    database.exec("UPDATE checkpoint SET states = zeroblob(length(states)) WHERE through_sequence = 6")
    write(8)
    expect(full()).toEqual([1, 2, 4, 8])
    database.close()
    const reader = ArchiveReader.open(directory)
    const alive = Array.from(reader.snapshotAt({ time: START + 1000 }), ({ sequence }) => sequence)
    reader.close()
    expect(alive).toEqual([1, 2, 3, 4, 5, 6, 7, 8])
  })

  test("with a damaged part of its open block keeps the other parts", () => {
    const directory = temporaryDirectory()
    const writing = ArchiveWriter.open(directory)
    for (let number = 1; number <= 5; number++) {
      const events = [{ action: "applied" as const, number, time: START + number, version: number, object: "{}" }]
      writing.append("watcher", 1, number, encodeFrame({ gvk: "v1.Pod", newObjects: [number], events }))
      writing.commit()
    }
    const copy = asIfCrashed(directory)
    writing.close()
    const database = new DatabaseSync(join(copy, "recording.db"))
    addChecksumFunction(database)
    database.exec("UPDATE block SET data = zeroblob(length(data)) WHERE last_sequence = 3")
    database.close()
    const { writer, setAside } = openOrBegin(copy)
    writer.close()
    expect(setAside).toBeUndefined()
    const reader = ArchiveReader.open(copy)
    expect(Array.from(reader.events(), ({ type, sequence }) => `${type} ${sequence}`)).toEqual([
      "object 1",
      "object 2",
      "gap 3",
      "object 4",
      "object 5",
    ])
    reader.close()
  })

  test("whose damage is confined to blocks continues", () => {
    const directory = sample()
    damage(directory, "UPDATE block SET data = zeroblob(length(data)) WHERE rowid = (SELECT min(rowid) FROM block)")
    const { writer, setAside } = openOrBegin(directory)
    expect(setAside).toBeUndefined()
    expect(writer.kindState("v1.Pod").completeThrough).toBe("219")
    writer.close()
  })
})

test("another program's database is never moved", () => {
  const directory = temporaryDirectory()
  const database = new DatabaseSync(join(directory, "recording.db"))
  database.exec("CREATE TABLE accounts (name TEXT)")
  database.close()
  expect(() => openOrBegin(directory)).toThrow("was not written by kubereel")
  expect(readdirSync(directory)).toContain("recording.db")
})

test("of recordings that others have replaced the last two are kept, and what has another name stays", () => {
  const directory = temporaryDirectory()
  writeFileSync(join(directory, "notes.txt"), "")
  const stamps = [1, 2, 3, 4].map((hour) => {
    ArchiveWriter.open(directory, { now: () => START }).close()
    return basename(setAsideReplaced(directory, START + hour * 3_600_000_000) ?? "")
  })
  const names = readdirSync(directory)
  expect(names).toContain("notes.txt")
  expect(names.filter((name) => name.startsWith("replaced-")).sort()).toEqual(stamps.slice(2))
  expect(setAsideReplaced(directory, later)).toBeUndefined()
})
