import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { describe, expect, test } from "vitest"
import { ArchiveReader } from "../../src/archive/archive-reader.ts"
import { ArchiveWriter } from "../../src/archive/archive-writer.ts"
import { salvageRecording } from "../../src/archive/damage/salvage-recording.ts"
import { verifyRecording } from "../../src/archive/damage/verify-recording.ts"
import {
  DiskFullError,
  NewerRecordingError,
  NotARecordingError,
  OlderRecordingError,
  UncommittedFramesError,
} from "../../src/archive/directory/archive-errors.ts"
import { openOrBegin } from "../../src/archive/set-aside.ts"
import { DATABASE_FILE, FORMAT_VERSION } from "../../src/archive/tables/schema.ts"
import { readRecordingInfo } from "../../src/archive/upkeep/recording-info.ts"
import type { ArchiveWriterOptions } from "../../src/archive/writing.ts"
import { MalformedFrameError } from "../../src/wire/index.ts"
import { temporaryDirectory } from "../harness/temporary-directory.ts"
import { asIfCrashed } from "./crashed-copy.ts"
import { encodeFrame, gapAt, plain, type SampleFrame, START } from "./sample-frames.ts"

const POD = "v1.Pod"
const CONFIG_MAPS = "v1.ConfigMap"
const NODE = "v1.Node"

/** A frame with one applied event per object number; numbers above `known` are introduced. */
const applied = (gvk: string, numbers: ReadonlyArray<number>, known = 0, rest: Partial<SampleFrame> = {}): Buffer =>
  encodeFrame({
    gvk,
    newObjects: numbers.filter((number) => number > known),
    events: numbers.map((number, index) => ({
      action: "applied",
      number,
      time: START + index,
      version: 100 + index,
      object: `{"${gvk}":${number},"filler":"${"x".repeat(200)}"}`,
    })),
    ...rest,
  })

const opened = (directory: string, options: ArchiveWriterOptions = {}) => {
  const writer = ArchiveWriter.open(directory, options)
  return { writer, [Symbol.dispose]: () => writer.close() }
}

const read = (directory: string) => {
  const reader = ArchiveReader.open(directory)
  try {
    return Array.from(reader.events(), plain)
  } finally {
    reader.close()
  }
}

const rows = (directory: string, query: string): ReadonlyArray<Record<string, unknown>> => {
  const database = new DatabaseSync(join(directory, DATABASE_FILE), { readOnly: true })
  try {
    return database.prepare(query).all()
  } finally {
    database.close()
  }
}

