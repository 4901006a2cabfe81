/**
 * A cluster of several kinds that change at a pace, for recorders that share it. Bench kinds are sent as the generator sends them: from templates, one write for
 * each event and watch, all of the history to a watch that resumes. Everything else (Leases, namespaces, discovery) is a sandbox's.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import type { AddressInfo, Socket } from "node:net"
import { Readable } from "node:stream"
import type { ReadableStream } from "node:stream/web"
import { rangeOfShard, shardSelectorOf } from "../../src/kube/index.ts"
import { Sandbox } from "../../src/sandbox/index.ts"
import { type BenchKind, groupPathOf, gvkOf, pathOf } from "./bench-kinds.ts"
import { objectText } from "./bench-objects.ts"
import { ChangeSender } from "./change-sender.ts"
import { renderFrames } from "./event-frames.ts"
import { firstVersion, listVersion, ObjectTemplate } from "./object-template.ts"

/** Objects of each kind; change n is one of object (n - 1) % objects. */
export const objectsOfKind = 1000

interface ShardClusterOptions {
  /** Kinds with their events a second. */
  readonly rates: ReadonlyMap<BenchKind, number>
  readonly shards: number
  /** Whether lists and watches with a `shardSelector` are filtered, and lists say `shardInfo`. */
  readonly filters: boolean
}

/** What happened to one kind. */
class ChangingKind {
  readonly kind: BenchKind
  readonly perSecond: number
  readonly sender: ChangeSender
  events = 0
  /** Orders as the wall clock has them: the event before the first, and ms since the Unix epoch. */
  readonly orders: Array<{ readonly from: number; readonly startMs: number }> = []
  /** Longest delay of an event on any watch, ms. */
  lateMs = 0
  /** Open watches when the last of them began. */
  watches = 0
  readonly #templates: ReadonlyArray<ObjectTemplate>
  readonly #shardOf: ReadonlyArray<number>

  constructor(kind: BenchKind, perSecond: number, shards: number) {
    this.kind = kind
    this.perSecond = perSecond
    this.#templates = Array.from({ length: objectsOfKind }, (_, index) => {
      const template = new ObjectTemplate(objectText(kind, index))
      template.number("index", index)
      template.number("heartbeat", firstVersion + index)
      return template
    })
    const ranges = Array.from({ length: shards }, (_, index) => rangeOfShard({ index, count: shards }))
    this.#shardOf = renderFrames(kind, objectsOfKind).map(({ bytes }) => {
      const uid = Buffer.from(/"uid":"([^"]+)"/.exec(bytes.toString("latin1"))?.[1] ?? "")
      return ranges.findIndex((range) => range.has(uid, 0, uid.length))
    })
    this.sender = new ChangeSender({
      ...{ kind, objects: objectsOfKind, heartbeatShare: 0 },
      say: (line) => {
        if ("pacedFromMs" in line) this.orders.push({ from: this.events, startMs: Date.now() })
        if ("watches" in line) this.watches = Number(line.watches)
        if ("lateMs" in line) this.lateMs = Math.max(this.lateMs, Number(line.lateMs))
      },
    })
  }

  /** An object as it is now. */
  object(index: number): string {
    const template = this.#templates[index] as ObjectTemplate
    const changes = Math.floor((this.sender.had - index + objectsOfKind - 1) / objectsOfKind)
    const number = (changes - 1) * objectsOfKind + index + 1
    const version = changes > 0 ? listVersion + number : firstVersion + index
    template.number("version", version)
    template.number("change", changes > 0 ? number : version)
    return template.bytes.toString()
  }

  order(seconds: number): void {
    const events = Math.round(this.perSecond * seconds)
    this.lateMs = 0
    this.sender.order(events, this.perSecond)
    this.events += events
  }

  /** ms since the Unix epoch. */
  dueMs(number: number): number {
    const { from = 0, startMs = Number.NaN } = this.orders.findLast((order) => order.from < number) ?? {}
    return startMs + ((number - from) * 1000) / this.perSecond
  }

  /** Number of the last change of an object of that shard; 0: there is none. */
  lastOf(shard: number): number {
    let number = this.events
    while (number > 0 && this.shardOf((number - 1) % objectsOfKind) !== shard) number--
    return number
  }

  /** The shard of an object's UID. */
  shardOf(index: number): number {
    return this.#shardOf[index] ?? -1
  }
}

export class ShardCluster implements AsyncDisposable {
  readonly kinds: ReadonlyArray<ChangingKind>
  /** Events written to all watches. */
  writes = 0
  readonly #options: ShardClusterOptions
  readonly #sandbox: Sandbox
  readonly #server: Server

