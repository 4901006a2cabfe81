/** s before the end of a watch at which a real server sends it a bookmark. */
const lastBookmarkSeconds = 2

/**
 * Requests to the read half of an API server, answered from a {@link Backend}: discovery, OpenAPI, reads, lists and
 * watches, in the forms that clients ask for. Knows nothing of ports, so that one server can have several.
 *
 * Writes go to the given handler; without one they get a 405, and the server is read-only.
 */

import type { IncomingMessage, ServerResponse } from "node:http"
import type { Socket } from "node:net"
import { type Clock, systemClock, type Timer } from "../clock.ts"
import {
  type Failure,
  malformedPath,
  methodNotAllowed,
  objectNotFound,
  pageNotFound,
  readOnly,
  unauthorized,
  unknownResource,
} from "./answers/failure.ts"
import {
  type ApiHandlerOptions,
  type ApiServerParts,
  noHooks,
  type RequestHooks,
  type WriteHandler,
} from "./api-server-options.ts"
import type { Backend } from "./backend.ts"
import { answerDiscovery, missingIn } from "./discovery/discovery.ts"
import type { Form } from "./forms/form.ts"
import { negotiateForm } from "./forms/negotiate.ts"
import { answerHealth, metricsPage, RequestCounts } from "./health/health.ts"
import type { AccessControl } from "./http/access-control.ts"
import { Exchange } from "./http/exchange.ts"
import { isBelow, refusedPath } from "./http/path-check.ts"
import { RequestLog } from "./http/request-log.ts"
import type { ResourceRoute } from "./http/router.ts"
import { guarded, type OnTrouble, warnProcess } from "./http/trouble.ts"
import { bookmarkLine, type StreamSurroundings, WatchStream } from "./http/watch-stream.ts"
import { WebSocketRequest } from "./http/web-socket.ts"
import { objectBytes } from "./kinds/change.ts"
import { compact, type JsonFormat } from "./kinds/json-spacing.ts"
import type { Resource } from "./kinds/resources.ts"
import { parseListRequest, parseWatchRequest, refusedVersion, type WatchRequest } from "./list/list-options.ts"
import { sendList } from "./list/list-response.ts"
import type { OpenApiDocuments } from "./openapi/openapi-document.ts"
import { answerSwagger } from "./openapi/swagger-answer.ts"
import { scaleReply } from "./scale-form.ts"

// `/openapi/v3`: the index, or one document, which clients keep under its hash.

/** `path` is what follows `/openapi/v3/`; empty for the index. Without documents, every path gets a 404. */
const answerOpenApi = (
  exchange: Exchange,
  path: string,
  documents: OpenApiDocuments | undefined,
): Failure | undefined => {
  if (documents === undefined) return pageNotFound
  if (path === "") {
    // The body is JSON, but Go's server sets no content type and guesses text.
    exchange.plain(documents.index())
    return undefined
  }
  const answer = documents.document(path, exchange.query.get("hash") ?? undefined)
  if (answer === undefined) return pageNotFound
  if (answer.type === "moved") exchange.redirect(answer.location)
  else exchange.document(answer.body, answer.hash, answer.isImmutable)
  return undefined
}

export class ApiHandler {
  readonly requests: RequestLog
  /** Bearer token that every request must carry, unless there is an access control; `undefined` for none. */
  token: string | undefined
  readonly #backend: Backend
  readonly #options: ApiHandlerOptions
  readonly #write: WriteHandler
  readonly #access: AccessControl | undefined
  readonly #hooks: RequestHooks
  readonly #format: JsonFormat
  readonly #gitVersion: string
  readonly #streams = new Set<WatchStream>()
  readonly #counts = new RequestCounts()
  readonly #surroundings: StreamSurroundings
  readonly #clock: Clock
  readonly #onTrouble: OnTrouble
  #nextBookmarks: Timer | undefined

  constructor(backend: Backend, options: ApiHandlerOptions, parts: ApiServerParts) {
    const { clock = systemClock, slowReaderLimit, onTrouble = warnProcess, requestLogLimit = 100_000 } = options
    const { hooks = noHooks, format = compact, gitVersion = "v1.34.4+kubereel", readOnlyReason } = parts
    this.#backend = backend
    this.#options = options
    this.#write = parts.write ?? (() => readOnly(readOnlyReason))
    this.#access = parts.access
    this.#hooks = hooks
    this.#format = format
    this.#gitVersion = gitVersion
    this.#clock = clock
    this.#onTrouble = onTrouble
    this.token = options.token
    this.requests = new RequestLog(requestLogLimit)
    this.#surroundings = { clock, format, hooks, ...(slowReaderLimit === undefined ? {} : { slowReaderLimit }) }
  }

  /** The watches open now. */
  get streams(): ReadonlySet<WatchStream> {
    return this.#streams
  }