describe("exactly once", () => {
  test("a repeated frame is a duplicate, before its commit, after it, and after a restart", () => {
    const directory = temporaryDirectory()
    const frame = applied(POD, [1])
    {
      using archive = opened(directory)
      const { writer } = archive
      expect(writer.append("watcher/Pod", 1, 1, frame)).toBe("appended")
      expect(writer.append("watcher/Pod", 1, 1, frame)).toBe("duplicate")
      writer.commit()
      expect(writer.append("watcher/Pod", 1, 1, frame)).toBe("duplicate")
    }
    using archive = opened(directory)
    expect(archive.writer.append("watcher/Pod", 1, 1, frame)).toBe("duplicate")
    expect(archive.writer.append("watcher/Pod", 1, 2, applied(POD, [1, 2], 1))).toBe("appended")
    archive.writer.commit()
    expect(read(directory)).toHaveLength(3)
  })

  test("the sender of a repeated frame gets its acknowledgement again, without a write", () => {
    using archive = opened(temporaryDirectory())
    const { writer } = archive
    writer.append("watcher/Pod", 1, 1, applied(POD, [1]))
    writer.append("watcher/Pod", 1, 2, applied(POD, [1], 1))
    const acknowledgement = { sender: "watcher/Pod", incarnation: 1, number: 2 }
    expect(writer.commit()).toMatchObject({ acknowledgements: [acknowledgement], events: 2, cut: 2 })
    expect(writer.commit()).toMatchObject({ acknowledgements: [], events: 0, bytes: 0 })
    expect(writer.append("watcher/Pod", 1, 1, applied(POD, [1], 1))).toBe("duplicate")
    expect(writer.commit()).toMatchObject({ acknowledgements: [acknowledgement], events: 0, bytes: 0, cut: 2 })
  })

  test("frames of a dead incarnation are fenced as soon as its successor exists", () => {
    const directory = temporaryDirectory()
    using archive = opened(directory)
    const { writer } = archive
    const first = writer.nextIncarnation("watcher/Pod")
    expect(writer.append("watcher/Pod", first, 1, applied(POD, [1]))).toBe("appended")
    const second = writer.nextIncarnation("watcher/Pod")
    expect(writer.append("watcher/Pod", first, 2, applied(POD, [2], 1))).toBe("fenced")
    expect(writer.append("watcher/Pod", second, 1, applied(POD, [2], 1))).toBe("appended")
    expect(writer.append("watcher/Pod", first, 3, applied(POD, [3], 2))).toBe("fenced")
    writer.commit()
    expect(read(directory).map(({ sequence }) => sequence)).toEqual([1, 2])
  })

  test("incarnations increase across restarts, even if they never sent anything", () => {
    const directory = temporaryDirectory()
    const seen: Array<number> = []
    for (let restart = 0; restart < 4; restart++) {
      using archive = opened(directory)
      seen.push(archive.writer.nextIncarnation("watcher/Pod"))
    }
    expect(seen).toEqual([1, 2, 3, 4])
  })

  test("the last durable frame of an incarnation is known, and only that", () => {
    const directory = temporaryDirectory()
    {
      using archive = opened(directory)
      const { writer } = archive
      writer.append("watcher/Pod", 3, 1, applied(POD, [1]))
      writer.commit()
      writer.append("watcher/Pod", 3, 2, applied(POD, [1], 1))
      expect(writer.lastFrame("watcher/Pod", 3)).toBe(1)
      writer.commit()
      expect(writer.lastFrame("watcher/Pod", 3)).toBe(2)
      expect(writer.lastFrame("watcher/Pod", 4)).toBe(0)
      expect(writer.lastFrame("watcher/Node", 1)).toBe(0)
    }
    using archive = opened(directory)
    expect(archive.writer.lastFrame("watcher/Pod", 3)).toBe(2)
  })

  test("bytes are copied: the sender may overwrite its slab at once", () => {
    const directory = temporaryDirectory()
    using archive = opened(directory)
    const slab = applied(POD, [1, 2])
    archive.writer.append("watcher/Pod", 1, 1, slab)
    slab.fill(0)
    archive.writer.commit()
    const object = `{"${POD}":2,"filler":"${"x".repeat(200)}"}`
    expect(read(directory)[1]).toMatchObject({ object, name: "object-2" })
  })
})

describe("a malformed frame", () => {
  test("is rejected and affects nothing else", () => {
    const directory = temporaryDirectory()
    using archive = opened(directory)
    const { writer } = archive
    writer.append("watcher/Pod", 1, 1, applied(POD, [1]))
    const broken = applied(POD, [2], 1).subarray(0, 150)
    expect(() => writer.append("watcher/Pod", 1, 2, broken)).toThrow(MalformedFrameError)
    expect(() => writer.append("watcher/Node", 1, 1, Buffer.from("no frame"))).toThrow(MalformedFrameError)
    expect(writer.append("watcher/Pod", 1, 2, applied(POD, [2], 1))).toBe("appended")
    expect(writer.commit().acknowledgements).toEqual([{ sender: "watcher/Pod", incarnation: 1, number: 2 }])
    expect(read(directory)).toHaveLength(2)
    expect(writer.kindState(NODE).nextObjectNumber).toBe(1)
  })

  test("may refer to an object that was never introduced", () => {
    using archive = opened(temporaryDirectory())
    const { writer } = archive
    writer.append("watcher/Pod", 1, 1, applied(POD, [1, 2]))
    expect(() => writer.append("watcher/Pod", 1, 2, applied(POD, [7], 7))).toThrow(
      "object 7 of v1.Pod was never introduced",
    )
    // Numbers belong to their kind.
    expect(() => writer.append("watcher/Node", 1, 1, applied(NODE, [1], 1))).toThrow("object 1 of v1.Node")
  })
})

