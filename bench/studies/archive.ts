/**
 * The cost of the recording on disk, and of the rejected alternatives.
 *
 * node bench/studies/archive.ts [events]
 *
 * Events are Deployment changes of 2.9 kB, 1,000 objects one after another, in frames of 64 KiB, with a commit for each MiB, as in the
 * store. CPU is the whole process (user + system). Run it on an idle machine; a table ends each section.
 *
 * Last measured (2026-11-21, 2 shared cores, Node 26.10), never on an idle machine. Load 10: append and commit 2.9 to 3.6 µs CPU an event,
 * zstd alone 1.9 of it; 100,000 events read in 0.6 to 1.0 s. Load 4: 3.3 µs and 1.6 µs; 0.3 to 0.35 s. Always 110 bytes an event on disk.
 * The first round, which warms up, is left out. The other tables are in docs/decisions/0003 and 0004.
 */

import { closeSync, fdatasyncSync, mkdtempSync, openSync, readdirSync, rmSync, statSync, writeSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { constants, zstdCompressSync, zstdDecompressSync } from "node:zlib"
import { pack } from "../../src/archive/blocks/block.ts"
import { ArchiveReader, ArchiveWriter } from "../../src/archive/index.ts"
import { FrameEvent, ObservationsBuilder, splitObservations } from "../../src/wire/index.ts"

const GVK = "apps/v1.Deployment"
const OBJECTS = 1000
const START = 1_763_700_000_000_000
const MIB = 1024 * 1024

interface Sample {
  readonly frames: ReadonlyArray<Buffer>
  readonly events: number
  readonly bytes: number
}

/** CPU and wall time of one piece of work. */
const measured = (work: () => void): { readonly cpuMicros: number; readonly wallMicros: number } => {
  const cpu = process.cpuUsage()
  const wall = process.hrtime.bigint()
  work()
  const { user, system } = process.cpuUsage(cpu)
  return { cpuMicros: user + system, wallMicros: Number(process.hrtime.bigint() - wall) / 1000 }
}

const round = (value: number, digits = 2): number => Number(value.toFixed(digits))

/** A Deployment as an API server sends it, status and managedFields included; what differs between objects and changes does. */
const deployment = (object: number, change: number, version: number): Buffer => {
  const hex = (seed: number): string => (Math.imul(seed, 2654435761) >>> 0).toString(16).padStart(8, "0")
  const name = `${["api", "worker", "web", "cache", "ingest"][object % 5]}-${hex(object)}`
  const moment = new Date(START / 1000 + change * 1000).toISOString().replace(/\.\d+/, "")
  const labels = {
    app: name,
    "app.kubernetes.io/name": name,
    tier: object % 2 === 0 ? "front" : "back",
    team: hex(object % 17),
  }
  const owns = (fields: ReadonlyArray<string>) => Object.fromEntries(fields.map((field) => [`f:${field}`, {}]))
  const managed = (manager: string, fieldsV1: object, more: object = {}) => ({
    manager,
    operation: "Update",
    apiVersion: "apps/v1",
    time: moment,
    fieldsType: "FieldsV1",
    fieldsV1,
    ...more,
  })
  const container = {
    name: "main",
    image: `registry.example.com/${name}:${hex(change).slice(0, 7)}`,
    ports: [{ containerPort: 8080, protocol: "TCP" }],
    env: [
      { name: "REVISION", value: hex(version) },
      { name: "DATABASE_URL", value: `postgres://db-${hex(object % 31)}.internal:5432/${name}` },
    ],
    resources: {
      limits: { cpu: "500m", memory: "256Mi" },
      requests: { cpu: `${50 + (object % 9) * 10}m`, memory: "128Mi" },
    },
    readinessProbe: { httpGet: { path: "/healthz", port: 8080, scheme: "HTTP" }, timeoutSeconds: 1, periodSeconds: 10 },
    terminationMessagePath: "/dev/termination-log",
    terminationMessagePolicy: "File",
    imagePullPolicy: "IfNotPresent",
  }
  const replicas = 1 + (change % 7)
  return Buffer.from(
    JSON.stringify({
      kind: "Deployment",
      apiVersion: "apps/v1",
      metadata: {
        name,
        namespace: `team-${object % 17}`,
        uid: `${hex(object)}-${hex(object + 7).slice(4)}-4${hex(object).slice(5)}-9abc-${hex(object + 1)}${hex(object).slice(4)}`,
        resourceVersion: String(version),
        generation: change + 1,
        creationTimestamp: "2026-01-01T00:00:00Z",
        labels,
        annotations: {
          "deployment.kubernetes.io/revision": String(1 + (change >> 2)),
          "example.com/change": hex(version),
        },
        managedFields: [
          managed("kubectl", {
            "f:metadata": { "f:labels": owns(Object.keys(labels)) },
            "f:spec": owns(["replicas", "selector", "template", "strategy"]),
          }),
          managed(
            "kube-controller-manager",
            { "f:status": owns(["replicas", "readyReplicas", "updatedReplicas", "observedGeneration", "conditions"]) },
            { subresource: "status" },
          ),
        ],
      },
      spec: {
        replicas,
        selector: { matchLabels: { app: name } },
        template: {
          metadata: { creationTimestamp: null, labels },
          spec: {
            containers: [container],
            restartPolicy: "Always",
            terminationGracePeriodSeconds: 30,
            dnsPolicy: "ClusterFirst",
            securityContext: {},
            schedulerName: "default-scheduler",
          },
        },
        strategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable: "25%", maxSurge: "25%" } },
        revisionHistoryLimit: 10,
        progressDeadlineSeconds: 600,
      },
      status: {
        observedGeneration: change + 1,
        replicas,
        updatedReplicas: replicas,
        readyReplicas: change % 2 === 0 ? replicas : replicas - 1,
        conditions: [
          {
            type: "Available",
            status: "True",
            lastUpdateTime: moment,
            lastTransitionTime: moment,
            reason: "MinimumReplicasAvailable",
            message: "Deployment has minimum availability.",
          },
          {
            type: "Progressing",
            status: "True",
            lastUpdateTime: moment,
            lastTransitionTime: moment,
            reason: "NewReplicaSetAvailable",
            message: `ReplicaSet "${name}-${hex(change)}" has successfully progressed.`,
          },
        ],
      },
    }),
  )
}

