/**
 * The HTTP half of an embedded API server: connections, credentials, routing, faults and the request log. What it
 * serves comes from a {@link Backend}.
 *
 * Speaks HTTP/1.1 on 127.0.0.1, with TLS if given a key. Any number of servers run in one process. Writes are refused
 * with 405 unless the backend takes them.
 */

import { createServer as createHttpServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import { createServer as createHttpsServer } from "node:https"
import type { AddressInfo } from "node:net"
import type { ApiEndpoint } from "../kube/endpoint.ts"
import { type Clock, systemClock } from "../runtime/clock.ts"
import { Faults } from "../sandbox/faults/faults.ts"
import { receiveWrite } from "../sandbox/writes/receive-write.ts"
import {
  type Failure,
  malformedPath,
  methodNotAllowed,
  objectNotFound,
  unauthorized,
  unknownResource,
} from "./answers/failure.ts"
import { compact, type JsonFormat } from "./answers/json-spacing.ts"
import { type ApiServerOptions, tlsOptions } from "./api-server-options.ts"
import type { Backend } from "./backend.ts"
import { answerDiscovery, missingIn } from "./discovery/discovery.ts"
import type { Form } from "./forms/form.ts"
import { negotiateForm } from "./forms/negotiate.ts"
import { Exchange } from "./http/exchange.ts"
import { isBelow, refusedPath } from "./http/path-check.ts"
import type { ResourceRoute } from "./http/router.ts"
import { guarded, type OnTrouble, warnProcess } from "./http/trouble.ts"
import { answerUnknownMethods } from "./http/unknown-method.ts"
import type { Resource } from "./kinds/resources.ts"
import { parseListRequest, parseWatchRequest, refusedVersion, type WatchRequest } from "./list/list-options.ts"
import { sendList } from "./list/list-response.ts"
import { answerOpenApi } from "./openapi/openapi-answer.ts"
import { RequestLog } from "./request-log.ts"
import { objectBytes } from "./watch/change.ts"
import { type StreamSurroundings, WatchStream } from "./watch/watch-stream.ts"

export class ApiServer {
  readonly requests: RequestLog
  readonly faults: Faults
  readonly #backend: Backend
  readonly #options: ApiServerOptions
  readonly #format: JsonFormat
  readonly #server: Server
  readonly #streams = new Set<WatchStream>()
  readonly #surroundings: StreamSurroundings
  readonly #clock: Clock
  readonly #onTrouble: OnTrouble
  #token: string | undefined
  #port = 0

  private constructor(backend: Backend, options: ApiServerOptions, format: JsonFormat) {
    const { clock = systemClock, expiredAs = "stream", slowReaderLimit, tls } = options
    this.#backend = backend
    this.#options = options
    this.#format = format
    this.#clock = clock
    this.#onTrouble = options.onTrouble ?? warnProcess
    this.#token = options.token
    this.requests = new RequestLog(options.requestLogLimit ?? 100_000)
    this.faults = new Faults({
      streams: this.#streams,
      clock,
      expiredAs,
      user: options.user ?? "system:serviceaccount:default:reader",
      connections: {
        drop: () => this.#dropConnections(),
        refuse: () => this.#refuseConnections(),
        accept: () => this.#listen(this.#port),
      },
    })
    this.#surroundings = {
      clock,
      format,
      ...(slowReaderLimit === undefined ? {} : { slowReaderLimit }),
      takeTruncation: this.faults.takeTruncation,
      onSlowReader: this.faults.noteSlowReader,
    }
    const receive = (request: IncomingMessage, response: ServerResponse): void =>
      guarded(`${request.method} ${request.url}`, this.#onTrouble, () => this.#receive(request, response))
    this.#server = tls === undefined ? createHttpServer(receive) : createHttpsServer(tlsOptions(tls), receive)
    answerUnknownMethods(this.#server, format)
    // Longer than any pause of a test: a reused connection must not race with the server's own idle limit.
    this.#server.keepAliveTimeout = 120_000
  }

  /** Listens; rejects with the system's error if the port is taken. */
  static async listen(backend: Backend, options: ApiServerOptions, format: JsonFormat = compact): Promise<ApiServer> {
    const server = new ApiServer(backend, options, format)
    await server.#listen(options.port ?? 0)
    return server
  }

  get port(): number {
    return this.#port
  }

  /** Without a trailing slash. */
  get url(): string {
    return `${this.#options.tls === undefined ? "http" : "https"}://127.0.0.1:${this.#port}`
  }

  /** What a client needs to connect, the current token included. */
  get endpoint(): ApiEndpoint {
    const { tls } = this.#options
    return {
      server: this.url,
      ...(tls === undefined ? {} : { certificateAuthority: tls.ca ?? tls.cert }),
      headers: this.#token === undefined ? [] : [["Authorization", `Bearer ${this.#token}`]],
    }
  }

  /** The watches open now. */
  get streams(): ReadonlySet<WatchStream> {
    return this.#streams
  }

  /** From the next request on; open watches go on, as they do in the real server. */
  setToken(token: string | undefined): void {
    this.#token = token
  }

  async close(): Promise<void> {
    this.faults.gets.close()
    if (this.#server.listening) await this.#refuseConnections()
  }

  #dropConnections(): void {
    // Watches first: they must count as closed when this returns, not when the sockets have said so.
    for (const stream of this.#streams) stream.destroy()
    this.#server.closeAllConnections()
  }

  async #refuseConnections(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve))
    this.#dropConnections()
    await closed
  }

  #listen(port: number): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.once("error", reject)
      this.#server.listen(port, "127.0.0.1", () => {
        this.#server.off("error", reject)
        this.#port = (this.#server.address() as AddressInfo).port
        resolve()
      })
    })
  }

  #receive(request: IncomingMessage, response: ServerResponse): void {
    const exchange = new Exchange(request, response, this.#format)
    const { path, queryText: query, verb, scope, route } = exchange
    exchange.onTrouble = this.#onTrouble
    exchange.onStatus = this.requests.open({
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
    if (this.faults.isBlackHole(scope)) this.faults.park(exchange, () => this.#answer(exchange))
    else this.#answer(exchange)
  }

  #answer(exchange: Exchange): void {
    exchange.attempt(() => {
      const failure = this.#dispatch(exchange)
      if (failure !== undefined) exchange.fail(failure)
    })
  }

  /** A read of one object, when its time has come. */
  #pass(exchange: Exchange, answer: () => void): void {
    this.faults.gets.pass(() => exchange.attempt(answer))
  }

  /** Answers the exchange, now or later, or says why not. */
  #dispatch(exchange: Exchange): Failure | undefined {
    const { route, request } = exchange
    const { registry } = this.#backend
    if (route.type === "malformed") return malformedPath
    if (this.#token !== undefined && request.headers.authorization !== `Bearer ${this.#token}`) return unauthorized
    const resource = route.type === "resource" ? registry.at(route.group, route.version, route.plural) : undefined
    const injected = this.faults.takeAnswer(exchange, resource)
    if (injected !== undefined) return injected
    if (route.type !== "resource") return this.#discover(exchange)
    if (resource === undefined) return missingIn(registry, route.group)
    exchange.deprecationWarning = resource.deprecationWarning
    const refusal = refusedPath(exchange, route, resource)
    if (refusal !== undefined) return refusal
    if (exchange.request.method !== "GET") return this.#write(exchange, route, resource)
    if (isBelow(route)) return this.#getBelow(exchange, route, resource)
    const form = this.#form(exchange, resource)
    if (form !== undefined && "type" in form) return form
    const { name, namespace = "" } = route
    if (name !== undefined && exchange.verb === "get") return this.#get(exchange, resource, namespace, name, form)
    return exchange.verb === "watch"
      ? this.#watch(exchange, resource, route.namespace, form)
      : this.#list(exchange, resource, route.namespace, form)
  }

  #write(exchange: Exchange, route: ResourceRoute, resource: Resource): Failure | undefined {
    const { write } = this.#backend
    if (write === undefined) return methodNotAllowed
    const form = this.#form(exchange, resource)
    if (form !== undefined && "type" in form) return form
    return receiveWrite(exchange, route, resource, (request) => {
      const outcome = this.#backend.write?.(request) ?? methodNotAllowed
      if (form === undefined || outcome.type === "failure" || outcome.change === undefined) return outcome
      return { ...outcome, json: form.object(outcome.change) }
    })
  }

  #getBelow(
    exchange: Exchange,
    { name = "", namespace = "", subresource = "" }: ResourceRoute,
    resource: Resource,
  ): undefined {
    this.#pass(exchange, () => {
      const answer = this.#backend.readSubresource?.(resource, namespace, name, subresource) ?? unknownResource
      if (answer.type === "failure") exchange.fail(answer)
      else exchange.written(answer)
    })
  }

  #form({ request, query, verb }: Exchange, resource: Resource): Form | Failure | undefined {
    const answer = verb === "watch" || verb === "list" ? verb : "object"
    const now = (): number => this.#clock.wallMicros() / 1000
    return negotiateForm({ resource, accept: request.headers.accept, query, answer, now })
  }

  #discover(exchange: Exchange): Failure | undefined {
    if (exchange.request.method !== "GET") return methodNotAllowed
    const { route, request } = exchange
    if (route.type === "openapi") return answerOpenApi(exchange, route.document, this.#backend.documents)
    const answer = answerDiscovery(route, this.#backend.registry, request.headers)
    if (answer.type === "failure") return answer
    if (answer.type === "json") exchange.json(answer.document)
    else if (answer.type === "plain") exchange.plain(answer.text)
    else exchange.cacheable(answer.text, answer.contentType, answer.etag)
    return undefined
  }

  #get(exchange: Exchange, resource: Resource, namespace: string, name: string, form?: Form): Failure | undefined {
    const refusal = refusedVersion(exchange.query)
    if (refusal !== undefined) return refusal
    this.#pass(exchange, () => {
      const change = this.#backend.get(resource, namespace, name)
      if (change === undefined) exchange.fail(objectNotFound(resource, name))
      else exchange.text(form?.object(change) ?? objectBytes(change).toString("utf8"))
    })
    return undefined
  }

  #list(exchange: Exchange, resource: Resource, namespace: string | undefined, form?: Form): Failure | undefined {
    const request = parseListRequest(exchange.query, namespace, resource)
    if ("type" in request) return request
    const answer = this.#backend.list(resource, request)
    if (answer.type === "failure") return answer
    // Only the connection can fail while a list is sent, and then nobody is left to tell.
    sendList(exchange, resource, answer, this.#format, form).catch(() => exchange.response.destroy())
    return undefined
  }

  #watch(exchange: Exchange, resource: Resource, namespace: string | undefined, form?: Form): Failure | undefined {
    const { streamingList = "supported", expiredAs = "stream" } = this.#options
    const request = parseWatchRequest(exchange.query, namespace, resource, streamingList)
    if ("type" in request) return request
    const forced = this.faults.takeExpiry(resource.plural, request)
    const feed = forced?.failure ?? this.#backend.watch(resource, request)
    if (typeof feed === "function") {
      const stream = this.#open(exchange, resource, request, form)
      stream.onClose(feed(stream))
      stream.goLive()
      return undefined
    }
    if (feed.code === 410 && (forced?.as ?? expiredAs) === "http") return feed
    this.#open(exchange, resource, request).error(feed)
    return undefined
  }

  #open(exchange: Exchange, resource: Resource, request: WatchRequest, form?: Form): WatchStream {
    const { selection, allowBookmarks, timeoutSeconds } = request
    const timeout = timeoutSeconds === undefined ? {} : { timeoutSeconds }
    const wanted = { resource, selection, allowBookmarks, ...timeout, ...(form === undefined ? {} : { form }) }
    const stream = new WatchStream(exchange.begin(), wanted, this.#surroundings)
    this.#streams.add(stream)
    stream.onClose(() => this.#streams.delete(stream))
    if (this.faults.holds(resource.plural)) stream.hold()
    return stream
  }
}