const unknownPods = {
  ...{ gvk: POD, epoch: 0, completeThrough: "", namespaces: [], completeThroughTime: 0, nextObjectNumber: 1 },
  ...{ lastEventTime: 0, lastReceivedTime: 0, clusterUid: "", listReason: "", selection: "", recordedSince: 0 },
}

describe("the state of a kind", () => {
  test("is that of an unknown kind before its first frame", () => {
    using archive = opened(temporaryDirectory())
    expect(archive.writer.kindState(POD)).toEqual(unknownPods)
    expect([...archive.writer.liveObjects(POD)]).toEqual([])
  })

  test("moves with its frames, in the same commit, and survives a restart", () => {
    const directory = temporaryDirectory()
    const now = () => START + 5_000_000
    const times = { lastEventTime: START + 1, lastReceivedTime: START + 1, recordedSince: START + 1 }
    const known = { ...unknownPods, ...times, epoch: 2, nextObjectNumber: 3, clusterUid: "c-1" }
    {
      using archive = opened(directory, { now })
      const { writer } = archive
      writer.metadata.set("clusterUid", "c-1")
      writer.append("watcher/Pod", 1, 1, applied(POD, [1, 2], 0, { epoch: 2, completeThrough: "101" }))
      writer.commit()
      expect(writer.kindState(POD)).toEqual({ ...known, completeThrough: "101", completeThroughTime: START + 1 })
      // A bookmark: no events, a version.
      writer.append("watcher/Pod", 1, 2, encodeFrame({ gvk: POD, epoch: 2, completeThrough: "150" }))
      writer.commit()
    }
    using archive = opened(directory)
    expect(archive.writer.metadata.get("clusterUid")).toBe("c-1")
    const after = { completeThrough: "150", completeThroughTime: START + 5_000_000 }
    expect(archive.writer.kindState(POD)).toEqual({ ...known, ...after })
  })

  test("is of another cluster only from the epoch that began there, whichever kind noticed first", () => {
    const directory = temporaryDirectory()
    const writer = ArchiveWriter.open(directory)
    const clusterOf = (gvk: string): string => writer.kindState(gvk).clusterUid
    writer.metadata.set("clusterUid", "old")
    writer.append("watcher/Pod", 1, 1, applied(POD, [1], 0, { completeThrough: "10" }))
    writer.append("watcher/ConfigMap", 1, 1, applied(CONFIG_MAPS, [1], 0, { completeThrough: "11" }))
    writer.commit()
    // The first frame of an epoch may arrive before its UID, and other kinds continue in the old cluster for a while.
    writer.append("watcher/Pod", 1, 2, encodeFrame({ gvk: POD, epoch: 1 }))
    writer.metadata.set("clusterUid", "new")
    writer.append("watcher/Pod", 1, 3, encodeFrame({ gvk: POD, epoch: 1, completeThrough: "5" }))
    writer.append("watcher/ConfigMap", 1, 2, encodeFrame({ gvk: CONFIG_MAPS, completeThrough: "12" }))
    writer.commit()
    expect([clusterOf(POD), clusterOf(CONFIG_MAPS)]).toEqual(["new", "old"])
    writer.append("watcher/ConfigMap", 1, 3, encodeFrame({ gvk: CONFIG_MAPS, epoch: 1, completeThrough: "6" }))
    writer.commit()
    expect(clusterOf(CONFIG_MAPS)).toBe("new")
    writer.close()
  })

  test("has no resume version in a new epoch until that epoch has one", () => {
    using archive = opened(temporaryDirectory())
    const { writer } = archive
    writer.append("watcher/Pod", 1, 1, applied(POD, [1], 0, { completeThrough: "900" }))
    writer.append("watcher/Pod", 1, 2, applied(POD, [1], 1, { epoch: 1 }))
    writer.commit()
    // The time stays: from then on something may be missing.
    expect(writer.kindState(POD)).toMatchObject({ epoch: 1, completeThrough: "", completeThroughTime: START })
    writer.append("watcher/Pod", 1, 3, encodeFrame({ gvk: POD, epoch: 1, completeThrough: "12" }))
    writer.append("watcher/Pod", 1, 4, encodeFrame({ gvk: POD, epoch: 0, completeThrough: "950" }))
    writer.commit()
    expect(writer.kindState(POD)).toMatchObject({ epoch: 1, completeThrough: "12" })
  })

  test("is not returned while its frames wait for a commit; other kinds' frames do not matter", () => {
    using archive = opened(temporaryDirectory())
    const { writer } = archive
    writer.append("watcher/Pod", 1, 1, applied(POD, [1]))
    expect(() => writer.kindState(POD)).toThrow(UncommittedFramesError)
    expect(() => writer.liveObjects(POD)).toThrow(UncommittedFramesError)
    expect(writer.kindState(NODE).nextObjectNumber).toBe(1)
    writer.commit()
    expect([...writer.liveObjects(POD)].flat()).toHaveLength(1)
  })

  test("lists live objects as of the call, whatever is committed while they are read", () => {
    using archive = opened(temporaryDirectory())
    const { writer } = archive
    const numbers = Array.from({ length: 3000 }, (_, index) => index + 1)
    writer.append("watcher/Pod", 1, 1, applied(POD, numbers))
    writer.commit()
    const batches: Array<number> = []
    for (const batch of writer.liveObjects(POD)) {
      const number = batches.length
      const rest = { time: START + 9000, version: 9000, object: "{}" }
      const event = { action: "deleted", number: 3000 - number, ...rest } as const
      writer.append("watcher/Pod", 1, 2 + number, encodeFrame({ gvk: POD, events: [event] }))
      writer.commit()
      batches.push(batch.length)
    }
    expect(batches).toEqual([1024, 1024, 952])
    expect([...writer.liveObjects(POD)].flat()).toHaveLength(2997)
  })
})

