/**
 * What it takes to compact a year of changes, and to ask about it.
 *
 *   node bench/studies/year.ts make|compact|ask DIRECTORY [events=2000000] [objects=100000] [bytes of a compacted object]
 *
 * `make` archives the changes of Deployments of 2.9 kB, each once in a round and each round in another order, in segments of 2,000 changes. `compact` does what
 * `reel fleet compact` does, and says the largest memory. `ask` makes a mirror, and asks it for the history of one object, which must be the changes that were made, and for the states of one
 * namespace, each twice. If the objects with `-rows` in their names are removed before, it reads the ranges themselves.
 *
 * Last measured (2026-11-30, once, 2 cores with a load of 30, Node 26.10), 160,000 changes of 20,000 objects in 80 segments, compacted objects of 1 MB: compact 2.0 s CPU, 5.4 MB in 6 objects
 * and 0.07 MB of rows, at most 180 MB of memory. A new mirror: 4 reads, 0.14 MB, 0.7 s CPU; without the rows 15 reads, 2.95 MB. 1.85 MB on disk. History of one object: 5.2 MB of blocks, 0.6 s CPU, warm
 * 0.2 s; states of a namespace after it 0.03 MB, 0.3 s CPU. Two million changes of 100,000 objects were not measured.
 */
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs"
import { join } from "node:path"
import {
  ArchiveWriter,
  changeSteps,
  DeltaReader,
  fromTheBeginning,
  QueriedRecording,
  stateSteps,
} from "../../src/archive/index.ts"
import { openStore } from "../../src/blob/index.ts"
import {
  beginStream,
  compactStream,
  encodeSegment,
  Mirror,
  type StoredSegment,
  segmentKey,
} from "../../src/fleet/index.ts"
import { APPLIED, FrameEvent, ObservationsBuilder } from "../../src/wire/index.ts"
import { deployments, gvkOf } from "../load/bench-kinds.ts"
import { objectText } from "../load/bench-objects.ts"
import { firstVersion, ObjectTemplate } from "../load/object-template.ts"

const [, , what = "", directory = "", ...sizes] = process.argv
const [events = 2_000_000, objects = 100_000, partBytes] = sizes.map(Number)

const bucket = join(directory, "stream")
mkdirSync(bucket, { recursive: true })
const store = await openStore({ provider: "file", host: undefined, region: undefined, bucket, key: "" })
const gvk = gvkOf(deployments)
const from = Date.UTC(2026, 0, 1) * 1000
const yearMicros = 365 * 86_400_000_000
const segmentChanges = 2000
const template = new ObjectTemplate(objectText(deployments, 0))

/** Each object once in a round, in an order that is another one in each. Objects are numbered as they are first seen. */
const objectOf = (change: number): number => {
  const [round, place] = [Math.floor(change / objects), change % objects]
  return 1 + (round === 0 ? place : (place * 7919 + round * 104_729) % objects)
}

const measured = async <Answer>(name: string, work: () => Promise<Answer>): Promise<Answer> => {
  const [before, cpu, start] = [store.usage(), process.cpuUsage(), performance.now()]
  const answer = await work()
  const { user, system } = process.cpuUsage(cpu)
  const line = [`${((performance.now() - start) / 1000).toFixed(2)} s, ${((user + system) / 1e6).toFixed(2)} s CPU`]
  for (const access of ["read", "list", "write"] as const) {
    const { requests, bytes } = store.usage()[access]
    if (requests > before[access].requests)
      line.push(
        `${requests - before[access].requests} ${access} requests, ${((bytes - before[access].bytes) / 1e6).toFixed(2)} MB`,
      )
  }
  console.log(`${name}: ${line.join("; ")}; VmHWM ${Math.round(process.resourceUsage().maxRSS / 1024)} MB`)
  return answer
}