  /** Handles one request. Never throws. An arrow function, so that it can be passed to a server as it is. */
  readonly handle = (request: IncomingMessage, response: ServerResponse): void =>
    guarded(`${request.method} ${request.url}`, this.#onTrouble, () => this.#receive(request, response))

  /** The same for a request that asks for a WebSocket: a watch becomes one, everything else is answered as without. */
  readonly upgrade = (request: IncomingMessage, socket: Socket, head: Buffer): void =>
    guarded(`${request.method} ${request.url}`, this.#onTrouble, () => {
      const webSocket = new WebSocketRequest(request, socket, head)
      this.#receive(request, webSocket.response, webSocket)
    })

  /**
   * Sends a bookmark to every watch, of one kind or of all, that allows bookmarks and has been sent its initial events.
   * Does nothing for a backend without a revision.
   */
  sendBookmarks(plural?: string): void {
    this.#bookmark([...this.#streams].filter(({ resource }) => plural === undefined || resource.plural === plural))
  }

  #bookmark(streams: ReadonlyArray<WatchStream>): void {
    const version = this.#backend.revision?.()
    if (version === undefined) return
    const lines = new Map<Resource, Buffer>()
    for (const stream of streams) {
      const { resource } = stream
      if (!stream.isLive) continue
      const line = lines.get(resource) ?? bookmarkLine(resource, version, false, this.#format)
      lines.set(resource, line)
      stream.bookmark(version, line)
    }
  }

