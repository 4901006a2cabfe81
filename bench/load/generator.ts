/**
 * A process that acts as a very fast API server: it lists and streams its objects, and sends the ordered number of changes of Deployments
 * on every watch of them, as fast as the reader takes them.
 *
 * Spawned by generator-process.ts, with {@link GeneratorOptions} as a JSON argument. Standard input takes lines `{"changes": n,
 * "perSecond": r}`: n more events on every watch of Deployments, present and future; without `perSecond` as fast as they are read. Standard
 * output has lines `{"port"}` at the start, `{"paced"}` when a pace begins, `{"watches"}` when a watch of Deployments begins and `{"sent",
 * "atMs", "lateMs"}` when one has had all. Ends when its standard input closes.
 */
import { once } from "node:events"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { Socket } from "node:net"
import { createInterface } from "node:readline"
import { setTimeout as sleep } from "node:timers/promises"
import { type BenchKind, baseKinds, deployments, furtherKinds, groupPathOf, pathOf, pods } from "./bench-kinds.ts"
import { ChangeSender } from "./change-sender.ts"
import { type Hostility, repeatedContinue, sendHostileLine } from "./hostile-answers.ts"
import { renderObjects } from "./listing.ts"
import { listVersion } from "./object-template.ts"

export interface GeneratorOptions {
  /** Objects of each kind by its name, such as `{"Pod": 100000}`; default 1,000 of the base kinds, 10 of further ones. */
  readonly listed?: Readonly<Record<string, number>>
  /** Custom resources on top of the three base kinds. Default 0. */
  readonly furtherKinds?: number
  /** False: `sendInitialEvents` is rejected with 422, as by a server before 1.32, and readers page. Default true. */
  readonly isStreamingListKnown?: boolean
  /** ms after which the owner of a pod is returned when it is requested by name. Default: such reads are not served. */
  readonly ownerDelayMs?: number
  /** Share of events that change `status` alone, 0 to 1. Default 0. */
  readonly heartbeatShare?: number
  /** Length of Deployments and ReplicaSets as a compact watch line, bytes. Default: what bench-kinds.ts says. */
  readonly objectBytes?: number
  /** What it sends that no API server should. Default: nothing. */
  readonly hostility?: Hostility
}

const options = JSON.parse(process.argv[2] ?? "{}") as GeneratorOptions
const isSized = (kind: BenchKind): boolean => kind !== pods && baseKinds.includes(kind)
const kinds = [...baseKinds, ...furtherKinds(options.furtherKinds ?? 0)].map((kind) =>
  isSized(kind) ? { ...kind, lineBytes: options.objectBytes ?? kind.lineBytes } : kind,
)
const changing = kinds.find(({ kind }) => kind === deployments.kind) ?? deployments

const countOf = (kind: BenchKind): number =>
  options.listed?.[kind.kind] ?? (baseKinds.some((base) => base.kind === kind.kind) ? 1000 : 10)

const say = (line: object): void => {
  process.stdout.write(`${JSON.stringify(line)}\n`)
}

const sender = new ChangeSender({
  kind: changing,
  objects: countOf(changing),
  heartbeatShare: options.heartbeatShare ?? 0,
  say,
})

const resourceLists = new Map<string, unknown>(
  [...new Set(kinds.map(groupPathOf))].map((path) => {
    const ofGroup = kinds.filter((kind) => groupPathOf(kind) === path)
    const resources = ofGroup.map(({ plural, kind }) => ({
      name: plural,
      singularName: "",
      namespaced: true,
      kind,
      verbs: ["get", "list", "watch"],
    }))
    return [path, { kind: "APIResourceList", groupVersion: ofGroup[0]?.apiVersion, resources }]
  }),
)

/** By path. The identity of the cluster is what archived recordings are told apart by. */
const known = new Map<string, unknown>([
  ...resourceLists,
  [
    "/api/v1/namespaces/kube-system",
    {
      kind: "Namespace",
      apiVersion: "v1",
      metadata: { name: "kube-system", uid: "00000000-0000-4000-8000-000000000000" },
    },
  ],
])

const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
  const url = new URL(request.url ?? "/", "http://bench")
  const kind = kinds.find((each) => pathOf(each) === url.pathname)
  if (kind === undefined) {
    const document = known.get(url.pathname) ?? (await ownerAt(url.pathname))
    if (document === undefined) return refuse(response, 404, "NotFound", `${url.pathname} is not served`)
    response.writeHead(200, json).end(JSON.stringify(document))
  } else if (url.searchParams.get("watch") === null) await list(kind, url.searchParams, response)
  else await watch(kind, url.searchParams, response)
}

const ownerPath = /\/namespaces\/bench\/replicasets\/web-(\d+)$/

