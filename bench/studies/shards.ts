/**
 * Four replicas share a cluster (`reel record --replicas-lease`): one kind is split, six others belong to one shard each. Two replicas are killed with their recorders
 * at random moments, and replaced; the past that is read of all streams together must be what happened.
 *
 *   node scripts/build.ts && npx node bench/studies/shards.ts [filtering|plain …] [--rate=20000] [--seconds=30] [--kills=2] [--seed=N] [--profile=DIRECTORY]
 *
 * `filtering`: a server that sends each recorder its part of the split kind, and says so (`shardInfo`); `plain`: one that does not know parts. Default: both. The rate is
 * of all kinds together, two fifths of it of the split one. The first replica that is killed comes back under its name with its directory, the second one is
 * replaced by another one with an empty directory. Lag is from the moment a change was due until the object in the store was complete that has it. Memory is the peak
 * that the kernel saw, with files that are mapped. Ends with 1 if a change is missing, doubled or in the wrong order without a gap that says so.
 */
import { randomBytes } from "node:crypto"
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { mkdtemp } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"
import { ArchiveReader } from "../../src/archive/index.ts"
import { readStorePlace } from "../../src/blob/index.ts"
import { openMirror, shardsOf } from "../../src/fleet/index.ts"
import type { TraceEvent } from "../../src/trace/index.ts"
import { type BenchKind, deployments, furtherKinds, gvkOf, replicaSets } from "../load/bench-kinds.ts"
import { listVersion, nameDigits } from "../load/object-template.ts"
import { objectsOfKind, ShardCluster } from "../load/shard-cluster.ts"
import { ArchivedStream } from "../measuring/archived-stream.ts"
import { fieldOf, LineProcess } from "../processes/line-process.ts"
import { readCpuSeconds, readMemory } from "../processes/process-watch.ts"
import { percentile } from "../report/statistics.ts"
import { kubeconfigOf } from "../subjects/recorder-subject.ts"

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rate: { type: "string", default: "20000" },
    seconds: { type: "string", default: "30" },
    kills: { type: "string", default: "2" },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
    profile: { type: "string" },
  },
})
const [rate, seconds, kills] = [Number(values.rate), Number(values.seconds), Number(values.kills)]
const shards = 4
/** s; a recorder of a replica that is gone is followed by another one within the run. */
const leaseSeconds = 5
const archiveSeconds = 5
const warmUpSeconds = 5
const patienceMs = 180_000

let state = Number(values.seed)
/** In [0, 1). */
const random = (): number => {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
  return state / 2 ** 32
}

const others: ReadonlyArray<BenchKind> = [replicaSets, ...furtherKinds(5)]
const rates = new Map<BenchKind, number>([
  [deployments, rate * 0.4],
  ...others.map((kind): [BenchKind, number] => [kind, (rate * 0.6) / others.length]),
])
const reel = fileURLToPath(new URL("../../bin/reel.js", import.meta.url))

const until = async (what: string, condition: () => Promise<boolean> | boolean): Promise<void> => {
  const deadline = performance.now() + patienceMs
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`not within ${patienceMs / 1000} s: ${what}`)
    await sleep(200)
  }
}

interface Seen {
  /** `shard K` of a recorder; `replica` of its replica. */
  readonly role: string
  cpuSeconds: number
  peakBytes: number
}

/** All processes that ever were, each with its CPU time and memory when it was last seen. */
class Processes implements Disposable {
  readonly seen = new Map<number, Seen>()
  readonly replicas = new Set<LineProcess>()
  readonly #timer = setInterval(() => this.look(), 250)

  look(): void {
    for (const { pid, isOver } of this.replicas)
      for (const each of isOver ? [] : [pid, ...childrenOf(pid)]) this.#see(each, each === pid)
  }

  cpuSeconds(isOf: (role: string) => boolean): number {
    return [...this.seen.values()].reduce((sum, { role, cpuSeconds }) => sum + (isOf(role) ? cpuSeconds : 0), 0)
  }

  #see(pid: number, isReplica: boolean): void {
    try {
      const shard = /--shard=(\d+)/.exec(readFileSync(`/proc/${pid}/cmdline`, "latin1"))?.[1]
      const role = isReplica ? "replica" : `shard ${shard}`
      this.seen.set(pid, { role, cpuSeconds: readCpuSeconds(pid), peakBytes: readMemory(pid).peak })
    } catch {
      // It ends at this moment: what was seen of it last counts.
    }
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer)
  }
}

