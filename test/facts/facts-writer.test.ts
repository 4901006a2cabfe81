/** Facts of streams: each change once, each file once, whoever is killed. */
import { cpSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { basename, join } from "node:path"
import { expect, test } from "vitest"
import {
  ArchiveWriter,
  DATABASE_FILE,
  DeltaReader,
  LiveChanges,
  QueriedRecording,
  TENURE_KEY,
} from "../../src/archive/index.ts"
import { makeFacts as factsMade } from "../../src/facts/index.ts"
import { encodeTenure } from "../../src/fleet/index.ts"
import { encodeFrame, START } from "../archive/sample-frames.ts"
import { damage, recordSample, sample } from "../archive/sample-recording.ts"
import { description, firstTenure, ship } from "../fleet/shipping-recorder.ts"
import { temporaryDirectory } from "../harness/temporary-directory.ts"
import { core, event, header } from "../trace/views/items.ts"
import { askFacts, directoryStore, filesIn, makeFacts, recordingOf, streamOf } from "./made-facts.ts"

/** Sequence, type and name of everything that a recording has. */
const changesOf = (directory: string): ReadonlyArray<object> => {
  const recording = QueriedRecording.open(directory)
  try {
    return [...new LiveChanges(recording, { after: 0, withBefore: false }).toCut()].flatMap((item) =>
      item === undefined || !("event" in item)
        ? []
        : [{ sequence: item.event.sequence, operation: item.type, gvk: item.event.gvk, name: item.event.name }],
    )
  } finally {
    recording.close()
  }
}

const rowsOf = "SELECT sequence, operation, gvk, name FROM changes ORDER BY sequence"

test("facts are the changes of a recording, each once, in files of its segments", async () => {
  const directory = sample()
  const bucket = await streamOf(directory, 20_000)
  const changes = changesOf(directory)
  expect(await makeFacts(bucket, directory)).toBe(changes.length)
  expect(await askFacts(bucket, rowsOf)).toEqual(changes)
  expect(filesIn(bucket).size).toBeGreaterThan(3)
  expect(await askFacts(bucket, "SELECT DISTINCT cluster, cluster_uid FROM changes")).toEqual([
    { cluster: "prod", cluster_uid: "cluster-1" },
  ])
})

test("what is there is not made again, and what is missing at the end has the same bytes", async () => {
  const directory = sample()
  const bucket = await streamOf(directory, 20_000)
  await makeFacts(bucket, directory)
  const files = filesIn(bucket)
  const last = [...files.keys()].at(-1) ?? ""
  // The last segment is looked at again: it may have lacked a day.
  expect(await makeFacts(bucket, directory)).toBeLessThan(changesOf(directory).length / 2)
  rmSync(join(bucket, "facts", last))
  await makeFacts(bucket, directory)
  expect(filesIn(bucket)).toEqual(files)
})

test("a process that ends after any file is continued by the next one", async () => {
  const directory = sample()
  const whole = await streamOf(directory, 20_000)
  await makeFacts(whole, directory)
  const bucket = await streamOf(directory, 20_000)
  for (let rounds = 0; filesIn(bucket).size < filesIn(whole).size; rounds++) {
    let left = 2
    await makeFacts(bucket, directory, {
      target: (store) => ({
        list: (...given) => store.list(...given),
        read: (...given) => store.read(...given),
        create: (key, ...given) =>
          key.endsWith(".stream") || left-- > 0 ? store.create(key, ...given) : Promise.reject(new Error("killed")),
      }),
    }).catch(() => undefined)
    expect(rounds).toBeLessThan(filesIn(whole).size)
  }
  expect(filesIn(bucket)).toEqual(filesIn(whole))
})

test("a segment that spans midnight has a file of each day", async () => {
  const directory = await recordingOf([
    header(-60, 60, { kinds: ["v1.ConfigMap"], clusterUid: "cluster-1" }),
    event("applied", -2, core("ConfigMap", { name: "a", uid: "a", resourceVersion: "1" })),
    event("applied", 1.000001, core("ConfigMap", { name: "b", uid: "b", resourceVersion: "2" })),
    event("deleted", 3, core("ConfigMap", { name: "a", uid: "a", resourceVersion: "3" })),
  ])
  const bucket = await streamOf(directory)
  await makeFacts(bucket, directory)
  expect([...filesIn(bucket).keys()]).toEqual([
    expect.stringMatching(/^cluster=prod\/day=2025-11-20\/000000000001-0{10}\d\d\.c25\.parquet$/),
    expect.stringMatching(/^cluster=prod\/day=2025-11-21\/000000000001-0{10}\d\d\.c25\.parquet$/),
  ])
  const times = "SELECT day, time, name, operation FROM changes ORDER BY time"
  expect(await askFacts(bucket, times)).toEqual([
    { day: "2025-11-20", time: "2025-11-20T23:59:58Z", name: "a", operation: "appeared" },
    { day: "2025-11-21", time: "2025-11-21T00:00:01.000001Z", name: "b", operation: "appeared" },
    { day: "2025-11-21", time: "2025-11-21T00:00:03Z", name: "a", operation: "deleted" },
  ])
  const from = Date.UTC(2025, 10, 21) * 1000
  expect(await askFacts(bucket, "SELECT name FROM changes ORDER BY time", { from })).toEqual([
    { name: "b" },
    { name: "a" },
  ])
  expect(await askFacts(bucket, times, { to: from - 1 })).toHaveLength(1)
})

test("parts of a recorder that was taken over before its whole segment do not count", async () => {
  const directory = sample()
  const bucket = temporaryDirectory()
  const store = await directoryStore(bucket)
  const [one, other] = [new DeltaReader(directory), new DeltaReader(directory)]
  const { last } = await ship(store, one, firstTenure, { maximumBytes: 20_000, most: 2 })
  await ship(store, other, { ...firstTenure, last, epoch: 2, owner: "owner-2" }, { maximumBytes: 20_000 })
  one.close()
  other.close()
  store.close()
  await makeFacts(bucket, directory)
  expect(await askFacts(bucket, rowsOf)).toEqual(changesOf(directory))
  expect([...filesIn(bucket).keys()][0]).toMatch(/000000000003-\d{12}\.c25\.parquet$/)
})

/** Leaves of a stream what is left of its first segments when they are compacted, and the replaced ones removed. */
const compact = (bucket: string, through: number): void => {
  mkdirSync(join(bucket, "manifest"), { recursive: true })
  const name = `${String(through).padStart(12, "0")}.json`
  writeFileSync(join(bucket, "manifest", name), JSON.stringify({ compactedThrough: through }))
  for (let number = 1; number <= through; number++)
    rmSync(join(bucket, "segments", `${String(number).padStart(12, "0")}.segment`), { force: true })
}

test("segments that were compacted before facts were made of them count as one", async () => {
  const directory = sample()
  const bucket = await streamOf(directory, 5_000)
  compact(bucket, 3)
  await makeFacts(bucket, directory, {
    // Ends after the file of segment 5.
    target: (store) => ({
      list: (...given) => store.list(...given),
      read: (...given) => store.read(...given),
      create: (key, ...rest) =>
        key.includes("/000000000006-") ? Promise.reject(new Error("killed")) : store.create(key, ...rest),
    }),
  }).catch(() => undefined)
  compact(bucket, 8)
  await makeFacts(bucket, directory)
  expect(await askFacts(bucket, rowsOf)).toEqual(changesOf(directory))
  expect(
    [...filesIn(bucket).keys()].map((name) => Number(/(\d+)-\d+\.c25\.parquet$/.exec(name)?.[1])).slice(0, 4),
  ).toEqual([3, 4, 5, 8])
})

/** Makes facts until so many files were created, and is killed. */
const killedAfter = (files: number, bucket: string, directory: string): Promise<unknown> => {
  let left = files
  return makeFacts(bucket, directory, {
    target: (store) => ({
      list: (...given) => store.list(...given),
      read: (...given) => store.read(...given),
      create: (key, ...given) =>
        key.endsWith(".stream") || left-- > 0 ? store.create(key, ...given) : Promise.reject(new Error("killed")),
    }),
  }).catch((error: unknown) => expect(error).toEqual(new Error("killed")))
}

/** Segments of a recording and its stream; the clock of each jumps to the next day and back. */
const days = async (): Promise<{ readonly directory: string; readonly bucket: string; readonly segments: number }> => {
  const [directory, bucket, segments] = [temporaryDirectory(), temporaryDirectory(), 7]
  const store = await directoryStore(bucket)
  const [writer, reader] = [recordSample(directory, 5), new DeltaReader(directory)]
  let tenure = await ship(store, reader, firstTenure)
  for (let frame = 1, number = 2; number <= segments; number++) {
    for (const day of [number, number + 1, number]) {
      const version = String(9000 + frame)
      const object = JSON.stringify({ metadata: { name: "object-1" }, data: { version } })
      const time = START + day * 86_400e6 + frame
      const events = [{ action: "applied" as const, number: 1, time, version, object }]
      writer.append("watcher/days", 1, frame++, encodeFrame({ gvk: "v1.ConfigMap", events, completeThrough: version }))
    }
    writer.commit()
    tenure = await ship(store, reader, tenure)
  }
  reader.close()
  writer.close()
  store.close()
  return { directory, bucket, segments }
}

test.each([
  ["are compacted already", 0],
  ["are compacted meanwhile", 2],
])("no day of compacted segments is lost or doubled where a process ends, if further ones %s", async (_, more) => {
  const { directory, bucket, segments } = await days()
  for (let files = 0; files < 12; files++) {
    const copy = temporaryDirectory()
    cpSync(bucket, copy, { recursive: true })
    compact(copy, segments - 1 - more)
    await killedAfter(files, copy, directory)
    compact(copy, segments - 1)
    await makeFacts(copy, directory)
    expect(await askFacts(copy, rowsOf)).toEqual(changesOf(directory))
  }
})

test("the last file is found, also behind folders of days to come", async () => {
  const directory = sample()
  const bucket = await streamOf(directory, 5_000)
  await killedAfter(5, bucket, directory)
  const names = [...filesIn(bucket).keys()]
  for (const [index, day] of ["2090-01-05", "2090-01-06"].entries()) {
    const folder = join(bucket, "facts/cluster=prod", `day=${day}`)
    mkdirSync(folder)
    renameSync(join(bucket, "facts", names[index] ?? ""), join(folder, basename(names[index] ?? "")))
  }
  compact(bucket, 8)
  await makeFacts(bucket, directory)
  expect(await askFacts(bucket, rowsOf)).toEqual(changesOf(directory))
})

test("a directory of another cluster, or that lacks the beginning, is refused with what helps", async () => {
  const directory = sample()
  const bucket = await streamOf(directory)
  const another = await recordingOf([header(0, 60, { clusterUid: "cluster-2" })])
  await expect(makeFacts(bucket, another)).rejects.toThrow(
    /has no recording of .* Make a directory of the stream with reel restore/,
  )
  await expect(makeFacts(temporaryDirectory(), directory)).rejects.toThrow("contains no stream")
})

test("a directory that lacks the last segments has facts up to them", async () => {
  const directory = sample(60)
  const bucket = await streamOf(sample(120), 20_000)
  await makeFacts(bucket, directory)
  const found = await askFacts(bucket, "SELECT max(sequence) AS last FROM changes")
  expect(Number(found[0]?.last)).toBeLessThan(200)
})

test("a directory from which another recorder has taken the stream over is refused", async () => {
  const { directory, bucket } = await days()
  const tenure = (epoch: number): void => {
    const writer = ArchiveWriter.open(directory)
    writer.metadata.set(
      TENURE_KEY,
      encodeTenure({ stream: description.stream, owner: `owner-${epoch}`, epoch, intents: [] }),
    )
    writer.close()
  }
  tenure(0)
  await expect(makeFacts(bucket, directory)).rejects.toThrow(/another one has taken .* over/)
  expect(filesIn(bucket).size).toBe(0)
  tenure(1)
  await makeFacts(bucket, directory)
  expect(await askFacts(bucket, rowsOf)).toEqual(changesOf(directory))
})

test("a database that takes the place of the one that is open is read", async () => {
  const { directory, bucket } = await days()
  const [store, other] = [await directoryStore(bucket), sample(5)]
  const lacking = join(other, DATABASE_FILE)
  const passes = factsMade({ stream: store, target: store, directory: other, cluster: "prod" })
  await passes.next()
  cpSync(join(directory, DATABASE_FILE), `${lacking}-new`)
  renameSync(`${lacking}-new`, lacking)
  await passes.next()
  await passes.return()
  store.close()
  expect(await askFacts(bucket, rowsOf)).toEqual(changesOf(directory))
})

test("the facts of another stream are not taken for those of this one", async () => {
  const directory = sample()
  const bucket = await streamOf(directory)
  await makeFacts(bucket, directory)
  writeFileSync(join(bucket, "facts/cluster=prod/.stream"), "another")
  await expect(makeFacts(bucket, directory)).rejects.toThrow(/facts of another stream .* with --cluster/)
})

test("damage is no reason to leave changes out", async () => {
  const directory = sample()
  const bucket = await streamOf(directory, 20_000)
  damage(
    directory,
    "UPDATE block SET data = zeroblob(length(data)) WHERE last_sequence = (SELECT max(last_sequence) FROM block WHERE sealed = 1)",
  )
  await expect(makeFacts(bucket, directory)).rejects.toThrow(/is damaged/)
})