/** The metadata of the ReplicaSet that the pod of the same number names as its owner. */
const ownerAt = async (path: string): Promise<unknown> => {
  const number = ownerPath.exec(path)?.[1]
  if (number === undefined || options.ownerDelayMs === undefined) return undefined
  if (options.ownerDelayMs > 0) await sleep(options.ownerDelayMs)
  const rendered = [...renderObjects(pods, Number(number), Number(number) + 1, { before: "", between: "", after: "" })]
  const pod = JSON.parse(Buffer.concat(rendered).toString()) as {
    readonly metadata: { readonly ownerReferences: ReadonlyArray<{ readonly name: string; readonly uid: string }> }
  }
  const [owner] = pod.metadata.ownerReferences
  const metadata = { name: owner?.name, namespace: "bench", uid: owner?.uid }
  return { kind: "PartialObjectMetadata", apiVersion: "meta.k8s.io/v1", metadata }
}

const json = { "Content-Type": "application/json" }

const refuse = (response: ServerResponse, code: number, reason: string, message: string): void => {
  response.writeHead(code, json)
  response.end(JSON.stringify({ kind: "Status", apiVersion: "v1", status: "Failure", reason, message, code }))
}

/** Resolves to false if the reader is gone. */
const send = async (response: ServerResponse, piece: Buffer | string): Promise<boolean> => {
  if (response.destroyed) return false
  if (response.write(piece)) return true
  // Both listeners go when one was called.
  const done = new AbortController()
  const { signal } = done
  await Promise.race([once(response, "drain", { signal }), once(response, "close", { signal })]).finally(() =>
    done.abort(),
  )
  return !response.destroyed
}

const list = async (kind: BenchKind, query: URLSearchParams, response: ServerResponse): Promise<void> => {
  const count = countOf(kind)
  const isRepeated = options.hostility === "repeated-continue"
  const from = isRepeated ? 0 : Number(query.get("continue") ?? 0)
  const until = Math.min(count, from + Number(query.get("limit") ?? count))
  const next = isRepeated ? repeatedContinue : until < count ? String(until) : undefined
  const metadata = { resourceVersion: String(listVersion + sender.had), ...(next !== undefined && { continue: next }) }
  response.writeHead(200, json)
  await send(
    response,
    `{"kind":"${kind.kind}List","apiVersion":"${kind.apiVersion}","metadata":${JSON.stringify(metadata)},"items":[`,
  )
  for (const piece of renderObjects(kind, from, until, { before: "", between: ",", after: "" })) {
    if (!(await send(response, piece))) return
  }
  response.end("]}")
}

const watch = async (kind: BenchKind, query: URLSearchParams, response: ServerResponse): Promise<void> => {
  const isStreamingList = query.get("sendInitialEvents") === "true"
  const { hostility, isStreamingListKnown = hostility !== "repeated-continue" } = options
  if (isStreamingList && !isStreamingListKnown) {
    return refuse(response, 422, "Invalid", "sendInitialEvents: Forbidden: it is forbidden for this server")
  }
  response.writeHead(200, { ...json, "Transfer-Encoding": "chunked" })
  response.flushHeaders()
  const socket = response.socket as Socket
  if (isStreamingList) {
    const affixes = { before: '{"type":"ADDED","object":', between: "", after: "}\n" }
    for (const piece of renderObjects(kind, 0, countOf(kind), affixes)) if (!(await send(response, piece))) return
    await send(response, `{"type":"BOOKMARK","object":${JSON.stringify(initialEventsEnd(kind))}}\n`)
  }
  if (hostility === "endless-lines" || hostility === "error-lines") {
    await sendHostileLine(hostility, (piece) => send(response, piece))
    response.end()
    return
  }
  const asked = Number(query.get("resourceVersion") ?? listVersion)
  if (kind === changing) await sender.sendTo(socket, Math.max(0, asked - listVersion))
}

const initialEventsEnd = ({ kind, apiVersion }: BenchKind) => ({
  kind,
  apiVersion,
  metadata: { resourceVersion: String(listVersion), annotations: { "k8s.io/initial-events-end": "true" } },
})

// With the smallest high-water mark every write causes a `drain`, which the sender waits for.
const server = createServer({ highWaterMark: 1 }, (request, response) => {
  answer(request, response).catch((cause: unknown) => {
    process.stderr.write(`generator: ${String(cause)}\n`)
    process.exit(1)
  })
})
server.requestTimeout = 0
server.listen(0, "127.0.0.1", () => {
  const address = server.address()
  say({ port: typeof address === "object" ? address?.port : 0 })
})
createInterface(process.stdin)
  .on("line", (line) => {
    const { changes, perSecond } = JSON.parse(line) as { changes: number; perSecond?: number }
    sender.order(changes, perSecond)
  })
  .on("close", () => process.exit(0))