const childrenOf = (pid: number): ReadonlyArray<number> => {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ").filter(Boolean).map(Number)
  } catch {
    // It has just ended.
    return []
  }
}

const numberOf = (resourceVersion: string): number => Number(resourceVersion) - listVersion

/** Of several pasts one, by the time of their events. */
function* merged(pasts: ReadonlyArray<Iterator<TraceEvent>>): Generator<{ event: TraceEvent; shard: number }> {
  const heads = pasts.map((past) => past.next())
  for (;;) {
    let first = -1
    for (const [shard, head] of heads.entries())
      if (head.done !== true && (first < 0 || head.value.time < (heads[first]?.value?.time ?? 0))) first = shard
    const past = pasts[first]
    if (past === undefined) return
    yield { event: heads[first]?.value as TraceEvent, shard: first }
    heads[first] = past.next()
  }
}

interface Verdict {
  readonly changes: number
  readonly missing: number
  readonly doubled: number
  readonly disordered: number
  readonly relisted: number
  readonly gaps: ReadonlyArray<string>
  readonly lagsMs: ReadonlyArray<number>
  readonly ofShards: ReadonlyArray<number>
}

/** Reads the past of all shards and compares. `after`: by kind, the change after which lags count. */
const judge = async (
  cluster: ShardCluster,
  address: string,
  cache: string,
  streams: ReadonlyArray<ArchivedStream>,
  after: ReadonlyMap<string, number>,
): Promise<Verdict> => {
  const mirrors = await Promise.all(
    (await shardsOf(address)).map((shard) => {
      const reading = readStorePlace(shard)
      if (reading.tag === "refused") throw new Error(reading.reason)
      return openMirror(reading.place, { cache: { directory: cache, maximumBytes: 4e9 }, everyMs: 0 })
    }),
  )
  const readers = mirrors.map(({ directory }) => ArchiveReader.open(directory))
  const kinds = cluster.kinds.map(({ kind }) => gvkOf(kind))
  const times = new Map(cluster.kinds.map(({ kind, events }) => [gvkOf(kind), new Uint8Array(events + 1)]))
  const last = new Map(kinds.map((gvk) => [gvk, new Int32Array(objectsOfKind)]))
  const listed = new Map(kinds.map((gvk) => [gvk, new Set<string>()]))
  const [gaps, lagsMs, ofShards] = [[] as string[], [] as number[], new Array<number>(shards).fill(0)]
  let [changes, disordered, relisted] = [0, 0, 0]
  for (const { event, shard } of merged(readers.map((reader) => reader.events({ kinds })))) {
    if (event.type === "gap") {
      gaps.push(`${event.gvk}: ${event.reason}`)
      continue
    }
    const { gvk, name, uid } = event
    const number = numberOf(event.resourceVersion)
    if (number <= 0) {
      if (listed.get(gvk)?.has(uid)) relisted++
      listed.get(gvk)?.add(uid)
      continue
    }
    changes++
    ofShards[shard] = (ofShards[shard] ?? 0) + 1
    const index = (number - 1) % objectsOfKind
    const [counts, before] = [times.get(gvk), last.get(gvk)]
    if (counts === undefined || before === undefined) throw new Error(`${gvk} is not of the cluster`)
    if (
      number >= counts.length ||
      event.action !== "applied" ||
      name !== `web-${String(index).padStart(nameDigits, "0")}`
    )
      throw new Error(`${gvk} ${name}@${event.resourceVersion} ${event.action} never happened`)
    counts[number] = (counts[number] ?? 0) + 1
    if (number <= (before[index] ?? 0)) disordered++
    before[index] = number
    if (number <= (after.get(gvk) ?? 0)) continue
    lagsMs.push((streams[shard]?.archivedMs(event.sequence) ?? Number.NaN) - (cluster.kindOf(gvk)?.dueMs(number) ?? 0))
  }
  for (const reader of readers) reader.close()
  for (const mirror of mirrors) mirror.close()
  let [missing, doubled] = [0, 0]
  for (const counts of times.values())
    for (const count of counts.subarray(1)) {
      if (count === 0) missing++
      if (count > 1) doubled++
    }
  for (const seen of listed.values()) missing += objectsOfKind - seen.size
  return { changes, missing, doubled, disordered, relisted, gaps, lagsMs, ofShards }
}

