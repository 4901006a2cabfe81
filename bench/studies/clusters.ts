/**
 * What questions about a thousand clusters cost.
 *
 *   node bench/studies/clusters.ts [clusters=1000] [directory] [versitygw]
 *
 * Makes a stream for each cluster below one prefix of a directory: 50 Deployments of 2.9 kB, and a day with 120 changes of them, 24 of which change an image, sent in six
 * segments; every fourth stream is compacted, and all have facts. Sixteen are recorded, sent and described by the programs' own code, the others are copies of these. A
 * directory that an earlier run has filled is taken as it is. Then it asks how the streams are, and who changed images yesterday, before and after the facts of each cluster are joined, of the directory and of versitygw in front
 * of it, if its path is given (test/cluster/targets/servers prints it): requests, bytes, seconds and CPU. Before, it makes a stream of 500 segments and, once it is compacted, its
 * facts, and says how many bytes a change takes there. An answer that is not what was made ends it with 1.
 *
 * Last measured (2026-11-30, 2 cores with a load of 10, Node 26.10). 1,000 streams in a directory: status 2.8 s, 1.0 s CPU, 2,252 reads and 2,002 lists; images by SQL of 6,000 files
 * 20.5 s, 4.9 s CPU, 1,001 lists; copied 21.5 s, 9.1 s CPU, 6,000 reads of 25.3 MB; from the cache 19.1 s, 8.4 s CPU; of a tenth 2.2 s, 1.3 s CPU. Joined into 1,000 files, 27.8 s, 13.8 s CPU,
 * 5.5 MB: 1.7 s, 0.9 s CPU; copied 9.8 s, 3.5 s CPU; from the cache 9.9 s, 2.9 s CPU; of a tenth 1.0 s, 0.4 s CPU. 20 streams: a row of facts takes 150 bytes, 20 in a file. A stream of
 * 500 segments: 157.1 bytes a change as it was sent, 29.6 compacted, 6.9 in facts that were made then.
 */
