/**
 * What archiving costs a recorder: `reel record` with and without `--archive-to`, in turn, at a steady pace of Deployment changes.
 *
 *   node scripts/build.ts && npx node bench/studies/archive-to.ts [--rounds=3] [--rate=5000] [--seconds=30] [--s3]
 *
 * The store is a directory, or with `--s3` the server versitygw (test/cluster/targets/servers), with `--archive-every` as by default. CPU is of the whole process from the
 * first change until everything is archived, or as long without archiving. Lag is from the moment a change was due until its object in the store was
 * complete. Bytes are of everything recorded, in the data directory and in the store. Ends with 1 if a target is missed.
 */
import { mkdirSync, readdirSync, rmSync, statSync } from "node:fs"
import { mkdtemp } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { parseArgs } from "node:util"
import { CreateBucketCommand, S3Client } from "@aws-sdk/client-s3"
import { s3Environment } from "../../test/blob/s3-environment.ts"
import { freePort, startServer } from "../../test/blob/server-process.ts"
import { buildServers } from "../../test/cluster/targets/programs.ts"
import { deployments, gvkOf } from "../load/bench-kinds.ts"
import { BenchCluster } from "../load/generator-process.ts"
import { ArchivedStream } from "../measuring/archived-stream.ts"
import { recordedChanges } from "../measuring/commit-watch.ts"
import { readCpuSeconds, readMemory, readThreads, threadTimes } from "../processes/process-watch.ts"
import { median, percentile } from "../report/statistics.ts"
import { startRecorder } from "../subjects/recorder-subject.ts"

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "3" },
    rate: { type: "string", default: "5000" },
    seconds: { type: "string", default: "30" },
    s3: { type: "boolean", default: false },
  },
})
const [rounds, rate, seconds] = [Number(values.rounds), Number(values.rate), Number(values.seconds)]
const warmUp = 30_000
/** Deployments of the generator. */
const listedObjects = 1000
const patienceMs = 120_000

/** Targets: CPU with archiving relative to that without, s of lag, and bytes in the store relative to those on disk. */
const targets = { cpu: 1.1, lagSeconds: 60, bytes: 1 } as const

interface Store extends AsyncDisposable {
  readonly address: string
  /** The same objects as files. */
  readonly files: string
}

const startStore = async (directory: string): Promise<Store> => {
  mkdirSync(join(directory, "traces"))
  const files = join(directory, "traces", "bench")
  if (!values.s3) {
    mkdirSync(files)
    return { address: files, files, [Symbol.asyncDispose]: async () => undefined }
  }
  const { versitygw } = await buildServers()
  rmSync(join(directory, "traces"), { recursive: true })
  const url = `http://127.0.0.1:${await freePort()}`
  const words = ["--port", url.slice(7), "--access", "kubereel", "--secret", "right-secret", "posix", directory]
  const server = await startServer(versitygw, words, /listening on:/)
  Object.assign(process.env, s3Environment(url, ["kubereel", "right-secret"]))
  const credentials = { accessKeyId: "kubereel", secretAccessKey: "right-secret" }
  const client = new S3Client({ endpoint: url, region: "us-east-1", forcePathStyle: true, credentials })
  await client.send(new CreateBucketCommand({ Bucket: "traces" }))
  client.destroy()
  return { address: "s3://traces/bench", files, [Symbol.asyncDispose]: () => server.stop() }
}

const bytesIn = (directory: string): number =>
  readdirSync(directory, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0)

interface Run {
  readonly cpuMicros: number
  readonly peakBytes: number
  readonly residentBytes: number
  readonly localBytes: number
  readonly storeBytes: number
  readonly lagsMs: ReadonlyArray<number>
}