/** Frames of 64 KiB as a watcher builds them, in shared memory as the store meets them. */
const sampleFrames = (events: number): Sample => {
  const builder = new ObservationsBuilder(GVK)
  const event = new FrameEvent()
  const slab = Buffer.from(new SharedArrayBuffer(64 * 1024))
  const frames: Array<Buffer> = []
  const finish = (): void => {
    const used = slab.subarray(0, builder.finish())
    const frame = Buffer.from(new SharedArrayBuffer(used.length))
    used.copy(frame)
    frames.push(frame)
    builder.begin(slab, 0)
  }
  let bytes = 0
  builder.begin(slab, 0)
  for (let index = 0; index < events; index++) {
    const number = 1 + (index % OBJECTS)
    const bytesOfObject = deployment(number, Math.floor(index / OBJECTS), 100_000 + index)
    bytes += bytesOfObject.length
    const fingerprint = Math.imul(index + 1, 2654435761) >>> 0
    event.objectNumber = number
    event.timeMicros = START + index * 20
    event.version = 100_000 + index
    event.fingerprintLow = fingerprint
    event.fingerprintHigh = ~fingerprint >>> 0
    event.bytes = bytesOfObject
    event.end = bytesOfObject.length
    const write = (): boolean =>
      (index >= OBJECTS ||
        builder.addObject({ number, uid: `u-${number}`, namespace: "team", name: `deployment-${number}` })) &&
      builder.append(event)
    if (!write()) {
      finish()
      write()
    }
  }
  finish()
  return { frames, events, bytes }
}

const temporary = <Answer>(work: (directory: string) => Answer): Answer => {
  const directory = mkdtempSync(join(tmpdir(), "bench-archive-"))
  try {
    return work(directory)
  } finally {
    rmSync(directory, { recursive: true })
  }
}

const bytesIn = (directory: string): number =>
  readdirSync(directory).reduce((sum, file) => sum + statSync(join(directory, file)).size, 0)