  /** Sends bookmarks at the interval of the options from now on. Call it once. */
  startBookmarks(): void {
    const { bookmarkInterval = 60_000 } = this.#options
    if (bookmarkInterval <= 0 || this.#backend.revision === undefined) return
    this.#nextBookmarks = this.#clock.after(bookmarkInterval, () => {
      this.startBookmarks()
      this.sendBookmarks()
    })
  }

  /** Cuts the connections of all watches. */
  destroyStreams(): void {
    for (const stream of this.#streams) stream.destroy()
  }

  /** Stops the bookmark timer. Requests are still answered. */
  close(): void {
    this.#nextBookmarks?.cancel()
  }

  #receive(request: IncomingMessage, response: ServerResponse, webSocket?: WebSocketRequest): void {
    const clock = this.#clock === systemClock ? undefined : this.#clock
    const exchange = new Exchange(request, response, this.#format, clock, webSocket)
    const { path, queryText: query, verb, scope, route } = exchange
    exchange.onTrouble = this.#onTrouble
    const log = this.requests.open({
      method: request.method ?? "",
      path,
      query,
      verb,
      resource: scope,
      namespace: route.type === "resource" ? route.namespace : undefined,
      name: route.type === "resource" ? route.name : undefined,
      userAgent: request.headers["user-agent"] ?? "",
      receivedAt: this.#clock.wallMicros(),
    })
    exchange.onStatus = (status) => {
      log(status)
      const { registry } = this.#backend
      const served = route.type === "resource" ? registry.at(route.group, route.version, route.plural) : undefined
      this.#counts.count(exchange, served, status)
    }
    this.#hooks.receive(exchange, () =>
      exchange.attempt(() => {
        const failure = this.#dispatch(exchange)
        if (failure !== undefined) exchange.fail(failure)
      }),
    )
  }

  /** Answers the exchange, now or later, or returns the failure to send. */
  #dispatch(exchange: Exchange): Failure | undefined {
    const { route, request } = exchange
    const { registry, unlistedSubresources } = this.#backend
    if (route.type === "malformed") return malformedPath
    const denied = this.#access === undefined ? this.#missingToken(exchange) : this.#access.admit(exchange)
    if (denied !== undefined) return denied
    const resource = route.type === "resource" ? registry.at(route.group, route.version, route.plural) : undefined
    const injected = this.#hooks.answer(exchange, resource)
    if (injected !== undefined) return injected
    if (route.type !== "resource") return this.#discover(exchange)
    if (resource === undefined) return missingIn(registry, route.group)
    exchange.ownWarnings = () => [
      ...(resource.deprecationWarning === undefined ? [] : [resource.deprecationWarning]),
      ...(this.#backend.warnings?.(resource) ?? []),
    ]
    const refusal = refusedPath(exchange, route, resource, unlistedSubresources)
    if (refusal !== undefined) return refusal
    if (request.method === "GET" && isBelow(route)) return this.#getBelow(exchange, route, resource)
    const form = this.#form(exchange, resource)
    if (form !== undefined && "type" in form) return form
    if (request.method !== "GET") return this.#write(exchange, route, resource, form)
    const { name, namespace = "" } = route
    if (name !== undefined && exchange.verb === "get") return this.#get(exchange, resource, namespace, name, form)
    return exchange.verb === "watch"
      ? this.#watch(exchange, resource, route.namespace, form)
      : this.#list(exchange, resource, route.namespace, form)
  }

  #missingToken({ request }: Exchange): Failure | undefined {
    const isMissing = this.token !== undefined && request.headers.authorization !== `Bearer ${this.token}`
    return isMissing ? unauthorized : undefined
  }

  #form({ request, query, verb }: Exchange, resource: Resource): Form | Failure | undefined {
    const answer = verb === "watch" || verb === "list" ? verb : "object"
    return negotiateForm({ resource, accept: request.headers.accept, query, answer, now: this.#nowMs })
  }

  #discover(exchange: Exchange): Failure | undefined {
    const { route, request } = exchange
    if (route.type === "health") return answerHealth(exchange, route.page, route.check)
    if (request.method !== "GET") return methodNotAllowed
    if (route.type === "metrics") return this.#showMetrics(exchange)
    const { documents } = this.#backend
    if (route.type === "swagger") return documents === undefined ? pageNotFound : answerSwagger(exchange, documents)
    if (route.type === "openapi") return answerOpenApi(exchange, route.document, documents)
    const answer = answerDiscovery(route, this.#backend.registry, request.headers, this.#gitVersion)
    if (answer.type === "failure") return answer
    if (answer.type === "json") exchange.json(answer.document)
    else exchange.cacheable(answer.text, answer.contentType, answer.etag)
    return undefined
  }

  #showMetrics(exchange: Exchange): undefined {
    const objects = this.#backend.objectCounts?.() ?? []
    const [requests, streams, gitVersion] = [this.#counts, this.#streams, this.#gitVersion]
    exchange.plain(metricsPage({ requests, streams, objects, gitVersion }), "text/plain; version=0.0.4; charset=utf-8")
  }

  #getBelow(
    exchange: Exchange,
    { name = "", namespace = "", subresource = "" }: ResourceRoute,
    resource: Resource,
  ): undefined {
    this.#read(exchange, () => {
      const answer = this.#backend.readSubresource?.(resource, namespace, name, subresource)
      exchange.whenReady(answer, (found = unknownResource) => {
        const isScale = found.type === "written" && subresource === "scale"
        const reply = isScale ? scaleReply(exchange, found, this.#nowMs) : found
        if (reply.type === "failure") exchange.fail(reply)
        else exchange.written(reply)
      })
    })
  }

  #get(exchange: Exchange, resource: Resource, namespace: string, name: string, form?: Form): Failure | undefined {
    const refusal = refusedVersion(exchange.query)
    if (refusal !== undefined) return refusal
    this.#read(exchange, () =>
      exchange.whenReady(this.#backend.get(resource, namespace, name), (state = objectNotFound(resource, name)) => {
        if (state.type === "failure") exchange.fail(state)
        else exchange.text(form?.object(state) ?? objectBytes(state).toString("utf8"))
      }),
    )
    return undefined
  }

  readonly #nowMs = (): number => this.#clock.wallMicros() / 1000

  #read(exchange: Exchange, step: () => void): void {
    this.#hooks.read(() => exchange.attempt(step))
  }

  #list(exchange: Exchange, resource: Resource, namespace: string | undefined, form?: Form): Failure | undefined {
    const request = parseListRequest(exchange.query, namespace, resource, this.#options.filtersByShard)
    if ("type" in request) return request
    exchange.whenReady(this.#backend.list(resource, request), (answer) => {
      if (answer.type === "failure") exchange.fail(answer)
      else {
        const { shard } = request.selection
        const list = shard === undefined ? answer : { ...answer, shardSelector: shard.text }
        exchange.whenReady(sendList(exchange, resource, list, this.#format, form), () => undefined)
      }
    })
    return undefined
  }

  #watch(exchange: Exchange, resource: Resource, namespace: string | undefined, form?: Form): Failure | undefined {
    const { streamingList = "supported", expiredAs = "stream", filtersByShard } = this.#options
    const request = parseWatchRequest(exchange.query, namespace, resource, { streamingList, filtersByShard })
    if ("type" in request) return request
    const { refusedStream } = exchange
    if (refusedStream !== undefined) return refusedStream
    const refuse = (failure: Failure, as: "stream" | "http"): void => {
      if (failure.code === 410 && as === "http") exchange.fail(failure)
      else this.#open(exchange, resource, request).error(failure)
    }
    const forced = this.#hooks.expire(resource, request)
    if (forced !== undefined) {
      refuse(forced.failure, forced.as)
      return undefined
    }
    exchange.whenReady(this.#backend.watch(resource, request), (feed) => {
      if (!exchange.open) return
      if (typeof feed !== "function") return refuse(feed, expiredAs)
      const stream = this.#open(exchange, resource, request, form)
      exchange.whenReady(feed(stream), (end) => {
        stream.onClose(end)
        stream.goLive()
      })
    })
    return undefined
  }

  #open(exchange: Exchange, resource: Resource, request: WatchRequest, form?: Form): WatchStream {
    const { selection, allowBookmarks, timeoutSeconds } = request
    const timeout = timeoutSeconds === undefined ? {} : { timeoutSeconds }
    const wanted = { resource, selection, allowBookmarks, ...timeout, ...(form === undefined ? {} : { form }) }
    const stream = new WatchStream(exchange.beginStream(), wanted, this.#surroundings)
    this.#streams.add(stream)
    stream.onClose(() => this.#streams.delete(stream))
    this.#hooks.open(stream)
    if (timeoutSeconds !== undefined && timeoutSeconds > lastBookmarkSeconds && this.#options.bookmarkInterval !== 0) {
      const ms = (timeoutSeconds - lastBookmarkSeconds) * 1000
      const timer = this.#clock.after(ms, () => this.#bookmark([stream]))
      stream.onClose(() => timer.cancel())
    }
    return stream
  }
}