describe("blocks", () => {
  test("below 1 MiB each commit adds a small row, and the full block replaces them all", () => {
    const directory = temporaryDirectory()
    using archive = opened(directory, { limits: { blockBytes: 3600 } })
    const { writer } = archive
    const sealed = () => rows(directory, "SELECT sealed, first_sequence, last_sequence FROM block ORDER BY 3")
    for (let number = 1; number <= 3; number++) {
      writer.append("watcher/Pod", 1, number, applied(POD, [1, 2], number === 1 ? 0 : 2))
      writer.commit()
    }
    expect(sealed()).toEqual([
      { sealed: 0, first_sequence: 1, last_sequence: 2 },
      { sealed: 0, first_sequence: 3, last_sequence: 4 },
      { sealed: 0, first_sequence: 5, last_sequence: 6 },
    ])
    const before = read(directory)
    writer.append("watcher/Pod", 1, 4, applied(POD, [1, 2, 3, 4, 5, 6], 2))
    expect(writer.commit().blocks).toBe(1)
    expect(sealed()).toEqual([{ sealed: 1, first_sequence: 1, last_sequence: 12 }])
    expect(rows(directory, "SELECT * FROM block_kind")).toHaveLength(1)
    expect(read(directory).slice(0, 6)).toEqual(before)
  })

  test("a commit that nearly fills a block seals it instead of storing it once more as a part", () => {
    const directory = temporaryDirectory()
    using archive = opened(directory, { limits: { blockBytes: 3000 } })
    archive.writer.append("watcher/Pod", 1, 1, applied(POD, [1, 2, 3, 4, 5, 6, 7, 8, 9]))
    expect(archive.writer.pendingBytes).toBeLessThan(3000)
    expect(archive.writer.commit()).toMatchObject({ blocks: 1, events: 9 })
    expect(rows(directory, "SELECT sealed FROM block")).toEqual([{ sealed: 1 }])
  })

  test("at a high rate a commit is whole blocks, without small rows for them", () => {
    const directory = temporaryDirectory()
    using archive = opened(directory, { limits: { blockBytes: 3000 } })
    const { writer } = archive
    for (let number = 1; number <= 10; number++) {
      writer.append("watcher/Pod", 1, number, applied(POD, [1, 2, 3, 4], number === 1 ? 0 : 4))
    }
    expect(writer.commit()).toMatchObject({ blocks: 3, events: 40 })
    expect(rows(directory, "SELECT sealed, events FROM block ORDER BY last_sequence")).toEqual([
      { sealed: 1, events: 12 },
      { sealed: 1, events: 12 },
      { sealed: 1, events: 12 },
      { sealed: 0, events: 4 },
    ])
    expect(read(directory)).toHaveLength(40)
  })

  test("one object larger than a block is accepted alone", () => {
    const directory = temporaryDirectory()
    using archive = opened(directory)
    const { writer } = archive
    const object = `{"data":"${"abcdefgh".repeat(400_000)}"}`
    const event = { action: "applied", number: 1, time: START, version: 1, object } as const
    writer.append("watcher/Pod", 1, 1, encodeFrame({ gvk: POD, newObjects: [1], events: [event] }))
    writer.append("watcher/Pod", 1, 2, applied(POD, [1], 1))
    expect(writer.commit()).toMatchObject({ blocks: 1, events: 2 })
    expect(read(directory)[0]).toMatchObject({ object })
  })

  test("what an earlier process left unsealed is continued", () => {
    let directory: string
    {
      using crashed = opened(temporaryDirectory(), { limits: { blockBytes: 2000 } })
      crashed.writer.append("watcher/Pod", 1, 1, applied(POD, [1, 2]))
      crashed.writer.commit()
      crashed.writer.append("watcher/Pod", 1, 2, applied(POD, [1, 2], 2))
      crashed.writer.commit()
      directory = asIfCrashed(crashed.writer.directory)
    }
    using archive = opened(directory, { limits: { blockBytes: 2000 } })
    archive.writer.append("watcher/Pod", 1, 3, applied(POD, [1, 2, 3, 4, 5, 6], 2))
    expect(archive.writer.commit().blocks).toBe(1)
    expect(rows(directory, "SELECT sealed, first_sequence, last_sequence FROM block")).toEqual([
      { sealed: 1, first_sequence: 1, last_sequence: 10 },
    ])
    expect(read(directory)).toHaveLength(10)
  })

  test("events that go back in time get the time of the last one of their kind", () => {
    const directory = temporaryDirectory()
    using archive = opened(directory)
    const { writer } = archive
    const at = (time: number, number: number) =>
      ({ action: "applied", number, time, version: time, object: "{}" }) as const
    writer.append("a", 1, 1, encodeFrame({ gvk: POD, newObjects: [1], events: [at(START + 10, 1)] }))
    writer.append("a", 1, 2, encodeFrame({ gvk: POD, events: [at(START + 4, 1), at(START + 12, 1)] }))
    writer.append("b", 1, 1, encodeFrame({ gvk: NODE, newObjects: [1], events: [at(START + 5, 1)] }))
    writer.commit()
    expect(read(directory).map(({ time, sequence }) => [time - START, sequence])).toEqual([
      [5, 4],
      [10, 1],
      [10, 2],
      [12, 3],
    ])
  })
})