const make = async (): Promise<void> => {
  const place = join(directory, "recorder")
  const writer = ArchiveWriter.open(place, { now: () => from })
  const [builder, slab, event] = [new ObservationsBuilder(gvk), Buffer.alloc(8 * 1024 * 1024), new FrameEvent()]
  writer.metadata.set("clusterUid", "uid")
  await beginStream(store, { stream: "year", clusterUid: "uid" })
  const reader = new DeltaReader(place)
  let [last, position, frames]: [StoredSegment | undefined, typeof fromTheBeginning, number] = [
    undefined,
    fromTheBeginning,
    0,
  ]
  const bytes = Buffer.alloc(template.bytes.length)
  for (let change = 0; change < events; ) {
    const end = Math.min(events, change + segmentChanges)
    builder.begin(slab, 0)
    for (; change < end; change++) {
      const number = objectOf(change)
      template.copyTo(bytes, 0, number, firstVersion + change)
      if (change < objects) {
        const { uid, name } = JSON.parse(bytes.toString()).metadata
        builder.addObject({ number, uid, namespace: `team-${number % 1000}`, name })
      }
      const time = from + Math.floor((change / events) * yearMicros)
      const fingerprint = { fingerprintLow: Math.imul(change + 99, 2654435761) >>> 0, fingerprintHigh: number }
      Object.assign(event, {
        action: APPLIED,
        objectNumber: number,
        timeMicros: time,
        version: BigInt(firstVersion + change),
        ...fingerprint,
        bytes,
        end: bytes.length,
      })
      if (!builder.append(event)) throw new Error("the frame is full")
    }
    builder.completeThrough(String(firstVersion + change))
    writer.append("watcher/bench", 1, ++frames, Buffer.from(slab.subarray(0, builder.finish())))
    writer.commit()
    for (let isWhole = false; !isWhole; ) {
      const identity = {
        stream: "year",
        clusterUid: "uid",
        number: (last?.facts.number ?? 0) + 1,
        epoch: 1,
        owner: "bench",
        previous: last?.sha256 ?? "",
      }
      const { parts, rows: _, ...segment } = encodeSegment(reader, position, identity)
      await store.create(segmentKey(segment.facts.number), parts)
      last = segment
      position = segment.facts.position
      isWhole = segment.facts.isWhole
    }
  }
  reader.close()
  writer.close()
  rmSync(place, { recursive: true })
}

/** Bytes of all files below a directory. */
const bytesIn = (place: string): number =>
  readdirSync(place, { recursive: true, withFileTypes: true }).reduce(
    (sum, file) => sum + (file.isFile() ? statSync(join(file.parentPath, file.name)).size : 0),
    0,
  )

const ask = async (): Promise<void> => {
  const number = 1 + (objects >> 1)
  template.copyTo(template.bytes, 0, number, firstVersion)
  const { name } = JSON.parse(template.bytes.toString()).metadata
  let made = 0
  for (let change = 0; change < events; change++) if (objectOf(change) === number) made++
  const cache = { directory: mkdtempSync(join(directory, "cache-")), maximumBytes: 4e9 }
  const mirror = new Mirror(store, { cache })
  await measured("mirror", () => mirror.update())
  console.log(`mirror: ${(bytesIn(join(cache.directory, "mirrors")) / 1e6).toFixed(2)} MB on disk`)
  const recording = QueriedRecording.open(mirror.directory)
  for (const how of ["cold", "warm"]) {
    let [changes, states] = [0, 0]
    await measured(`history, ${how}`, async () => {
      for (const change of changeSteps(recording, { kinds: [gvk], name, from: 0 })) if (change !== undefined) changes++
    })
    console.log(
      `${changes} changes; ${(bytesIn(join(cache.directory, "ranges")) / 1e6).toFixed(2)} MB fetched of blocks`,
    )
    if (changes !== made) throw new Error(`${changes} changes instead of ${made}`)
    await measured(`state of a namespace, ${how}`, async () => {
      const question = { gvk, namespace: "team-17", time: from + yearMicros / 2 }
      for (const state of stateSteps(recording, question)) if (state !== undefined) states++
    })
    console.log(
      `${states} objects; ${(bytesIn(join(cache.directory, "ranges")) / 1e6).toFixed(2)} MB fetched of blocks`,
    )
  }
  recording.close()
  rmSync(cache.directory, { recursive: true })
}

const compact = async (): Promise<void> => {
  const options = { graceMs: 1e9, nowMicros: () => Date.now() * 1000, randomId: () => "bench" }
  const { removed: _, ...done } = await compactStream(store, {
    ...{ temporaryDirectory: directory, ...options },
    ...(partBytes !== undefined && { partBytes }),
  })
  console.log(done)
}

try {
  await measured(what, { make, compact, ask }[what as "make"])
} finally {
  store.close()
}
