/**
 * The clusters below an address, for a page that shows one of them at a time: which there are and how each is doing, and the recording of each.
 *
 * Guarantee: a cluster is opened when it is first asked, at most {@link mostOpen} are open at once, and what is wrong with one is said of that one only. Of a
 * cluster in shards each shard is one by itself: what an object owns may be in another one, and the page shows one tree.
 */

import { existsSync, statSync } from "node:fs"
import type { IncomingMessage, ServerResponse } from "node:http"
import { join } from "node:path"
import { DATABASE_FILE } from "../../archive/index.ts"
import { inParallel, readStorePlace, TargetError } from "../../blob/index.ts"
import { cachePlace, isStream, readStreamStatus, STREAMS_AT_ONCE } from "../../fleet/index.ts"
import { messageOf } from "../../message-of.ts"
import { isForeignPage, json, refuse } from "../../recorder/index.ts"
import { quoted, visible } from "../../text/index.ts"
import { type Cluster, chosenOf, clustersBelow } from "../fleet/clusters.ts"
import { opened } from "../fleet/opened-store.ts"
import { ofDirectory, openPast } from "../past/past-places.ts"
import { PastOnDemand } from "./past-on-demand.ts"

type Surroundings = Parameters<typeof openPast>[1]

/** Each has files and threads of its own: the one that is looked at, and those that it is compared with. */
const mostOpen = 3

/** ms for which what is known of the streams counts as new: looking takes four requests for each. */
const knownMs = 60_000

/** `until`: µs since the Unix epoch, up to where it is recorded; 0: not known. `trouble`: why it cannot be read. */
interface Status {
  readonly until: number
  readonly gaps: number
  readonly trouble?: string
}

export class ServedClusters implements AsyncDisposable {
  /** For people. */
  readonly name: string
  /** Addresses of streams, by the names that they have here. */
  readonly #addresses: ReadonlyMap<string, string>
  readonly #surroundings: Surroundings
  readonly #statuses = new Map<string, Status>()
  /** The one that was asked last is the last. */
  readonly #open = new Map<string, PastOnDemand>()
  #looking: Promise<void> | undefined
  #lookedMs = Number.NEGATIVE_INFINITY

  private constructor(address: string, clusters: ReadonlyArray<Cluster>, surroundings: Surroundings) {
    this.name = `${clusters.length} ${clusters.length === 1 ? "cluster" : "clusters"} in ${address}`
    const streams = clusters.flatMap(({ name, address: place, shards }) =>
      (shards.length === 0 ? [""] : shards.map((shard) => `/${shard}`)).map(
        (end) => [name + end, place + end] as const,
      ),
    )
    this.#addresses = new Map(streams)
    this.#surroundings = surroundings
  }

  /**
   * `undefined`: it is the address of one recording, or of no stream. With globs, one stream is a cluster as well.
   *
   * Rejects with Misasked if no cluster is chosen, or with an error of the store.
   */
  static async at(
    address: string,
    globs: ReadonlyArray<string>,
    surroundings: Surroundings,
  ): Promise<ServedClusters | undefined> {
    const isChoice = globs.length > 0
    if (!isChoice && !(await mayHaveSeveral(address, surroundings))) return undefined
    const clusters = await clustersBelow(address).catch((cause: unknown) => {
      // There may be a right to read one object only, a trace, whose name has an ending.
      if (isChoice || !(cause instanceof TargetError && /\.\w+$/.test(address))) throw cause
      return []
    })
    if (clusters.length === 0 && !isChoice) return undefined
    return new ServedClusters(address, chosenOf(clusters, address, globs), surroundings)
  }

  /** Answers at once with what is known, and asks the streams again after a minute. `isComplete`: each stream has been asked once. */
  list(request: IncomingMessage, response: ServerResponse): void {
    if (isForeignPage(request.headers)) return refuse(response, { status: 403, message: "only its own page may ask" })
    if (performance.now() - this.#lookedMs > knownMs) this.#looking ??= this.#look()
    const items = [...this.#addresses.keys()].map((name) => {
      const { until = 0, gaps = 0, trouble } = this.#statuses.get(name) ?? {}
      const lagSeconds = until === 0 ? null : Math.max(0, Math.round(Date.now() / 1000 - until / 1e6))
      return { name, lagSeconds, gaps, trouble: this.#open.get(name)?.trouble ?? trouble }
    })
    json(response, 200, { items, isComplete: items.every(({ name }) => this.#statuses.has(name)) })
  }

  /** `given`: the name, as `encodeURIComponent` writes it. `url`: path and query of a question. */
  async answer(given: string, request: IncomingMessage, response: ServerResponse, url: string): Promise<void> {
    const [name, address] = [...this.#addresses].find(([each]) => encodeURIComponent(each) === given) ?? []
    if (name === undefined || address === undefined)
      return refuse(response, { status: 404, message: `there is no cluster ${quoted(given)}: ${this.name}` })
    const known = this.#open.get(name)
    const [idle, closing] = [...this.#open].find(([, { asked }]) => asked === 0) ?? []
    const isFull = known === undefined && this.#open.size >= mostOpen
    if (isFull && idle === undefined) {
      const message = `${mostOpen} other clusters are being read`
      return refuse(response, { status: 503, message, retryAfterSeconds: 1 })
    }
    if (isFull && idle !== undefined) this.#open.delete(idle)
    const before = isFull ? closing?.close() : undefined
    this.#open.delete(name)
    const open = known ?? this.#onDemand(name, address, before)
    this.#open.set(name, open)
    await open.answer(request, response, url)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const open of this.#open.values()) await open.close()
    await this.#looking
  }

  /** Opened when the one that it replaces is closed. */
  #onDemand(name: string, address: string, before: Promise<void> | undefined): PastOnDemand {
    const { terminal, say, signal } = this.#surroundings
    const sayOfIt = (line: string): void => say(`${name}: ${line}`)
    const closed = before?.catch((cause: unknown) => say(messageOf(cause)))
    return new PastOnDemand(async (own) => {
      await closed
      return openPast(ofDirectory(address), { terminal, say: sayOfIt, signal: AbortSignal.any([own, signal]) })
    })
  }

  /** Clusters that come later are not looked for: that would list the whole store again. */
  async #look(): Promise<void> {
    await inParallel([...this.#addresses], STREAMS_AT_ONCE, async ([name, address]) =>
      this.#statuses.set(name, await statusOf(address)),
    )
    this.#lookedMs = performance.now()
    this.#looking = undefined
  }
}

/** Never rejects: what is wrong with a stream is a part of how it is doing. */
const statusOf = async (address: string): Promise<Status> => {
  try {
    using store = await opened(address)
    const { until, gaps = 0 } = await readStreamStatus(store)
    return { until, gaps }
  } catch (cause) {
    return { until: 0, gaps: 0, trouble: visible(messageOf(cause)) }
  }
}

/** Whether there may be streams below an address: not if it is that of one, of a recording or of a file. */
const mayHaveSeveral = async (address: string, { terminal }: Surroundings): Promise<boolean> => {
  const reading = readStorePlace(address)
  if (reading.tag === "refused") return false
  const { bucket, provider } = reading.place
  const isFolder = statSync(bucket, { throwIfNoEntry: false })?.isDirectory() === true
  if (provider === "file" && (!isFolder || existsSync(join(bucket, DATABASE_FILE)))) return false
  return !(await isStream(reading.place, cachePlace(terminal.environment)))
}