describe("a disk that is full", () => {
  test("fails the commit with its name, loses nothing, and the commit succeeds once there is room", () => {
    const directory = temporaryDirectory()
    {
      using archive = opened(directory, { maximumBytes: 200_000, limits: { blockBytes: 50_000 } })
      const { writer } = archive
      let taken = 0
      let failed: unknown
      while (failed === undefined) {
        writer.append("watcher/Pod", 1, ++taken, noise(taken))
        try {
          writer.commit()
        } catch (error) {
          failed = error
        }
      }
      expect(failed).toBeInstanceOf(DiskFullError)
      expect((failed as DiskFullError).message).toContain("Free some space")
      const durable = writer.cut()
      expect(durable).toBe(taken - 1)
      expect(read(directory)).toHaveLength(durable)
      expect(writer.pendingBytes).toBeGreaterThan(0)
      // More arrives meanwhile, and the disk is still full.
      writer.append("watcher/Pod", 1, ++taken, noise(taken))
      expect(() => writer.commit()).toThrow(DiskFullError)
      const room = new DatabaseSync(join(directory, DATABASE_FILE))
      room.exec("DELETE FROM block WHERE last_sequence <= 20")
      room.close()
      const result = writer.commit()
      expect(result).toMatchObject({ events: 2, cut: taken })
      expect(result.acknowledgements).toEqual([{ sender: "watcher/Pod", incarnation: 1, number: taken }])
      const blocks = rows(directory, "SELECT first_sequence, last_sequence FROM block ORDER BY last_sequence")
      expect(blocks.at(-1)).toMatchObject({ last_sequence: taken })
    }
  })
})

