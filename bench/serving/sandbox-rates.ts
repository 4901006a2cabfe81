/** One round of scenario *sandbox*: the rate of writes, and of events to watchers. */
import { BenchServer, BenchWatchers, BenchWriters } from "./sandbox-server.ts"
import { objectCount, type WrittenKind, watchPath } from "./sandbox-writes.ts"

export const watcherCount = 10
/** Clients that write over HTTP. */
export const writerCount = 16
/** Writes without a socket between two turns of the event loop; about what 16 clients cause in one. */
const perTurn = 16

/** The cost of a number of writes. */
export interface Rate {
  readonly writes: number
  /** Until the last write was answered, or the last watcher had the last event. */
  readonly seconds: number
  /** Of the server's process. */
  readonly cpuSeconds: number
}

export interface RoundRates {
  readonly local: Rate
  readonly localWatched: Rate
  readonly localDeployments: Rate
  readonly http: Rate
  readonly httpWatched: Rate
  readonly httpDeployments: Rate
  /** The empty server's responses are as long as the sandbox's to a patch of a ConfigMap. */
  readonly emptyHttp: Rate
}

/** `writes` are measured of each; before that as many are made unmeasured, so that V8 has compiled what is hot. */
export const measureRound = async (writes: number, profileDirectory?: string): Promise<RoundRates> => {
  const local = await measureLocal(writes, profileDirectory)
  const { answerBytes, ...http } = await measureHttp(writes, profileDirectory)
  return { ...local, ...http, emptyHttp: await measureEmpty(writes, answerBytes) }
}

const measured = async (server: BenchServer, writes: number, write: () => Promise<unknown>): Promise<Rate> => {
  const cpu = server.cpuSeconds
  const start = performance.now()
  await write()
  const seconds = (performance.now() - start) / 1000
  return { writes, seconds, cpuSeconds: server.cpuSeconds - cpu }
}

const measureLocal = async (
  writes: number,
  profileDirectory?: string,
): Promise<Pick<RoundRates, "local" | "localWatched" | "localDeployments">> => {
  await using server = await BenchServer.start({ server: "sandbox" }, profileDirectory)
  const patch = (kind: WrittenKind, count = writes) => server.perform({ patch: kind, count, perTurn })
  await server.perform({ create: "ConfigMap" })
  await patch("ConfigMap")
  const local = await measured(server, writes, () => patch("ConfigMap"))
  const localWatched = await whileWatched(server, writes, () => patch("ConfigMap"))
  await server.perform({ create: "Deployment" })
  await patch("Deployment", writes / 2)
  const localDeployments = await measured(server, writes / 2, () => patch("Deployment", writes / 2))
  return { local, localWatched, localDeployments }
}

const measureHttp = async (
  writes: number,
  profileDirectory?: string,
): Promise<Pick<RoundRates, "http" | "httpWatched" | "httpDeployments"> & { readonly answerBytes: number }> => {
  await using server = await BenchServer.start({ server: "sandbox" }, profileDirectory)
  await server.perform({ create: "ConfigMap" })
  await using writers = await BenchWriters.start(server, "ConfigMap", writerCount)
  const answerBytes = await writers.write(writes)
  const http = await measured(server, writes, () => writers.write(writes))
  const httpWatched = await whileWatched(server, writes, () => writers.write(writes))
  await server.perform({ create: "Deployment" })
  await using others = await BenchWriters.start(server, "Deployment", writerCount)
  await others.write(writes / 2)
  const httpDeployments = await measured(server, writes / 2, () => others.write(writes / 2))
  return { answerBytes, http, httpWatched, httpDeployments }
}

const measureEmpty = async (writes: number, answerBytes: number): Promise<Rate> => {
  await using server = await BenchServer.start({ server: "empty", answerBytes })
  await using writers = await BenchWriters.start(server, "ConfigMap", writerCount)
  await writers.write(writes)
  return await measured(server, writes, () => writers.write(writes))
}

/** Until every watcher has every event of the writes. Its watchers exist only for this measurement. */
const whileWatched = async (server: BenchServer, writes: number, write: () => Promise<unknown>): Promise<Rate> => {
  await using watchers = await BenchWatchers.start(server, watchPath("ConfigMap"), watcherCount)
  return await measured(server, writes, () => Promise.all([watchers.taken(objectCount + writes), write()]))
}