/** `waitMs`: for what is not archived, after the last change. */
const measure = async (isArchived: boolean, waitMs: number): Promise<Run & { readonly waitedMs: number }> => {
  const directory = await mkdtemp(join(tmpdir(), "kubereel-archive-to-"))
  try {
    await using store = await startStore(directory)
    await using cluster = await BenchCluster.start()
    const more = isArchived ? ["--archive-to", store.address] : []
    await using recorder = await startRecorder(cluster, { kinds: [gvkOf(deployments)], more })
    // The objects of the list may be committed later than the kind is watched.
    while (((await recorder.metric("kubereel_store_sequence")) ?? 0) < listedObjects) await sleep(50)
    await recorder.listed(patienceMs)
    await cluster.change(warmUp, patienceMs)
    await recorder.taken(warmUp, patienceMs)
    const stream = new ArchivedStream(store.files)
    const untilArchived = async (number: number): Promise<void> => {
      const deadline = performance.now() + patienceMs
      while ((stream.last.get(gvkOf(deployments)) ?? 0) < number) {
        if (performance.now() > deadline) throw new Error(`${number} changes are not archived after ${patienceMs} ms`)
        await sleep(200)
        await stream.readOn()
      }
    }
    if (isArchived) await untilArchived(warmUp)
    const [cpu, threads] = [readCpuSeconds(recorder.pid), readThreads(recorder.pid)]
    const events = rate * seconds
    const beginMs = Date.now()
    const { lateMs } = await cluster.changeAtPace(events, rate, patienceMs + seconds * 1000)
    await recorder.taken(warmUp + events, patienceMs)
    const sentMs = performance.now()
    if (isArchived) await untilArchived(warmUp + events)
    else await sleep(waitMs)
    const waitedMs = performance.now() - sentMs
    const cpuMicros = ((readCpuSeconds(recorder.pid) - cpu) / events) * 1e6
    const byThread = new Map<string, number>()
    for (const { name, seconds: taken } of threadTimes(threads, readThreads(recorder.pid)))
      byThread.set(name, (byThread.get(name) ?? 0) + (taken / events) * 1e6)
    const { peak, resident } = readMemory(recorder.pid)
    await recorder.stop()
    const all = warmUp + events
    const lagsMs = isArchived
      ? recordedChanges(recorder.dataDirectory, gvkOf(deployments)).flatMap(({ sequence, number }) =>
          number > warmUp ? [stream.archivedMs(sequence) - beginMs - ((number - warmUp) * 1000) / rate] : [],
        )
      : []
    const localBytes = bytesIn(recorder.dataDirectory) / all
    const storeBytes = isArchived ? bytesIn(store.files) / all : 0
    console.log(
      `${isArchived ? "archived" : "not archived"}: ${cpuMicros.toFixed(2)} µs CPU an event, sent late by at most ${lateMs.toFixed(0)} ms, peak ${(peak / 1e6).toFixed(0)} MB` +
        (isArchived
          ? `, ${stream.segments.length} segments, lag p50 / p99 / longest ${[0.5, 0.99, 1].map((share) => (percentile(lagsMs, share) / 1000).toFixed(1)).join(" / ")} s, ${storeBytes.toFixed(1)} bytes an event in the store, ${localBytes.toFixed(1)} on disk`
          : ""),
    )
    const shown = [...byThread].filter(([, micros]) => micros >= 0.1).toSorted(([, one], [, other]) => other - one)
    console.log(`  of it ${shown.map(([name, micros]) => `${name} ${micros.toFixed(2)}`).join(", ")}`)
    return { cpuMicros, peakBytes: peak, residentBytes: resident, localBytes, storeBytes, lagsMs, waitedMs }
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

const [archived, plain]: [Run[], Run[]] = [[], []]
for (let round = 0; round < rounds; round++) {
  const run = await measure(true, 0)
  archived.push(run)
  plain.push(await measure(false, run.waitedMs))
}
const spread = (numbers: ReadonlyArray<number>, digits = 2): string =>
  `${median(numbers).toFixed(digits)} (${Math.min(...numbers).toFixed(digits)}–${Math.max(...numbers).toFixed(digits)})`
const ratios = archived.map(({ cpuMicros }, round) => cpuMicros / (plain[round]?.cpuMicros ?? Number.NaN))
const lagSeconds = archived.map(({ lagsMs }) => percentile(lagsMs, 0.99) / 1000)
const bytes = archived.map(({ storeBytes, localBytes }) => storeBytes / localBytes)
const megabytes = (runs: ReadonlyArray<Run>): string =>
  spread(
    runs.map(({ peakBytes }) => peakBytes / 1e6),
    0,
  )
console.log(
  `${rounds} rounds of ${rate} events/s for ${seconds} s, ${values.s3 ? "versitygw" : "a directory"}; median (smallest–largest):`,
)
console.log(
  `  CPU an event ${spread(archived.map(({ cpuMicros }) => cpuMicros))} µs, without ${spread(plain.map(({ cpuMicros }) => cpuMicros))}; ratio ${spread(ratios)}`,
)
console.log(`  lag p99 ${spread(lagSeconds, 1)} s`)
console.log(`  peak memory ${megabytes(archived)} MB, without ${megabytes(plain)}`)
console.log(`  bytes in the store ÷ on disk ${spread(bytes)}`)
const isMet =
  median(ratios) <= targets.cpu && Math.max(...lagSeconds) <= targets.lagSeconds && median(bytes) <= targets.bytes
console.log(isMet ? "all targets are met" : "a target is missed")
process.exit(isMet ? 0 : 1)
