/**
 * A process that is an API server as fast as one can be read: lists 1,000 objects a kind, then sends pre-rendered changes
 * of Deployments on every watch of them, for as long as the reader takes them.
 *
 * Spawned by the scenarios; prints its port, then one JSON line whenever a stream has sent everything. Arguments as one
 * JSON object: {"events": number, "listed": number, "kinds": number}. Ends when its standard input closes.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { once } from "node:events"
import type { Socket } from "node:net"
import { benchKinds, type BenchKind, type EventFrame, firstVersion, renderFrames, renderObject, renumber } from "./event-frames.ts"

interface GeneratorOptions {
  /** Changes sent on each watch of Deployments. */
  readonly events: number
  /** Objects of each kind in a list. */
  readonly listed: number
}

const options = JSON.parse(process.argv[2] ?? "{}") as GeneratorOptions
const startVersion = firstVersion + options.listed

const listVersion = (kind: BenchKind): string => JSON.stringify({ kind: kind.kind, apiVersion: kind.apiVersion, metadata: { resourceVersion: String(startVersion), annotations: { "k8s.io/initial-events-end": "true" } } })

const resources = new Map<string, unknown>([
  ["/apis/apps/v1", resourceList("apps/v1", ["Deployment", "ReplicaSet"])],
  ["/api/v1", resourceList("v1", ["Pod"])]
])

function resourceList(groupVersion: string, kinds: ReadonlyArray<string>): unknown {
  return {
    kind: "APIResourceList",
    groupVersion,
    resources: benchKinds
      .filter((each) => kinds.includes(each.kind))
      .map((each) => ({ name: each.plural, singularName: "", namespaced: true, kind: each.kind, verbs: ["get", "list", "watch"] }))
  }
}

const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
  const url = new URL(request.url ?? "/", "http://bench")
  const kind = benchKinds.find((each) => each.path === url.pathname)
  if (kind !== undefined && url.searchParams.get("watch") !== null) return watch(kind, url, response)
  if (kind !== undefined) return list(kind, url, response)
  const document = resources.get(url.pathname)
  response.writeHead(document === undefined ? 404 : 200, { "Content-Type": "application/json" })
  response.end(JSON.stringify(document ?? { kind: "Status", status: "Failure", reason: "NotFound", code: 404 }))
}

const list = async (kind: BenchKind, url: URL, response: ServerResponse): Promise<void> => {
  const limit = Number(url.searchParams.get("limit") ?? options.listed)
  const from = Number(url.searchParams.get("continue") ?? 0)
  const until = Math.min(options.listed, from + limit)
  response.writeHead(200, { "Content-Type": "application/json" })
  const next = until < options.listed ? `,"continue":"${until}"` : ""
  response.write(`{"kind":"${kind.kind}List","apiVersion":"${kind.apiVersion}","metadata":{"resourceVersion":"${startVersion}"${next}},"items":[`)
  for (let index = from; index < until; index++) {
    const item = renderObject(kind, index, firstVersion + index)
    if (!response.write(index === from ? item : `,${item}`)) await once(response, "drain")
  }
  response.end("]}")
}

const watch = async (kind: BenchKind, url: URL, response: ServerResponse): Promise<void> => {
  response.writeHead(200, { "Content-Type": "application/json", "Transfer-Encoding": "chunked" })
  response.flushHeaders()
  const socket = response.socket as Socket
  if (url.searchParams.get("sendInitialEvents") === "true") {
    for (let index = 0; index < options.listed; index++) {
      const line = `{"type":"ADDED","object":${renderObject(kind, index, firstVersion + index)}}\n`
      if (!response.write(line)) await once(response, "drain")
    }
    response.write(`{"type":"BOOKMARK","object":${listVersion(kind)}}\n`)
  }
  const asked = Number(url.searchParams.get("resourceVersion") ?? startVersion)
  if (kind.kind === "Deployment") await send(socket, Math.max(startVersion, asked) + 1)
}

/**
 * The changes after `version`; what a resumed watch has had already is not sent again. One write per event, because the
 * API server flushes each event by itself.
 */
const send = async (socket: Socket, version: number): Promise<void> => {
  const frames = renderFrames(benchKinds[0] as BenchKind, Math.max(100, Math.min(1000, options.listed)))
  const last = startVersion + options.events
  let wake: () => void = () => undefined
  socket.on("drain", () => wake())
  socket.on("close", () => wake())
  socket.on("error", () => wake())
  for (let next = version, at = 0; next <= last && !socket.destroyed; next++, at = at + 1 === frames.length ? 0 : at + 1) {
    const frame = frames[at] as EventFrame
    // Reused after a whole round: the socket holds at most its high-water mark, far less than a round's bytes.
    renumber(frame, next)
    if (socket.write(frame.bytes)) continue
    await new Promise<void>((resolve) => {
      wake = resolve
    })
  }
  if (!socket.destroyed) process.stdout.write(`${JSON.stringify({ sent: options.events, atMs: Date.now() })}\n`)
}

const server = createServer((request, response) => void answer(request, response))
server.requestTimeout = 0
server.listen(0, "127.0.0.1", () => {
  const address = server.address()
  process.stdout.write(`${JSON.stringify({ port: typeof address === "object" ? address?.port : 0 })}\n`)
})
process.stdin.resume()
process.stdin.on("end", () => process.exit(0))