/** Append and commit, then read everything back. */
const recordAndRead = (sample: Sample, commitBytes: number): Record<string, number | string> =>
  temporary((directory) => {
    const writer = ArchiveWriter.open(directory)
    let longest = 0
    const write = measured(() => {
      let number = 0
      for (const frame of sample.frames) {
        writer.append("watcher", 1, ++number, frame)
        if (writer.pendingBytes < commitBytes) continue
        const { wallMicros } = measured(() => writer.commit())
        longest = Math.max(longest, wallMicros)
      }
      writer.commit()
    })
    const start = measured(() => {
      for (const batch of writer.liveObjects(GVK)) if (batch.length === 0) throw new Error("an empty batch")
    })
    writer.close()
    const stored = bytesIn(directory)
    const reader = ArchiveReader.open(directory)
    let events = 0
    const before = process.memoryUsage.rss()
    const read = measured(() => {
      for (const event of reader.events()) if (event.type === "object") events += event.object.length > 0 ? 1 : 0
    })
    const growth = process.memoryUsage.rss() - before
    const until = START + sample.events * 10
    const snapshot = measured(() => {
      for (const event of reader.snapshotAt({ time: until })) if (event.time >= until) throw new Error("a later event")
    })
    reader.close()
    if (events !== sample.events) throw new Error(`${events} of ${sample.events} events came back`)
    return {
      "commit every": `${commitBytes / 1024} KiB`,
      "write: CPU µs/event": round(write.cpuMicros / sample.events),
      "wall µs/event": round(write.wallMicros / sample.events),
      "longest commit ms": round(longest / 1000, 1),
      "bytes/event on disk": round(stored / sample.events, 1),
      "live objects ms": round(start.wallMicros / 1000, 1),
      "read: ms per 100,000": round((read.wallMicros / sample.events) * 100, 0),
      "read: rss growth MB": round(growth / MIB, 0),
      "snapshot ms": round(snapshot.wallMicros / 1000, 0),
    }
  })

/** zstd levels and windows over blocks of 1 MiB. */
const compression = (sample: Sample): ReadonlyArray<Record<string, number | string>> => {
  const blocks: Array<Buffer> = []
  let gathered: Array<Uint8Array> = []
  let size = 0
  for (const frame of sample.frames) {
    const { payload } = splitObservations(frame)
    gathered.push(payload)
    size += payload.length
    if (size < MIB) continue
    blocks.push(Buffer.concat(gathered))
    gathered = []
    size = 0
  }
  const events = (blocks.length * MIB * sample.events) / sample.bytes
  const settings = [
    { level: -5 },
    { level: -1 },
    { level: 1 },
    { level: 1, windowLog: 17 },
    { level: 1, windowLog: 19 },
    { level: 1, windowLog: 21 },
    { level: 2 },
    { level: 3 },
  ]
  return settings.map(({ level, windowLog }: { level: number; windowLog?: number }) => {
    const params = {
      [constants.ZSTD_c_compressionLevel]: level,
      [constants.ZSTD_c_checksumFlag]: 1,
      ...(windowLog === undefined ? {} : { [constants.ZSTD_c_windowLog]: windowLog }),
    }
    let packed: Array<Uint8Array> = []
    const pack = measured(() => {
      packed = blocks.map((block) => zstdCompressSync(block, { params }))
    })
    const unpack = measured(() => {
      for (const block of packed) zstdDecompressSync(block, { chunkSize: 2 * MIB })
    })
    return {
      level,
      windowLog: windowLog ?? "default",
      "CPU µs/event": round(pack.cpuMicros / events),
      "bytes/event": round(packed.reduce((sum, block) => sum + block.length, 0) / events, 1),
      "unpack µs/event": round(unpack.cpuMicros / events),
    }
  })
}

