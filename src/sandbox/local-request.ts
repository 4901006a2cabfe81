/**
 * The transport to a sandbox for clients in its own process: writes and reads of one object without a socket, as by
 * `Sandbox.request`; lists, watches and discovery over HTTP, through sockets or, if asked for, through memory.
 *
 * Requests without a socket bypass faults and credentials and are not in the request log. Each is executed in its own
 * turn of the event loop, so that a client that sends one after the other does not starve the rest.
 */
import type { Duplex } from "node:stream"
import type { Eventually } from "../apiserver/answers/eventually.ts"
import {
  type Failure,
  methodNotAllowed,
  objectNotFound,
  pageNotFound,
  statusText,
  unknownResource,
} from "../apiserver/answers/failure.ts"
import { missingIn } from "../apiserver/discovery/discovery.ts"
import { isServedBelow } from "../apiserver/http/path-check.ts"
import { parseRoute, type ResourceRoute } from "../apiserver/http/router.ts"
import type { Resource } from "../apiserver/kinds/resources.ts"
import { objectBytes } from "../apiserver/watch/change.ts"
import { backgroundClock, type Timers } from "../clock.ts"
import type { ApiEndpoint } from "../kube/endpoint.ts"
import { formatGvk } from "../kube/gvk.ts"
import type { OpenSocket } from "../kube/http/connect.ts"
import { HttpClient } from "../kube/http/http-client.ts"
import type { HttpRequest, HttpStream, ResponseHandler, Transport } from "../kube/http/transport.ts"
import type { StoreBackend } from "./writes/store-backend.ts"
import { mediaType, type WriteOutcome, writeVerbOf } from "./writes/write-request.ts"

// HTTP connections to a sandbox in the same process without the network: bytes pass in turns of the event loop, in the
// same order each time.

/** Opens connections to that server, whatever the target says. */
const throughMemory =
  (server: { connect(): Duplex }): OpenSocket =>
  (target, _connectTimeoutMs, _timers, events) => {
    const stream = server.connect()
    let isClosed = false
    const fail = (message: string): void => {
      if (isClosed) return
      isClosed = true
      stream.destroy()
      events.failed({ tag: "connection", code: "ECONNRESET", message: `${target.tunnelAuthority}: ${message}` })
    }
    stream.on("data", (chunk: Buffer) => {
      if (!isClosed && !events.bytes(chunk, chunk.length)) stream.pause()
    })
    stream.on("end", () => {
      if (!isClosed) events.inputEnded()
    })
    stream.on("error", (error) => fail(error.message))
    stream.on("close", () => fail("the connection was closed"))
    const socket = {
      write: (bytes: string | Uint8Array) => stream.write(bytes),
      resume: () => stream.resume(),
      // Memory keeps no process alive.
      ref: () => stream,
      unref: () => stream,
    }
    queueMicrotask(() => {
      if (!isClosed) events.ready(socket as unknown as Parameters<typeof events.ready>[0])
    })
    return {
      destroy: () => {
        isClosed = true
        stream.destroy()
      },
    }
  }

/** The part of a sandbox that this needs. */
interface LocalServer {
  readonly endpoint: ApiEndpoint
  connect(): Duplex
  request(request: LocalRequest): Eventually<LocalAnswer>
}

interface Options {
  /**
   * Lists and watches pass through memory, so that the order of everything is the same each time. Default: through
   * sockets, as for other clients.
   */
  readonly isInMemory?: boolean
  /** For idle connections. Default: the machine's. */
  readonly timers?: Timers
}

export class LocalTransport implements Transport {
  readonly #server: LocalServer
  readonly #userAgent: string
  readonly #http: HttpClient

  /** `userAgent`: names the field manager. */
  constructor(server: LocalServer, userAgent: string, { isInMemory = false, timers = backgroundClock }: Options = {}) {
    this.#server = server
    this.#userAgent = userAgent
    const open = isInMemory ? { open: throughMemory(server) } : {}
    this.#http = new HttpClient(server.endpoint, { userAgent, timers, ...open })
  }

  get(path: string, headers: Readonly<Record<string, string>>, handler: ResponseHandler): HttpStream {
    return this.#http.get(path, headers, handler)
  }

  send(request: HttpRequest, handler: ResponseHandler): HttpStream {
    if (request.method === "GET" && !isOfOneObject(request)) return this.#http.send(request, handler)
    const { method, path, body, contentType } = request
    const local: LocalRequest = {
      method,
      path,
      userAgent: this.#userAgent,
      ...(body !== undefined && { body }),
      ...(contentType !== undefined && { contentType }),
    }
    return new LocalStream(() => this.#server.request(local), handler)
  }

  close(): void {
    this.#http.close()
  }
}

const isOfOneObject = ({ path, headers }: HttpRequest): boolean => {
  const route = parseRoute(path.split("?", 1)[0] ?? "")
  return route.type === "resource" && route.name !== undefined && headers.Accept === "application/json"
}

/** One request and its response, which arrives in one piece. */
class LocalStream implements HttpStream {
  readonly #handler: ResponseHandler
  #answer: LocalAnswer | undefined
  #isPaused = false
  #isOver = false
  bytesReceived = 0

