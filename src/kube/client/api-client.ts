/**
 * A small JSON client for one API server: what controllers need beyond watching.
 *
 * Guaranteed: each call settles once, with the parsed answer or an {@link ApiError}; connections are kept and shared.
 * Nothing is tried again here, but a read on a connection that was found closed: a controller decides anew from what is
 * then true. Under overload calls wait for one of
 * `maximumConnections` sockets.
 * Not provided: proxies (an endpoint with `proxy` is talked to directly), protobuf.
 */

import { Agent as HttpAgent, type IncomingMessage, request as requestHttp } from "node:http"
import { Agent as HttpsAgent, request as requestHttps } from "node:https"
import type { ApiEndpoint } from "../../kube/endpoint.ts"
import { statusOfResponse } from "../../kube/status.ts"
import { ApiUnreachableError, errorOfStatus } from "./api-errors.ts"
import { collectionPath, type Kind, objectPath } from "./kinds.ts"
import type { ApiObject } from "./objects.ts"

/** How a PATCH body is to be read. */
export type PatchType = "json" | "merge" | "strategic-merge"

export interface ListOptions {
  /** Default: all namespaces. */
  readonly namespace?: string
  readonly labelSelector?: string
  readonly fieldSelector?: string
  /** Items per page; all pages are fetched. Default 500, as client-go's pager. */
  readonly limit?: number
}

export interface ObjectList<T> {
  readonly items: ReadonlyArray<T>
  readonly resourceVersion: string
}

export interface DeleteOptions {
  readonly gracePeriodSeconds?: number
  readonly propagationPolicy?: "Background" | "Foreground" | "Orphan"
  /** Delete only if the object still is this one. */
  readonly uid?: string
  readonly resourceVersion?: string
}

/** Where an object is. An empty or absent namespace means a cluster-scoped kind. */
export interface Place {
  readonly namespace?: string | undefined
  readonly name: string
}

/** Objects are identified by their own metadata wherever they are given. Every method rejects with {@link ApiError}. */
export interface ApiClient {
  get<T extends ApiObject>(kind: Kind, place: Place): Promise<T>
  list<T extends ApiObject>(kind: Kind, options?: ListOptions): Promise<ObjectList<T>>
  create<T extends ApiObject>(kind: Kind, object: T): Promise<T>
  /** POSTs to a subresource, such as the `binding` of a Pod. */
  createSubresource(kind: Kind, place: Place, subresource: string, body: unknown): Promise<void>
  update<T extends ApiObject>(kind: Kind, object: T): Promise<T>
  updateStatus<T extends ApiObject>(kind: Kind, object: T): Promise<T>
  patch<T extends ApiObject>(kind: Kind, place: Place, type: PatchType, body: unknown, subresource?: string): Promise<T>
  /** The object as it now is when it lives on (finalizers, grace period), `undefined` when it is gone. */
  delete<T extends ApiObject>(kind: Kind, place: Place, options?: DeleteOptions): Promise<T | undefined>
}

export interface HttpApiClientOptions {
  /** Default `kubereel-workload`. */
  readonly userAgent?: string
  /** Default 16: more requests at once only queue in a server of one process. */
  readonly maximumConnections?: number
  /** ms without a byte after which a call fails. Default 30,000. The machine's time: it is about the network. */
  readonly silenceMs?: number
}

const contentTypes: Readonly<Record<PatchType, string>> = {
  json: "application/json-patch+json",
  merge: "application/merge-patch+json",
  "strategic-merge": "application/strategic-merge-patch+json",
}

export class HttpApiClient implements ApiClient {
  readonly #base: URL
  readonly #prefix: string
  readonly #headers: ReadonlyArray<readonly [string, string]>
  readonly #agent: HttpAgent | HttpsAgent
  readonly #silenceMs: number

  constructor(endpoint: ApiEndpoint, options: HttpApiClientOptions = {}) {
    const { userAgent = "kubereel-workload", maximumConnections = 16, silenceMs = 30_000 } = options
    this.#base = new URL(endpoint.server)
    this.#prefix = this.#base.pathname.replace(/\/$/, "")
    this.#headers = [["User-Agent", userAgent], ["Accept", "application/json"], ...endpoint.headers]
    this.#silenceMs = silenceMs
    const pool = { keepAlive: true, maxSockets: maximumConnections }
    this.#agent =
      this.#base.protocol === "https:"
        ? new HttpsAgent({
            ...pool,
            ...(endpoint.certificateAuthority === undefined ? {} : { ca: endpoint.certificateAuthority }),
            ...(endpoint.clientCertificate === undefined ? {} : { cert: endpoint.clientCertificate }),
            ...(endpoint.clientKey === undefined ? {} : { key: endpoint.clientKey }),
            ...(endpoint.tlsServerName === undefined ? {} : { servername: endpoint.tlsServerName }),
            rejectUnauthorized: endpoint.skipTlsVerify !== true,
          })
        : new HttpAgent(pool)
  }

  get<T extends ApiObject>(kind: Kind, { namespace, name }: Place): Promise<T> {
    return this.#call<T>("GET", objectPath(kind, namespace, name))
  }