/** A frame of one event that does not compress. */
const noise = (version: number): Buffer => {
  let state = version * 2654435761
  const object = Array.from({ length: 6000 }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return String.fromCharCode(33 + (state >>> 24) / 3)
  }).join("")
  const event = { action: "applied", number: 1, time: START + version, version, object } as const
  return encodeFrame({ gvk: POD, newObjects: version === 1 ? [1] : [], events: [event] })
}

describe("opening", () => {
  test.each([
    [FORMAT_VERSION + 1, NewerRecordingError, "Upgrade kubereel, or record into another --data-dir"],
    [FORMAT_VERSION - 1, OlderRecordingError, "a build before the first release. Record into another --data-dir"],
    [1, OlderRecordingError, "a build before the first release. Record into another --data-dir"],
  ])("a recording of format %i is refused, whoever opens it, and is not modified", (format, expected, advice) => {
    const directory = temporaryDirectory()
    opened(directory)[Symbol.dispose]()
    const path = join(directory, DATABASE_FILE)
    const database = new DatabaseSync(path)
    database.exec(`PRAGMA user_version = ${format}`)
    database.close()
    const before = readFileSync(path)
    const target = join(temporaryDirectory(), "copy")
    for (const open of [
      () => ArchiveWriter.open(directory),
      () => openOrBegin(directory),
      () => ArchiveReader.open(directory),
      () => readRecordingInfo(directory, START),
      () => verifyRecording(directory),
      () => salvageRecording(directory, target),
    ]) {
      expect(open).toThrow(expected)
      expect(open).toThrow(`has format ${format}; this version reads only format ${FORMAT_VERSION}. `)
      expect(open).toThrow(advice)
    }
    expect(readFileSync(path)).toEqual(before)
    expect(existsSync(join(target, DATABASE_FILE))).toBe(false)
  })

  test("rejects another program's database", () => {
    const directory = temporaryDirectory()
    const database = new DatabaseSync(join(directory, DATABASE_FILE))
    database.exec("CREATE TABLE accounts (name TEXT)")
    database.close()
    expect(() => ArchiveWriter.open(directory)).toThrow(NotARecordingError)
    expect(() => ArchiveReader.open(directory)).toThrow(NotARecordingError)
  })

  test("rejects a text file with the recording's name, and does not call it damaged", () => {
    const directory = temporaryDirectory()
    writeFileSync(join(directory, DATABASE_FILE), "Notes about a recording.\n".repeat(200))
    for (const archive of [ArchiveWriter, ArchiveReader]) {
      expect(() => archive.open(directory)).toThrow(/contains no recording: recording\.db is not a database/)
    }
  })

  test("reports a directory without a recording", () => {
    const directory = temporaryDirectory()
    expect(() => ArchiveReader.open(directory)).toThrow(/contains no recording: it is empty/)
    writeFileSync(join(directory, "notes"), "")
    expect(() => ArchiveReader.open(directory)).toThrow(/contains no recording: there is no recording.db/)
    expect(() => ArchiveReader.open(join(directory, "notes"))).toThrow(/contains no recording: it is not a directory/)
    expect(() => ArchiveReader.open(join(directory, "no", "such"))).toThrow(/there is no such directory/)
  })

  test("releases the directory if it fails", () => {
    const directory = temporaryDirectory()
    const database = new DatabaseSync(join(directory, DATABASE_FILE))
    database.exec("PRAGMA user_version = 77; CREATE TABLE t (a)")
    database.close()
    expect(() => ArchiveWriter.open(directory)).toThrow(NotARecordingError)
    expect(() => ArchiveWriter.open(directory)).toThrow(NotARecordingError)
  })

  test("reports a block whose row is damaged as a gap", () => {
    const directory = temporaryDirectory()
    {
      using archive = opened(directory)
      archive.writer.append("watcher/Pod", 1, 1, applied(POD, [1, 2]))
    }
    const database = new DatabaseSync(join(directory, DATABASE_FILE))
    database.function("row_checksum", { deterministic: true, varargs: true }, () => 0)
    database.exec("UPDATE block SET data = zeroblob(100)")
    database.close()
    expect(read(directory)).toMatchObject([
      { type: "gap", gvk: POD, reason: "damaged", fromTime: START, toTime: START + 1 },
    ])
  })
})