  constructor(carryOut: () => Eventually<LocalAnswer>, handler: ResponseHandler) {
    this.#handler = handler
    setImmediate(() => {
      if (this.#isOver) return
      const answer = carryOut()
      if (answer instanceof Promise) void answer.then((ready) => this.#take(ready))
      else this.#take(answer)
    })
  }

  pause(): void {
    this.#isPaused = true
  }

  resume(): void {
    if (!this.#isPaused) return
    this.#isPaused = false
    queueMicrotask(() => this.#deliver())
  }

  /** A request that has not been executed yet never will be; one that waits for a webhook still may. */
  abort(): void {
    if (this.#isOver) return
    this.#isOver = true
    queueMicrotask(() => this.#handler.end({ tag: "aborted" }))
  }

  #take(answer: LocalAnswer): void {
    this.#answer = answer
    this.#deliver()
  }

  #deliver(): void {
    if (this.#answer === undefined || this.#isPaused || this.#isOver) return
    const { status, text } = this.#answer
    const body = Buffer.from(text)
    this.bytesReceived = body.length
    this.#answer = undefined
    this.#handler.head(status, noHeaders)
    // The handler may abort the request in any of its methods.
    if (body.length > 0 && !this.#isOver) this.#handler.data(body, 0, body.length)
    if (body.length > 0 && !this.#isOver) this.#handler.readDone?.()
    if (this.#isOver) return
    this.#isOver = true
    this.#handler.end({ tag: "complete" })
  }
}

const noHeaders: ReadonlyMap<string, string> = new Map()

// Requests from inside the process: the same responses as over HTTP, without a socket. No credentials, no
// faults, no entry in the request log, no authorization; only reads of one object and writes.

export interface LocalRequest {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE"
  /** With its query: `/api/v1/namespaces/default/pods?dryRun=All`. */
  readonly path: string
  /** Text and bytes are sent as they are; anything else becomes JSON. Default: no body. */
  readonly body?: unknown
  /** Default `application/json`, for a PATCH `application/merge-patch+json`. */
  readonly contentType?: string
  /** Names the field manager. Default `sandbox`. */
  readonly userAgent?: string
}

export interface LocalAnswer {
  readonly status: number
  /** JSON: the object, or a Status. */
  readonly text: string
  readonly warnings: ReadonlyArray<string>
}

/** At once, unless an admission webhook is asked. Never throws for a client's mistakes. */
export const answerLocally = (backend: StoreBackend, request: LocalRequest): Eventually<LocalAnswer> => {
  const mark = request.path.indexOf("?")
  const path = mark < 0 ? request.path : request.path.slice(0, mark)
  const query = new URLSearchParams(mark < 0 ? "" : request.path.slice(mark + 1))
  const route = parseRoute(path)
  if (route.type !== "resource") return shown(pageNotFound)
  const resource = backend.registry.at(route.group, route.version, route.plural)
  if (resource === undefined) return shown(missingIn(backend.registry, route.group))
  if (route.subresource !== undefined && !isServedBelow(resource, route.subresource, backend.unlistedSubresources))
    return shown(unknownResource)
  if (request.method === "GET") return shown(read(backend, resource, route))
  const outcome = write(backend, resource, route, query, request)
  return outcome instanceof Promise ? outcome.then(shown) : shown(outcome)
}

/** The object or list that a request is about. */
export interface RequestTarget {
  /** `apps/v1.Deployment`. */
  readonly gvk: string
  /** Empty for none. */
  readonly namespace: string
  readonly name: string
  readonly subresource: string
}

/** `undefined` if the path names no served kind. */
export const targetOf = (backend: StoreBackend, { path }: Pick<LocalRequest, "path">): RequestTarget | undefined => {
  const route = parseRoute(path.split("?", 1)[0] ?? "")
  const resource = route.type === "resource" ? backend.registry.at(route.group, route.version, route.plural) : undefined
  if (route.type !== "resource" || resource === undefined) return undefined
  const { namespace = "", name = "", subresource = "" } = route
  return { gvk: formatGvk(resource.gvk), namespace, name, subresource }
}

const read = (backend: StoreBackend, resource: Resource, route: ResourceRoute): WriteOutcome => {
  const { name, namespace = "", subresource } = route
  if (name === undefined) return methodNotAllowed
  if (subresource !== undefined && subresource !== "status") {
    return backend.readSubresource(resource, namespace, name, subresource) ?? unknownResource
  }
  const change = backend.get(resource, namespace, name)
  if (change === undefined) return objectNotFound(resource, name)
  return { type: "written", status: 200, json: objectBytes(change), warnings: [] }
}

const write = (
  backend: StoreBackend,
  resource: Resource,
  route: ResourceRoute,
  query: URLSearchParams,
  { method, body, contentType, userAgent = "sandbox" }: LocalRequest,
): Eventually<WriteOutcome> => {
  const verb = writeVerbOf(method, route, resource)
  if (verb === undefined) return methodNotAllowed
  const usual = method === "PATCH" ? "application/merge-patch+json" : "application/json"
  return backend.write({
    verb,
    resource,
    namespace: route.namespace ?? "",
    name: route.name ?? "",
    subresource: route.subresource ?? "",
    query,
    contentType: mediaType(contentType ?? usual),
    userAgent,
    body: bytesOf(body),
  })
}

const bytesOf = (body: unknown): Buffer => {
  if (body === undefined) return nothing
  return Buffer.from(typeof body === "string" || body instanceof Uint8Array ? body : JSON.stringify(body))
}

const nothing = Buffer.alloc(0)

const shown = (outcome: WriteOutcome | Failure): LocalAnswer => {
  const { warnings = [] } = outcome
  if (outcome.type === "failure") {
    return { status: outcome.code, text: outcome.plainText === true ? outcome.message : statusText(outcome), warnings }
  }
  return { status: outcome.status, text: outcome.json.toString(), warnings }
}