  async list<T extends ApiObject>(kind: Kind, options: ListOptions = {}): Promise<ObjectList<T>> {
    const items: T[] = []
    let resourceVersion = ""
    let token: string | undefined
    do {
      const query = new URLSearchParams({ limit: String(options.limit ?? 500) })
      if (options.labelSelector !== undefined) query.set("labelSelector", options.labelSelector)
      if (options.fieldSelector !== undefined) query.set("fieldSelector", options.fieldSelector)
      if (token !== undefined) query.set("continue", token)
      const page = await this.#call<ListPage<T>>("GET", `${collectionPath(kind, options.namespace)}?${query}`)
      items.push(...(page.items ?? []))
      resourceVersion = page.metadata.resourceVersion ?? ""
      token = page.metadata.continue === "" ? undefined : page.metadata.continue
    } while (token !== undefined)
    return { items, resourceVersion }
  }

  create<T extends ApiObject>(kind: Kind, object: T): Promise<T> {
    const { name, ...metadata } = object.metadata
    // An empty name asks the server to make one of generateName; it is left out as client-go leaves it out.
    const body = name === "" ? { ...object, metadata } : object
    return this.#call<T>("POST", collectionPath(kind, object.metadata.namespace), body)
  }

  async createSubresource(kind: Kind, { namespace, name }: Place, subresource: string, body: unknown): Promise<void> {
    await this.#call("POST", objectPath(kind, namespace, name, subresource), body)
  }

  update<T extends ApiObject>(kind: Kind, object: T): Promise<T> {
    return this.#call<T>("PUT", objectPath(kind, object.metadata.namespace, object.metadata.name), object)
  }

  updateStatus<T extends ApiObject>(kind: Kind, object: T): Promise<T> {
    return this.#call<T>("PUT", objectPath(kind, object.metadata.namespace, object.metadata.name, "status"), object)
  }

  patch<T extends ApiObject>(kind: Kind, place: Place, type: PatchType, body: unknown, sub?: string): Promise<T> {
    return this.#call<T>("PATCH", objectPath(kind, place.namespace, place.name, sub), body, contentTypes[type])
  }

  async delete<T extends ApiObject>(kind: Kind, place: Place, options: DeleteOptions = {}): Promise<T | undefined> {
    const { uid, resourceVersion, ...rest } = options
    const preconditions = uid === undefined && resourceVersion === undefined ? undefined : { uid, resourceVersion }
    const body = { kind: "DeleteOptions", apiVersion: "v1", ...rest, preconditions }
    const answer = await this.#call<T>("DELETE", objectPath(kind, place.namespace, place.name), body)
    // A Status, or (Pods without grace) the last state of what is gone: neither lives on.
    const livesOn = answer.kind === kind.gvk.kind && answer.metadata.deletionTimestamp !== undefined
    const isLast = livesOn && answer.metadata.deletionGracePeriodSeconds === 0 && !answer.metadata.finalizers?.length
    return livesOn && !isLast ? answer : undefined
  }

  /** Ends the connections; calls under way reject. */
  close(): void {
    this.#agent.destroy()
  }

  #call<T>(
    method: string,
    path: string,
    body?: unknown,
    contentType = "application/json",
    isRetry = false,
  ): Promise<T> {
    return new Promise((resolve, reject) => {
      const unreachable = (error: Error): void =>
        reject(new ApiUnreachableError({ method, path, detail: error.message }))
      const options = {
        method,
        agent: this.#agent,
        host: this.#base.hostname.replace(/^\[|\]$/g, ""),
        port: this.#base.port,
        path: this.#prefix + path,
      }
      const receive = (response: IncomingMessage): void => {
        const parts: Buffer[] = []
        response.on("data", (part: Buffer) => parts.push(part))
        response.on("error", unreachable)
        response.on("end", () => {
          const text = Buffer.concat(parts).toString("utf8")
          const code = response.statusCode ?? 0
          if (code >= 200 && code < 300) {
            const parsed = parseJson(text)
            if (parsed instanceof Error) unreachable(parsed)
            else resolve(parsed as T)
            return
          }
          const headers = new Map(Object.entries(response.headers).map(([name, value]) => [name, String(value)]))
          reject(errorOfStatus(method, path, statusOfResponse(code, headers, text)))
        })
      }
      const sent = this.#base.protocol === "https:" ? requestHttps(options, receive) : requestHttp(options, receive)
      for (const [name, value] of this.#headers) sent.appendHeader(name, value)
      sent.on("error", (error) => {
        // A resting connection that the server has closed meanwhile: only a read may be sent once more.
        if (method !== "GET" || isRetry || !sent.reusedSocket) unreachable(error)
        else this.#call<T>(method, path, body, contentType, true).then(resolve, reject)
      })
      sent.setTimeout(this.#silenceMs, () => sent.destroy(new Error(`no answer within ${this.#silenceMs} ms`)))
      if (body === undefined) sent.end()
      else {
        const bytes = Buffer.from(JSON.stringify(body))
        sent.setHeader("Content-Type", contentType)
        sent.setHeader("Content-Length", bytes.length)
        sent.end(bytes)
      }
    })
  }
}

interface ListPage<T> {
  readonly items?: ReadonlyArray<T> | null
  readonly metadata: { readonly resourceVersion?: string; readonly continue?: string }
}

const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch (error) {
    // An answer of 200 that is no JSON comes from something in front of the server.
    return new Error(`the answer is not JSON: ${String(error)}`)
  }
}