describe("a gap that is recorded outside of frames", () => {
  test("is known from then on, also before its commit and after a restart, and no other is", () => {
    const directory = temporaryDirectory()
    const gap = gapAt(START + 50)
    {
      using archive = opened(directory)
      expect(archive.writer.hasGap(POD, gap)).toBe(false)
      archive.writer.recordGap(POD, gap)
      expect(archive.writer.hasGap(POD, gap)).toBe(true)
      archive.writer.commit()
      expect(archive.writer.hasGap(POD, gap)).toBe(true)
    }
    using archive = opened(directory)
    expect(archive.writer.hasGap(POD, gap)).toBe(true)
    expect(archive.writer.hasGap(NODE, gap)).toBe(false)
    expect(archive.writer.hasGap(POD, gapAt(START + 51))).toBe(false)
    expect(archive.writer.hasGap(POD, { ...gap, toVersion: "another" })).toBe(false)
  })
})

describe("closing", () => {
  test("commits and seals what was gathered and leaves no log behind", () => {
    const directory = temporaryDirectory()
    {
      using archive = opened(directory)
      archive.writer.append("watcher/Pod", 1, 1, applied(POD, [1, 2]))
      archive.writer.recordGap(POD, gapAt(START + 50))
    }
    expect(rows(directory, "SELECT sealed, last_sequence FROM block")).toEqual([{ sealed: 1, last_sequence: 2 }])
    expect(read(directory)).toHaveLength(3)
  })

  test("seals parts that were committed before, also when nothing else is pending", () => {
    const directory = temporaryDirectory()
    {
      using archive = opened(directory)
      archive.writer.append("watcher/Pod", 1, 1, applied(POD, [1]))
      archive.writer.commit()
      archive.writer.append("watcher/Pod", 1, 2, applied(POD, [1], 1))
      archive.writer.commit()
    }
    expect(rows(directory, "SELECT sealed, first_sequence, last_sequence FROM block")).toEqual([
      { sealed: 1, first_sequence: 1, last_sequence: 2 },
    ])
  })

  test("may be repeated, and a sync may end after it", async () => {
    const directory = temporaryDirectory()
    const writer = ArchiveWriter.open(directory)
    await writer.sync()
    writer.append("watcher/Pod", 1, 1, applied(POD, [1]))
    writer.commit()
    const synced = writer.sync()
    writer.close()
    writer.close()
    await synced
    await writer.sync()
    expect(read(directory)).toHaveLength(1)
  })

  test("with fsync always every commit is synced on its own", async () => {
    const directory = temporaryDirectory()
    using archive = opened(directory, { fsync: "always" })
    archive.writer.append("watcher/Pod", 1, 1, applied(POD, [1]))
    archive.writer.commit()
    await archive.writer.sync()
    expect(read(directory)).toHaveLength(1)
  })
})