const measure = async (filters: boolean): Promise<boolean> => {
  const directory = await mkdtemp(join(tmpdir(), "kubereel-shards-"))
  const address = join(directory, "streams")
  mkdirSync(address)
  const [config, kubeconfig, key] = [join(directory, "config"), join(directory, "kubeconfig"), join(directory, "key")]
  await using cluster = await ShardCluster.start({ rates, shards, filters })
  writeFileSync(
    config,
    JSON.stringify({ trackedObjects: Object.fromEntries(cluster.kinds.map(({ kind }) => [gvkOf(kind), {}])) }),
  )
  writeFileSync(kubeconfig, JSON.stringify(kubeconfigOf(cluster.url)))
  writeFileSync(key, randomBytes(32).toString("hex"))
  using processes = new Processes()
  const lines: string[] = []
  const streams = Array.from({ length: shards }, (_, shard) => new ArchivedStream(join(address, `shard-${shard}`)))
  const urls = new Map<LineProcess, string>()
  const start = async (name: string): Promise<LineProcess> => {
    const profile = values.profile === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${values.profile}`]
    const replica = new LineProcess({
      script: [
        ...[...profile, reel, "record", "--config", config, "--kubeconfig", kubeconfig, "--log-format", "json"],
        ...["--replicas-lease", "default/huge", "--replica-name", name, "--lease-duration", `${leaseSeconds}s`],
        ...["--shards", String(shards), "--split", "deployments.apps", "--archive-to", address],
        ...["--archive-every", `${archiveSeconds}s`, "--data-dir", join(directory, name), "--listen", "127.0.0.1:0"],
        ...["--redact-key-file", key],
      ],
      endsBy: "signal",
    })
    processes.replicas.add(replica)
    replica.listen((line) => {
      if (line.includes('"level":"warn"') || line.includes('"level":"error"')) lines.push(`${name}: ${line}`)
    })
    const url = await replica.hear("its address", 30_000, (line) =>
      fieldOf<string>("message")(line)
        ?.match(/^listening on (http:\S+)/)
        ?.at(1),
    )
    urls.set(replica, url)
    return replica
  }
  const isRecording = async (replica: LineProcess): Promise<boolean> =>
    (await fetch(`${urls.get(replica)}/readyz`)).ok && childrenOf(replica.pid).length > 0
  const replicas = new Map<string, LineProcess>()
  try {
    for (const name of ["a", "b", "c", "d"]) replicas.set(name, await start(name))
    const readAll = () => Promise.all(streams.map((stream) => stream.readOn()))
    await until("all replicas record", async () =>
      (await Promise.all([...replicas.values()].map(isRecording))).every(Boolean),
    )
    // Ready is also who stands by. What happened before a kind is listed is in no recording.
    await until("all kinds are watched", () =>
      cluster.kinds.every(({ kind, watches }) => watches >= (kind === deployments ? shards : 1)),
    )
    for (const each of cluster.kinds) each.order(warmUpSeconds)
    await until("the first changes are archived", async () => {
      await readAll()
      return streams.every(({ last }) => [...last.values()].some((number) => number > 0))
    })
    await sleep(warmUpSeconds * 1000)
    processes.look()
    const [isRecorder, isReplica] = [(role: string) => role !== "replica", (role: string) => role === "replica"]
    const before = [processes.cpuSeconds(isRecorder), processes.cpuSeconds(isReplica)] as const
    const [own, writes] = [process.cpuUsage(), cluster.writes]
    const after = new Map(cluster.kinds.map(({ kind, events }) => [gvkOf(kind), events]))
    const startMs = performance.now()
    for (const each of cluster.kinds) each.order(seconds)
    const moments = Array.from({ length: kills }, () => seconds * (0.1 + 0.7 * random())).toSorted((a, b) => a - b)
    for (const [index, moment] of moments.entries()) {
      await sleep(Math.max(0, moment * 1000 - (performance.now() - startMs)))
      const names = [...replicas].filter(([, { pid }]) => childrenOf(pid).length > 0).map(([name]) => name)
      const name = names[Math.floor(random() * names.length)] ?? "a"
      const victim = replicas.get(name)
      if (victim === undefined) continue
      processes.look()
      const orphans = childrenOf(victim.pid)
      victim.signal("SIGKILL")
      for (const pid of orphans) process.kill(pid, "SIGKILL")
      replicas.delete(name)
      const next = index % 2 === 0 ? name : `${name}${index}`
      console.log(
        `  ${((performance.now() - startMs) / 1000).toFixed(1)} s: ${name} is killed with ${orphans.length} recorders; ${next} starts`,
      )
      replicas.set(next, await start(next))
    }
    await sleep(Math.max(0, seconds * 1000 - (performance.now() - startMs)))
    await until("everything is sent", () => cluster.kinds.every(({ sender, events }) => sender.had === events))
    const sentSeconds = (performance.now() - startMs) / 1000
    await until("everything is archived", async () => {
      await readAll()
      return cluster.kinds.every((each) => {
        const found = streams.map(({ last }) => last.get(gvkOf(each.kind)) ?? 0)
        return each.kind === deployments
          ? found.every((number, shard) => number === each.lastOf(shard))
          : found.includes(each.events)
      })
    })
    const archivedSeconds = (performance.now() - startMs) / 1000
    processes.look()
    const cpu = [processes.cpuSeconds(isRecorder) - before[0], processes.cpuSeconds(isReplica) - before[1]] as const
    const { user, system } = process.cpuUsage(own)
    const written = cluster.writes - writes
    const events = cluster.kinds.reduce((sum, { kind, events: all }) => sum + all - (after.get(gvkOf(kind)) ?? 0), 0)
    await Promise.all([...replicas.values()].map((replica) => replica[Symbol.asyncDispose]()))
    await readAll()
    const verdict = await judge(cluster, address, join(directory, "cache"), streams, after)
    const lag = (share: number): string => (percentile(verdict.lagsMs, share) / 1000).toFixed(1)
    const peaks = [...processes.seen.values()].map(({ role, peakBytes }) => `${role} ${Math.round(peakBytes / 1e6)}`)
    const count = (number: number): string => Math.round(number).toLocaleString("en")
    console.log(
      `  ${count(events / sentSeconds)} events/s, ${count(written / archivedSeconds)} writes/s to all watches`,
    )
    console.log(`  sent late by at most ${count(Math.max(...cluster.kinds.map(({ lateMs }) => lateMs)))} ms on a watch`)
    console.log(`  all archived ${(archivedSeconds - sentSeconds).toFixed(1)} s after the last was sent`)
    console.log(`  lag p50 / p99 / longest: ${lag(0.5)} / ${lag(0.99)} / ${lag(1)} s`)
    console.log(
      `  CPU an event: recorders ${((cpu[0] / events) * 1e6).toFixed(2)} µs, replicas ${((cpu[1] / events) * 1e6).toFixed(2)} µs; ` +
        `the server ${((user + system) / written).toFixed(2)} µs a write, ${((user + system) / 1e4 / archivedSeconds).toFixed(0)} % of a core`,
    )
    console.log(`  peak memory, MB: ${peaks.toSorted().join(", ")}`)
    console.log(`  changes of each shard: ${verdict.ofShards.map(count).join(", ")}`)
    const { changes, missing, doubled, disordered, relisted, gaps } = verdict
    const isEqual = missing + doubled + disordered + relisted + gaps.length === 0
    const isHonest = doubled + disordered === 0 && (missing === 0 || gaps.length > 0)
    console.log(
      isEqual
        ? `  equal to the ledger: ${count(changes)} changes, each once and in order`
        : `  ${isHonest ? "not equal, and says so" : "UNEQUAL"}: ${missing} missing, ${doubled} doubled, ${disordered} out of order, ${relisted} listed again, gaps: ${gaps.join("; ") || "none"}`,
    )
    return isHonest
  } catch (error) {
    for (const { kind, events } of cluster.kinds)
      console.error(
        `${gvkOf(kind)}: ${events} changes; archived up to ${streams.map(({ last }) => last.get(gvkOf(kind)) ?? 0).join(", ")}`,
      )
    console.error(lines.slice(-30).join("\n"))
    throw error
  } finally {
    await Promise.all([...replicas.values()].map((replica) => replica[Symbol.asyncDispose]()))
    rmSync(directory, { recursive: true, force: true })
  }
}

// No replica survives a study that is ended early.
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(1))
for (const mode of positionals.length === 0 ? ["filtering", "plain"] : positionals) {
  console.log(`${mode}: ${rate.toLocaleString("en")} events/s for ${seconds} s, seed ${values.seed}`)
  if (!(await measure(mode === "filtering"))) process.exitCode = 1
}
process.exit()
