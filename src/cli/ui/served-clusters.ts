/**
 * The clusters below an address, for a page that shows one of them at a time: which there are and how each is doing, and the recording of each.
 *
 * Guarantee: a cluster is opened when it is first asked, at most {@link mostOpen} are open at once, and what is wrong with one is said of that one only.
 */

import { existsSync, statSync } from "node:fs"
import type { IncomingMessage, ServerResponse } from "node:http"
import { join } from "node:path"
import { DATABASE_FILE } from "../../archive/index.ts"
import { type BlobStore, inParallel, readStorePlace, TargetError } from "../../blob/index.ts"
import { cachePlace, isStream, readStreamStatus, STREAMS_AT_ONCE, shardsOf, storeBelow } from "../../fleet/index.ts"
import { messageOf } from "../../message-of.ts"
import { isForeignPage, json, refuse } from "../../recorder/index.ts"
import { quoted, visible } from "../../text/index.ts"
import { type Cluster, chosenOf, clustersIn, isChosen } from "../fleet/clusters.ts"
import { opened } from "../fleet/opened-store.ts"
import { type OpenPast, ofDirectory, openPast } from "../past/past-places.ts"
import { passOn } from "./passed-on.ts"

type Surroundings = Parameters<typeof openPast>[1]

/** Clusters that are open at once, each with files and threads of its own: the one that is looked at, and those that it is compared with. */
const mostOpen = 3

/** ms for which what is known of the streams counts as new: looking takes four requests for each. */
const knownMs = 60_000

/** How a cluster is doing. `until`: µs since the Unix epoch, up to where all of it is recorded; 0: not known. `trouble`: why it cannot be read, or only in part. */
interface Status {
  readonly until: number
  readonly gaps: number
  readonly trouble?: string
}

interface OpenCluster {
  readonly past: Promise<OpenPast>
  readonly abort: AbortController
  /** Questions under way. */
  asked: number
}

interface Chosen {
  readonly address: string
  readonly globs: ReadonlyArray<string>
  readonly store: BlobStore
  readonly surroundings: Surroundings
}

export class ServedClusters implements AsyncDisposable {
  readonly #chosen: Chosen
  #clusters: ReadonlyArray<Cluster>
  readonly #statuses = new Map<string, Status>()
  /** The one that was asked last is the last. */
  readonly #open = new Map<string, OpenCluster>()
  #looking: Promise<void> | undefined
  #lookedMs = Number.NEGATIVE_INFINITY
  /** Why there may be other clusters now. */
  #trouble: string | undefined

  private constructor(chosen: Chosen, clusters: ReadonlyArray<Cluster>) {
    this.#chosen = chosen
    this.#clusters = clusters
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
    const hasGlobs = globs.length > 0
    if (!hasGlobs && !(await mayHaveSeveral(address, surroundings))) return undefined
    const store = await opened(address)
    try {
      const clusters = await clustersIn(store)
      if (clusters.length > 0 || hasGlobs)
        return new ServedClusters({ address, globs, store, surroundings }, chosenOf(clusters, globs))
    } catch (cause) {
      store.close()
      // There may be a right to read one object only, a trace, whose name has an ending.
      if (hasGlobs || !(cause instanceof TargetError && /\.\w+$/.test(address))) throw cause
    }
    store.close()
    return undefined
  }

  /** For people. */
  get name(): string {
    return `${this.#clusters.length} ${this.#clusters.length === 1 ? "cluster" : "clusters"} in ${this.#chosen.address}`
  }