  static async start(options: ShardClusterOptions): Promise<ShardCluster> {
    const cluster = new ShardCluster(options, await Sandbox.start({}))
    await new Promise<void>((resolve) => cluster.#server.listen(0, "127.0.0.1", resolve))
    return cluster
  }

  private constructor(options: ShardClusterOptions, sandbox: Sandbox) {
    this.#options = options
    this.#sandbox = sandbox
    this.kinds = [...options.rates].map(([kind, rate]) => new ChangingKind(kind, rate, options.shards))
    // As in generator.ts.
    this.#server = createServer({ highWaterMark: 1 }, (request, response) => {
      this.#answer(request, response).catch((cause: unknown) => response.destroy(cause as Error))
    })
    this.#server.requestTimeout = 0
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  kindOf(gvk: string): ChangingKind | undefined {
    return this.kinds.find(({ kind }) => gvkOf(kind) === gvk)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    this.#server.close()
    await this.#sandbox.close()
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? "/", this.url)
    const changing = this.kinds.find(({ kind }) => pathOf(kind) === pathname)
    if (changing !== undefined) {
      const isWatch = searchParams.get("watch") !== null
      if (isWatch && searchParams.get("sendInitialEvents") === "true") return refuse(response)
      return isWatch ? this.#watch(changing, searchParams, response) : this.#list(changing, searchParams, response)
    }
    const group = this.kinds.filter(({ kind }) => groupPathOf(kind) === pathname && kind.apiVersion !== "apps/v1")
    if (group.length > 0) return void response.writeHead(200, json).end(JSON.stringify(resourceList(group)))
    await this.#forward(request, response)
  }

  /** Which of its objects are of the part that was asked for; all of a server that knows no parts. */
  #selected(changing: ChangingKind, query: URLSearchParams): ((index: number) => boolean) | undefined {
    const { filters, shards: count } = this.#options
    const selector = filters ? query.get("shardSelector") : null
    if (selector === null) return undefined
    const shard = Array.from({ length: count }, (_, index) => index).find(
      (index) => shardSelectorOf({ index, count, by: "uid" }) === selector,
    )
    return (index) => changing.shardOf(index) === shard
  }

  #list(changing: ChangingKind, query: URLSearchParams, response: ServerResponse): void {
    const { kind } = changing
    const selected = this.#selected(changing, query)
    const shardInfo = selected && { shardInfo: { selector: query.get("shardSelector") } }
    const metadata = { resourceVersion: String(listVersion + changing.sender.had), ...shardInfo }
    response.writeHead(200, json)
    response.write(
      `{"kind":"${kind.kind}List","apiVersion":"${kind.apiVersion}","metadata":${JSON.stringify(metadata)},"items":[`,
    )
    const indexes = Array.from({ length: objectsOfKind }, (_, index) => index).filter(
      (index) => selected?.(index) ?? true,
    )
    const most = Number(query.get("limit") ?? objectsOfKind)
    response.end(
      `${indexes
        .slice(0, most < 10 ? most : objectsOfKind)
        .map((index) => changing.object(index))
        .join(",")}]}`,
    )
  }

  async #watch(changing: ChangingKind, query: URLSearchParams, response: ServerResponse): Promise<void> {
    response.writeHead(200, { ...json, "Transfer-Encoding": "chunked" })
    response.flushHeaders()
    const selected = this.#selected(changing, query)
    await changing.sender.sendTo(
      response.socket as Socket,
      Math.max(0, Number(query.get("resourceVersion") ?? listVersion) - listVersion),
      (index) => {
        const isSent = selected?.(index) ?? true
        if (isSent) this.writes++
        return isSent
      },
    )
  }

  async #forward(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = "GET", url = "/", headers } = request
    const pieces = await request.toArray()
    const answer = await fetch(this.#sandbox.url + url, {
      method,
      headers: { "Content-Type": headers["content-type"] ?? "application/json" },
      ...(pieces.length > 0 && { body: Buffer.concat(pieces) }),
    })
    response.writeHead(answer.status, { "Content-Type": answer.headers.get("content-type") ?? "application/json" })
    if (answer.body === null) response.end()
    else Readable.fromWeb(answer.body as ReadableStream).pipe(response)
  }
}

const json = { "Content-Type": "application/json" }

const refuse = (response: ServerResponse): void => {
  const message = "sendInitialEvents: Forbidden: it is forbidden for this server"
  response.writeHead(422, json)
  response.end(
    JSON.stringify({ kind: "Status", apiVersion: "v1", status: "Failure", reason: "Invalid", message, code: 422 }),
  )
}

const resourceList = (group: ReadonlyArray<ChangingKind>) => ({
  kind: "APIResourceList",
  groupVersion: group[0]?.kind.apiVersion,
  resources: group.map(({ kind: { plural, kind } }) => ({
    ...{ name: plural, singularName: "", namespaced: true, kind },
    verbs: ["get", "list", "watch"],
  })),
})
