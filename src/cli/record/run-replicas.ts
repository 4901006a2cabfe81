/**
 * `reel record --replicas-lease`: one of several replicas, each of which runs `reel record --shard K/N` for its part of the shards.
 *
 * Its HTTP interface has health and metrics only: what is recorded is read from the streams.
 */
import { hostname } from "node:os"
import { join } from "node:path"
import { openStore, readStorePlace } from "../../blob/index.ts"
import { systemClock } from "../../clock.ts"
import { fixShards, isStreamError, ShardsRefused } from "../../fleet/index.ts"
import { ApiClient, electionIdentity, loadCredentials, pause } from "../../kube/index.ts"
import { messageOf } from "../../message-of.ts"
import { formatMetrics, type LeaseSettings } from "../../recorder/index.ts"
import { Replica, shardLease, shardMetrics, startShardProcess } from "../../replicas/index.ts"
import { type ExitCode, exitCodes } from "../command-line/exit-codes.ts"
import type { ListenAddress } from "../command-line/listen-option.ts"
import { type Condition, serveHost } from "../command-line/listening-server.ts"
import { readVersion } from "../command-line/version.ts"
import { interruption, type Terminal } from "../terminal/terminal.ts"
import type { RecordOutput } from "./run-recorder.ts"

/** What a replica needs of the options of `reel record`; the rest is for the recorders of its shards. */
export interface ReplicaOptions {
  readonly lease: LeaseSettings
  /** `undefined`: POD_NAME, or the host's name. */
  readonly replicaName: string | undefined
  /** `undefined`: as many as the address has. */
  readonly shards: number | undefined
  /** As given. */
  readonly split: ReadonlyArray<string>
  readonly archiveTo: string
  readonly dataDir: string
  readonly listen: ListenAddress
  readonly kubeconfig: string | undefined
  readonly context: string | undefined
}

/** Options that only the replica itself reads. */
const ownOptions = ["--replicas-lease", "--replica-name", "--shards"]

/** The words for the recorder of a shard: those of the replica without its own options. Of an option that is given twice, the last value counts. */
export const shardWords = (
  argv: ReadonlyArray<string>,
  { lease, dataDir }: Pick<ReplicaOptions, "lease" | "dataDir">,
  { shard, shards }: { readonly shard: number; readonly shards: number },
): ReadonlyArray<string> => [
  "record",
  ...argv.filter(
    (word, at) => !ownOptions.some((own) => word === own || word.startsWith(`${own}=`) || argv[at - 1] === own),
  ),
  `--shard=${shard}/${shards}`,
  `--lease=${lease.namespace}/${shardLease(lease.name, shard)}`,
  `--data-dir=${join(dataDir, `shard-${shard}`)}`,
  "--listen=127.0.0.1:0",
]

/** A line of a shard's log that says whose it is. */
const markedLine = (shard: number, line: string, isJson: boolean): string =>
  isJson && line.startsWith("{") && line.endsWith("}")
    ? `${line.slice(0, -1)},"shard":${shard}}\n`
    : `shard-${shard}: ${line}\n`

/** ms that a recorder on this machine has to answer. */
const answerMs = 2000

const retryMs = 5000

/** Runs until it is stopped, or cannot go on. */
export const runReplicas = async (
  options: ReplicaOptions,
  argv: ReadonlyArray<string>,
  terminal: Terminal,
  {
    log,
    write,
    logFormat,
  }: Pick<RecordOutput, "log"> & { readonly write: (line: string) => void; readonly logFormat: string },
): Promise<ExitCode> => {
  const { lease, listen } = options
  using stop = interruption(terminal)
  const server = await loadCredentials({ kubeconfig: options.kubeconfig, context: options.context })
  let replica: Replica | undefined
  await using _interface = await serveHost(listen, {
    conditions: () => (replica === undefined ? [unfixed] : conditionsOf(replica)),
    metrics: async () => (replica === undefined ? "" : metricsOf(replica)),
  })
  log.info(`listening on ${_interface.url}`, { paths: "/healthz /readyz /metrics" })
  const shards = await fixedShards(options, log, stop.signal)
  if (shards === undefined) return exitCodes.ok
  const api = new ApiClient({ server, userAgent: `kubereel/${readVersion()}`, deadlineMs: lease.durationMs / 3 })
  replica = new Replica({
    ...{ lease, shards, api, clock: systemClock, random: Math.random, log },
    name: options.replicaName ?? (terminal.environment.POD_NAME || hostname().toLowerCase()),
    identity: electionIdentity(),
    start: (shard, sharing, listener) =>
      startShardProcess(shardWords(argv, options, { shard, shards }), sharing, listener),
    line: (shard, text) => write(markedLine(shard, text, logFormat === "json")),
  })
  const running = replica
  const onHangUp = (): void => running.signal("SIGHUP")
  process.on("SIGHUP", onHangUp)
  try {
    running.start()
    const failure = await Promise.race([running.failed, stop.happened])
    if (failure === undefined) log.info("shutting down; send the signal again to exit at once")
    using again = interruption(terminal)
    void again.happened.then(() => process.exit(exitCodes.interrupted))
    await running.close()
    return failure === undefined ? exitCodes.ok : failure === "usage" ? exitCodes.usage : exitCodes.leaseLost
  } finally {
    process.off("SIGHUP", onHangUp)
    api.close()
  }
}

/** Tries for ever while the store is away: nothing can be recorded before. `undefined`: it was stopped. */
const fixedShards = async (
  { archiveTo, shards, split }: ReplicaOptions,
  log: RecordOutput["log"],
  stop: AbortSignal,
): Promise<number | undefined> => {
  const reading = readStorePlace(archiveTo)
  // The option was read in the same way.
  if (reading.tag === "refused") throw new Error(reading.reason)
  using store = await openStore(reading.place)
  while (!stop.aborted) {
    try {
      return await fixShards(store, { shards, split })
    } catch (error) {
      if (error instanceof ShardsRefused || isStreamError(error)) throw error
      log.warn(`nothing is recorded: ${messageOf(error)}. Trying again`)
      await pause(systemClock, retryMs, stop)
    }
  }
  return undefined
}

const unfixed: Condition = { name: "shards", isMet: false, detail: "the store has not said how many there are" }

const askShard = async (port: number | undefined, path: string) => {
  if (port === undefined) return undefined
  try {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, { signal: AbortSignal.timeout(answerMs) })
    return { isOk: response.ok, text: await response.text() }
  } catch {
    // It is ending, or too busy: said as "no answer".
    return undefined
  }
}

/** Ready is who records, and who stands by for a replica that still does. */
const conditionsOf = async (replica: Replica): Promise<ReadonlyArray<Condition>> => {
  const { notMember } = replica
  const shards = replica.shards().map(async ({ shard, port }): Promise<Condition> => {
    const said = await askShard(port, "/readyz")
    const isMet = said?.isOk === true || said?.text.startsWith("standby; ") === true
    return { name: `shard-${shard}`, isMet, detail: said?.text.trimEnd() ?? "no answer" }
  })
  return [
    { name: "replicas", isMet: notMember === undefined, detail: notMember ?? "known" },
    ...(await Promise.all(shards)),
  ]
}

const metricsOf = async (replica: Replica): Promise<string> => {
  const texts = replica.shards().map(async ({ shard, port }) => {
    const said = await askShard(port, "/metrics")
    return said?.isOk === true ? [{ shard, text: said.text }] : []
  })
  return formatMetrics(replica.metrics()) + shardMetrics((await Promise.all(texts)).flat())
}