/** Compressed blocks as BLOBs in the database, or appended to a file beside it that is synced before the log is. */
const placement = (sample: Sample): ReadonlyArray<Record<string, number | string>> => {
  const joined = Buffer.concat(sample.frames.slice(0, 400))
  const blob = Buffer.from(pack(joined.subarray(0, MIB)).bytes)
  const blocks = 1000
  return [blob, Buffer.concat([blob, blob, blob])].flatMap((data) =>
    (["BLOB", "segment file"] as const).map((place) =>
      temporary((directory) => {
        const database = new DatabaseSync(join(directory, "test.db"))
        database.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;
          CREATE TABLE block (last INTEGER PRIMARY KEY, position INTEGER, data BLOB);
          CREATE TABLE sender (name TEXT PRIMARY KEY, frame INTEGER) WITHOUT ROWID`)
        const insert = database.prepare("INSERT INTO block VALUES (?, ?, ?)")
        const acknowledge = database.prepare("INSERT OR REPLACE INTO sender VALUES ('watcher', ?)")
        const segment = openSync(join(directory, "segment"), "w")
        let position = 0
        let longest = 0
        const write = measured(() => {
          for (let block = 0; block < blocks; block++) {
            const { wallMicros } = measured(() => {
              database.exec("BEGIN IMMEDIATE")
              if (place === "segment file") writeSync(segment, data)
              insert.run(block, position, place === "BLOB" ? data : null)
              position += data.length
              acknowledge.run(block)
              database.exec("COMMIT")
            })
            longest = Math.max(longest, wallMicros)
            // Once a second at 100,000 events/s.
            if (place === "segment file" && block % 280 === 279) fdatasyncSync(segment)
          }
        })
        closeSync(segment)
        database.close()
        return {
          place,
          "bytes/block": data.length,
          "CPU µs/block": round(write.cpuMicros / blocks, 0),
          "CPU µs/event": round(write.cpuMicros / blocks / 360),
          "wall µs/block": round(write.wallMicros / blocks, 0),
          "longest ms": round(longest / 1000, 1),
        }
      }),
    ),
  )
}

/** An (object, block) row for each object a sealed block changes, against packed columns of live objects each 64 blocks. */
const objectBlockRows = (): ReadonlyArray<Record<string, number | string>> => {
  const blocks = 640
  const eventsPerBlock = 360
  return [1000, 20_000].flatMap((objects) => {
    const rows = temporary((directory) => {
      const database = new DatabaseSync(join(directory, "test.db"))
      database.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;
        CREATE TABLE object_block (kind INTEGER, number INTEGER, block INTEGER, PRIMARY KEY (kind, number, block)) WITHOUT ROWID`)
      const insert = database.prepare("INSERT INTO object_block VALUES (1, ?, ?)")
      const write = measured(() => {
        for (let block = 0; block < blocks; block++) {
          database.exec("BEGIN IMMEDIATE")
          for (let event = 0; event < eventsPerBlock; event++)
            insert.run((block * eventsPerBlock + event) % objects, block)
          database.exec("COMMIT")
        }
      })
      database.close()
      return { ...write, bytes: bytesIn(directory) }
    })
    const checkpoints = temporary((directory) => {
      const tiny = Buffer.from("{}")
      const slab = Buffer.from(new SharedArrayBuffer(64 * 1024))
      const builder = new ObservationsBuilder(GVK)
      const event = new FrameEvent()
      event.bytes = tiny
      event.end = tiny.length
      // Blocks of 360 events without the cost of their objects; the same recording without checkpoints is the base.
      const run = (target: string, blocksPerCheckpoint: number) => {
        const writer = ArchiveWriter.open(target, {
          limits: { blockBytes: eventsPerBlock * tiny.length, blocksPerCheckpoint },
        })
        const cost = measured(() => {
          for (let block = 0; block < blocks; block++) {
            builder.begin(slab, 0)
            for (let place = 0; place < eventsPerBlock; place++) {
              const index = block * eventsPerBlock + place
              const number = 1 + (index % objects)
              if (index < objects) builder.addObject({ number, uid: `u-${number}`, namespace: "", name: "n" })
              event.objectNumber = number
              event.timeMicros = START + index
              event.version = index
              event.fingerprintLow = Math.imul(index, 2654435761) >>> 0
              event.fingerprintHigh = index
              builder.append(event)
            }
            writer.append("watcher", 1, block + 1, slab.subarray(0, builder.finish()))
            writer.commit()
          }
        })
        writer.close()
        return { ...cost, bytes: bytesIn(target) }
      }
      const without = run(join(directory, "without"), Number.MAX_SAFE_INTEGER)
      const plain = run(join(directory, "plain"), 64)
      return { cpuMicros: plain.cpuMicros - without.cpuMicros, bytes: plain.bytes - without.bytes }
    })
    const events = blocks * eventsPerBlock
    const line = (way: string, { cpuMicros, bytes }: { cpuMicros: number; bytes: number }) => ({
      way,
      objects,
      "CPU µs/event": round(cpuMicros / events),
      "bytes/event on disk": round(bytes / events, 1),
    })
    return [line("(object, block) rows", rows), line("checkpoints each 64 blocks", checkpoints)]
  })
}

const events = Number(process.argv[2] ?? 100_000)
const sample = sampleFrames(events)
console.log(`${events} events of ${Math.round(sample.bytes / events)} bytes in ${sample.frames.length} frames`)
console.log("\nRecording and reading back (the first row warms up; on a busy machine the lowest figure counts)")
console.table([MIB, MIB, MIB, MIB, 64 * 1024].map((commitBytes) => recordAndRead(sample, commitBytes)))
console.log("\nCompression of blocks of 1 MiB")
console.table(compression(sample))
console.log("\nWhere blocks stand")
console.table(placement(sample))
console.log("\nWhere an object's last state is found")
console.table(objectBlockRows())