  /** Answers with what is known, and looks for what is new meanwhile. `isComplete`: it is known how each is doing. */
  list(request: IncomingMessage, response: ServerResponse): void {
    if (isForeignPage(request.headers)) return refuse(response, { status: 403, message: "only its own page may ask" })
    if (performance.now() - this.#lookedMs > knownMs) this.#looking ??= this.#look()
    const items = this.#clusters.map(({ name }) => {
      const { until = 0, gaps = 0, trouble } = this.#statuses.get(name) ?? {}
      const lag = until === 0 ? null : Math.max(0, Math.round(Date.now() / 1000 - until / 1e6))
      return { name, lagSeconds: lag, gaps, trouble }
    })
    const isComplete = items.every(({ name }) => this.#statuses.has(name))
    json(response, 200, { items, isComplete, trouble: this.#trouble })
  }

  /** `given`: the name, as `encodeURIComponent` writes it. `url`: path and query of a question, as {@link passOn} takes it. */
  async answer(given: string, request: IncomingMessage, response: ServerResponse, url: string): Promise<void> {
    const cluster = this.#clusters.find(({ name }) => encodeURIComponent(name) === given)
    if (cluster === undefined)
      return refuse(response, { status: 404, message: `there is no cluster ${quoted(given)}: ${this.name}` })
    const open = this.#taken(cluster)
    if (open === undefined) {
      const message = `${mostOpen} other clusters are being read`
      return refuse(response, { status: 503, message, retryAfterSeconds: 1 })
    }
    open.asked++
    response.once("close", () => open.asked--)
    const { name } = cluster
    try {
      const { places } = await open.past
      for (const place of places) await passOn(place, request, response, url)
    } catch (cause) {
      const trouble = visible(messageOf(cause))
      this.#statuses.set(name, { until: 0, gaps: 0, ...this.#statuses.get(name), trouble })
      // The next question tries again.
      if (this.#open.get(name) === open) this.#open.delete(name)
      refuse(response, { status: 502, message: trouble })
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const open of this.#open.values()) await closed(open)
    this.#chosen.store.close()
    await this.#looking
  }

  /** `undefined`: as many as may be open are being asked. */
  #taken({ name, address }: Cluster): OpenCluster | undefined {
    const known = this.#open.get(name)
    this.#open.delete(name)
    const [idle] = [...this.#open].find(([, { asked }]) => asked === 0) ?? []
    const { terminal, say, signal } = this.#chosen.surroundings
    let before = Promise.resolve()
    if (known === undefined && this.#open.size >= mostOpen) {
      const closing = idle === undefined ? undefined : this.#open.get(idle)
      if (idle === undefined || closing === undefined) return undefined
      this.#open.delete(idle)
      before = closed(closing).catch((cause: unknown) => say(`${idle}: ${messageOf(cause)}`))
    }
    const abort = new AbortController()
    const own = {
      terminal,
      say: (line: string) => say(`${name}: ${line}`),
      signal: AbortSignal.any([abort.signal, signal]),
    }
    const open = known ?? { past: before.then(() => openPast(ofDirectory(address), own)), abort, asked: 0 }
    this.#open.set(name, open)
    return open
  }

  async #look(): Promise<void> {
    const { store, globs } = this.#chosen
    try {
      // The first time, they have just been found.
      if (this.#statuses.size > 0)
        this.#clusters = (await clustersIn(store)).filter(({ name }) => isChosen(name, globs))
      await inParallel(this.#clusters, STREAMS_AT_ONCE, async (each) =>
        this.#statuses.set(each.name, await statusOf(store, each)),
      )
      this.#trouble = undefined
    } catch (cause) {
      this.#trouble = visible(messageOf(cause))
    }
    this.#lookedMs = performance.now()
    this.#looking = undefined
  }
}

/** Who asked was told why it could not be opened. */
const closed = async ({ past, abort }: OpenCluster): Promise<void> => {
  abort.abort()
  await (await past.catch(() => undefined))?.close()
}

/** Never rejects: whatever cannot be read of a cluster is said of it. */
const statusOf = async (store: BlobStore, { address, streams, isInShards }: Cluster): Promise<Status> => {
  let [until, gaps] = [Number.POSITIVE_INFINITY, 0]
  try {
    for (const prefix of streams) {
      const status = await readStreamStatus(storeBelow(store, prefix))
      until = Math.min(until, status.until)
      gaps += status.gaps ?? 0
    }
    const missing = isInShards ? (await shardsOf(address)).length - streams.length : 0
    return { until, gaps, ...(missing > 0 && { trouble: `${missing} of its shards have no stream yet` }) }
  } catch (cause) {
    return { until: Number.isFinite(until) ? until : 0, gaps, trouble: visible(messageOf(cause)) }
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