import { cpSync, existsSync, globSync, mkdirSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { ArchiveWriter, DeltaReader, fromTheBeginning } from "../../src/archive/index.ts"
import { type BlobStore, inParallel, openStore } from "../../src/blob/index.ts"
import { copyFacts, factsIn, joinFacts, makeFacts, openFacts } from "../../src/facts/index.ts"
import {
  beginStream,
  compactStream,
  encodeSegment,
  readStreamStatus,
  STREAMS_AT_ONCE,
  type StoredSegment,
  segmentKey,
  storeBelow,
  streamsBelow,
} from "../../src/fleet/index.ts"
import { APPLIED, FrameEvent, ObservationsBuilder } from "../../src/wire/index.ts"
import { s3Environment } from "../../test/blob/s3-environment.ts"
import { freePort, startServer } from "../../test/blob/server-process.ts"
import { deployments, gvkOf } from "../load/bench-kinds.ts"
import { objectText } from "../load/bench-objects.ts"
import { firstVersion, ObjectTemplate } from "../load/object-template.ts"

const objects = 50
/** As many as come in 20 s if one comes each second. */
const segmentChanges = 20
const daySegments = 6
const changes = daySegments * segmentChanges
/** Every change of each fifth Deployment. */
const imageEvery = 5
const dayMicros = 86_400_000_000
const yesterday = (Math.floor(Date.now() / 86_400_000) - 1) * dayMicros

/** Clusters that are recorded. */
const different = 16
/** Of the stream whose bytes are measured: those of three hours. */
const manySegments = 500
const copying = { recursive: true, preserveTimestamps: true }

const clusters = Number(process.argv[2] ?? 1000)
const directory = process.argv[3] ?? mkdtempSync(join(tmpdir(), "bench-clusters-"))
const bucket = join(directory, "recordings")
mkdirSync(bucket, { recursive: true })

const localStore = (key = "") => openStore({ provider: "file", host: undefined, region: undefined, bucket, key })

const nameOf = (cluster: number): string => `cluster-${String(cluster).padStart(4, "0")}`

const template = new ObjectTemplate(objectText(deployments, 0))

/** A Deployment after so many changes. */
const objectAfter = (number: number, change: number): Buffer => {
  const bytes = Buffer.alloc(template.bytes.length)
  template.copyTo(bytes, 0, number, firstVersion + change)
  const object = JSON.parse(bytes.toString())
  object.spec.replicas = 1 + (change % 7)
  object.spec.template.spec.containers[0].image = `registry.example.com/web:${number % imageEvery === 0 ? change : 0}`
  return Buffer.from(JSON.stringify(object))
}

/** Writes frames as a watcher does, with a commit for each. */
class Recorder {
  readonly writer: ArchiveWriter
  readonly #builder = new ObservationsBuilder(gvkOf(deployments))
  readonly #slab = Buffer.alloc(1024 * 1024)
  readonly #event = new FrameEvent()
  #frames = 0

  readonly #stepMicros: number

  constructor(place: string, stepMicros: number) {
    this.#stepMicros = stepMicros
    this.writer = ArchiveWriter.open(place, { now: () => yesterday })
  }

  /** Changes from one to another; those before the first are the objects' first states. */
  write(from: number, until: number): void {
    this.#builder.begin(this.#slab, 0)
    for (let change = from; change < until; change++) {
      const number = 1 + ((change + objects) % objects)
      const bytes = objectAfter(number, Math.max(0, change))
      if (change < 0) {
        const { uid, name } = JSON.parse(bytes.toString()).metadata
        this.#builder.addObject({ number, uid, namespace: "shop", name })
      }
      const timeMicros = change < 0 ? yesterday - 60_000_000 : yesterday + Math.floor(change * this.#stepMicros)
      const version = BigInt(firstVersion + objects + change)
      const fingerprint = { fingerprintLow: Math.imul(change + 99, 2654435761) >>> 0, fingerprintHigh: number }
      Object.assign(this.#event, { action: APPLIED, objectNumber: number, timeMicros, version, ...fingerprint })
      Object.assign(this.#event, { bytes, end: bytes.length })
      if (!this.#builder.append(this.#event)) throw new Error("the frame is full")
    }
    this.#builder.completeThrough(String(firstVersion + objects + until))
    this.writer.append("watcher/bench", 1, ++this.#frames, Buffer.from(this.#slab.subarray(0, this.#builder.finish())))
    this.writer.commit()
  }
}

/** Bytes of segments, of facts, and of what compaction put in the place of the segments. */
interface Sizes {
  readonly sent: number
  readonly facts: number
  readonly compacted: number
}

/** Records a cluster for a day, and sends, describes and compacts it as archivist, `reel fleet facts` and `reel fleet compact` do. */
const makeCluster = async (name: string, segments: number, isCompacted: boolean): Promise<Sizes> => {
  const [store, target] = [await localStore(name), await localStore()]
  const place = join(directory, `made-${name}`)
  const recorder = new Recorder(place, dayMicros / (segments * segmentChanges))
  const [stream, clusterUid] = [`stream-${name}`, `uid-${name}`]
  recorder.writer.metadata.set("clusterUid", clusterUid)
  const reader = new DeltaReader(place)
  try {
    await beginStream(store, { stream, clusterUid })
    let [last, position]: [StoredSegment | undefined, typeof fromTheBeginning] = [undefined, fromTheBeginning]
    recorder.write(-objects, 0)
    for (let number = 1; number <= segments; number++) {
      recorder.write((number - 1) * segmentChanges, number * segmentChanges)
      const previous: string = last?.sha256 ?? ""
      const {
        parts,
        rows: _,
        ...segment
      } = encodeSegment(reader, position, {
        ...{ stream, clusterUid, number, epoch: 1, owner: "bench", previous },
      })
      await store.create(segmentKey(number), parts)
      last = segment
      position = segment.facts.position
    }
    const sent = store.usage().write.bytes
    const describe = async (): Promise<void> => {
      for await (const pass of makeFacts({ stream: store, target, directory: place, cluster: name }))
        if (pass.segments === 0) break
    }
    if (segments === daySegments) await describe()
    const once = { graceMs: 0, nowMicros: () => Date.now() * 1000, randomId: () => "bench" }
    const compacted = isCompacted ? await compactStream(store, { temporaryDirectory: directory, ...once }) : undefined
    if (segments !== daySegments) await describe()
    return { sent, facts: target.usage().write.bytes, compacted: compacted?.writtenBytes ?? 0 }
  } finally {
    reader.close()
    recorder.writer.close()
    store.close()
    target.close()
    rmSync(place, { recursive: true })
  }
}

/** What a piece of work took: with the store's requests, if it has one. */
const measured = async <Answer>(what: string, work: () => Promise<Answer>, store?: BlobStore): Promise<Answer> => {
  const [before, cpu, from] = [store?.usage(), process.cpuUsage(), performance.now()]
  const answer = await work()
  const { user, system } = process.cpuUsage(cpu)
  const line = [`${((performance.now() - from) / 1000).toFixed(2)} s, ${((user + system) / 1e6).toFixed(2)} s CPU`]
  for (const [access, { requests, bytes }] of Object.entries(store?.usage() ?? {})) {
    const { requests: known = 0, bytes: had = 0 } =
      Object.entries(before ?? {}).find(([each]) => each === access)?.[1] ?? {}
    if (requests > known) line.push(`${requests - known} ${access} requests, ${((bytes - had) / 1e6).toFixed(1)} MB`)
  }
  console.log(`${what}: ${line.join("; ")}`)
  return answer
}

const expectSame = (what: string, found: number, made: number): void => {
  if (found === made) return
  console.error(`${what}: ${found} instead of ${made}`)
  process.exitCode = 1
}

const howTheyAre = async (store: BlobStore): Promise<number> => {
  const prefixes = await streamsBelow(store)
  let found = 0
  await inParallel(prefixes, STREAMS_AT_ONCE, async (prefix) => {
    const { segments: sent, compacted } = await readStreamStatus(storeBelow(store, prefix))
    if (sent + compacted > 0) found++
  })
  return found
}

const imageChanges = `SELECT cluster, count(*) AS changes FROM changes
  WHERE operation = 'changed' AND len(list_filter(changed, lambda path: path LIKE '%.image')) > 0 GROUP BY cluster`

/** As `reel sql` does it: files of an object store are copied through a cache, those of a directory are asked where they are. */
const whoChangedImages = async (store: BlobStore, cacheDirectory: string, most: number): Promise<number> => {
  const named = Array.from({ length: most }, (_, cluster) => nameOf(cluster))
  const range = { from: yesterday, to: yesterday + dayMicros - 1, clusters: most === clusters ? [] : named }
  const own = mkdtempSync(join(directory, "question-"))
  const copies = { directory: own, cacheDirectory, maximumBytes: 4e9, onTrouble: console.error }
  try {
    const objects = await factsIn(store, range)
    const there = globSync(`facts/cluster=*/day=${new Date(yesterday / 1000).toISOString().slice(0, 10)}/*`, {
      cwd: bucket,
    })
    expectSame("files of the day", objects.length, (there.length * most) / clusters)
    const isLocal = cacheDirectory === ""
    const files = isLocal ? objects.map(({ key }) => join(bucket, key)) : await copyFacts(store, objects, copies)
    const database = await openFacts(files, range)
    const { rows } = await database.ask(imageChanges)
    let found = 0
    for await (const some of rows) for (const [, count] of some) found += Number(count)
    database.close()
    return found
  } finally {
    rmSync(own, { recursive: true })
  }
}

const askEverything = async (where: string, store: BlobStore): Promise<void> => {
  expectSame("streams", await measured(`${where}, status`, () => howTheyAre(store), store), clusters)
  await askFacts(where, store)
  const joining = { nowMicros: Date.now() * 1000 }
  const { files, days } = await measured(`${where}, facts joined`, () => joinFacts(store, joining), store)
  if (days > 0) await askFacts(`${where}, ${files} files joined into ${days}`, store)
}

const askFacts = async (where: string, store: BlobStore): Promise<void> => {
  const cacheDirectory = mkdtempSync(join(directory, "cache-"))
  for (const [how, cache, most] of [
    ["where they are", "", clusters],
    ["copied", cacheDirectory, clusters],
    ["from the cache", cacheDirectory, clusters],
    ["of a tenth of the clusters, from the cache", cacheDirectory, clusters / 10],
  ] as const) {
    const ask = () => whoChangedImages(store, cache, most)
    const found = await measured(`${where}, images by SQL, facts ${how}`, ask, store)
    expectSame("changed images", found, (changes / imageEvery) * most)
  }
  rmSync(cacheDirectory, { recursive: true })
}

/** With the directory's folders as buckets. */
const askThroughGateway = async (versitygw: string): Promise<void> => {
  const port = await freePort()
  const words = ["--access", "some", "--secret", "secret", "--port", `127.0.0.1:${port}`, "--region", "us-east-1"]
  const server = await startServer(versitygw, [...words, "posix", directory], /./)
  Object.assign(process.env, s3Environment(`http://127.0.0.1:${port}`))
  const store = await openStore({ provider: "s3", host: undefined, region: undefined, bucket: "recordings", key: "" })
  try {
    await askEverything("versitygw", store)
  } finally {
    store.close()
    await server.stop()
  }
}

const store = await localStore()
try {
  if (!existsSync(join(bucket, nameOf(clusters - 1), "stream.json"))) {
    const made = Array.from({ length: Math.min(clusters, different) }, (_, cluster) => cluster)
    const make = (cluster: number) => makeCluster(nameOf(cluster), daySegments, cluster % 4 === 0)
    await measured(`${made.length} streams made`, () => inParallel(made, 4, make))
    for (let cluster = different; cluster < clusters; cluster++)
      for (const folder of ["", "facts/cluster="])
        cpSync(join(bucket, folder + nameOf(cluster % different)), join(bucket, folder + nameOf(cluster)), copying)
  }
  const sizes = await measured(`a stream of ${manySegments} segments made`, () =>
    makeCluster("many", manySegments, true),
  )
  for (const folder of ["", "facts/cluster="]) rmSync(join(bucket, `${folder}many`), { recursive: true })
  for (const [what, bytes] of Object.entries(sizes))
    console.log(`${what}: ${(bytes / (objects + manySegments * segmentChanges)).toFixed(1)} bytes a change`)
  await askEverything("directory", store)
  if (process.argv[4] !== undefined) await askThroughGateway(process.argv[4])
} finally {
  store.close()
  if (process.argv[3] === undefined) rmSync(directory, { recursive: true })
}
