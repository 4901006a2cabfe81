/**
 * ConfigMaps of a cluster that a test changes, and a simulated server that sends its namespaces to a watcher line by line on request.
 * Without sockets, so that a life can end between any two lines.
 */
import type { HttpStream, ResponseHandler } from "../../../src/kube/index.ts"

export interface PlayedObject {
  readonly namespace: string
  readonly name: string
  readonly uid: string
  readonly version: number
}

export interface PlayedChange extends PlayedObject {
  readonly type: "ADDED" | "MODIFIED" | "DELETED"
}

export class PlayedCluster {
  readonly uid: string
  /** Whether the objects have namespaces; otherwise the namespace is the empty string. */
  readonly isNamespaced: boolean
  /** Of the whole cluster, as etcd counts. */
  version: number
  readonly objects = new Map<string, PlayedObject>()
  readonly changes: PlayedChange[] = []

  constructor(uid = "first", version = 100, isNamespaced = true) {
    this.uid = uid
    this.version = version
    this.isNamespaced = isNamespaced
  }

  put(namespace: string, name: string): void {
    const key = `${namespace}/${name}`
    const before = this.objects.get(key)
    const version = ++this.version
    const object = { namespace, name, uid: before?.uid ?? `${key}-${version}-${this.uid}`, version }
    this.objects.set(key, object)
    this.changes.push({ ...object, type: before === undefined ? "ADDED" : "MODIFIED" })
  }

  delete(namespace: string, name: string): void {
    const key = `${namespace}/${name}`
    const before = this.objects.get(key)
    if (before === undefined) return
    this.objects.delete(key)
    this.changes.push({ ...before, version: ++this.version, type: "DELETED" })
  }

  /** The state that a backup of this moment would restore, as another cluster. */
  copy(uid: string): PlayedCluster {
    const copy = new PlayedCluster(uid, this.version, this.isNamespaced)
    for (const [key, object] of this.objects) copy.objects.set(key, object)
    copy.changes.push(...this.changes)
    return copy
  }

  /** `undefined`: everywhere. */
  in(namespace: string | undefined): ReadonlyArray<PlayedObject> {
    return [...this.objects.values()].filter((object) => namespace === undefined || object.namespace === namespace)
  }
}

/** One watch and how much of it was served. */
class Stream implements HttpStream {
  /** `undefined`: of the whole cluster. */
  readonly namespace: string | undefined
  readonly handler: ResponseHandler
  bytesReceived = 0
  isOpen = true
  /** The client is not reading: no lines are sent, and an end is reported later. */
  isPaused = false
  #isCut = false
  #lines: string[] | undefined
  #begin: number
  #isAnswered = false
  readonly #cluster: PlayedCluster

  constructor(cluster: PlayedCluster, namespace: string | undefined, query: URLSearchParams, handler: ResponseHandler) {
    this.namespace = namespace
    this.handler = handler
    this.#cluster = cluster
    this.#begin = Number(query.get("resourceVersion") ?? cluster.version)
    if (query.get("sendInitialEvents") !== "true") return
    const end = { metadata: { resourceVersion: String(cluster.version), annotations: initialEventsEnd } }
    this.#lines = [...cluster.in(namespace).map((object) => lineOf("ADDED", object)), line("BOOKMARK", end)]
    this.#begin = cluster.version
  }

  pause(): void {
    this.isPaused = true
  }

  resume(): void {
    this.isPaused = false
    if (this.#isCut) this.cut()
  }

  /** The server closes the connection. */
  cut(): void {
    this.#isCut = true
    if (this.isPaused || !this.isOpen) return
    this.isOpen = false
    this.handler.end({ tag: "truncated" })
  }

  abort(): void {
    this.isOpen = false
  }

  /** 200, before any line is sent. */
  answer(): void {
    if (!this.#isAnswered) this.handler.head(200, new Map())
    this.#isAnswered = true
  }

  /** At most so many lines, each a separate network read; returns their number. */
  serve(most: number): number {
    let served = 0
    if (this.isPaused || this.#isCut) return served
    this.answer()
    for (; served < most && this.isOpen && !this.isPaused; served++) {
      const next = this.#next()
      if (next === undefined) break
      this.say(next)
    }
    return served
  }

  say(text: string): void {
    this.answer()
    const bytes = Buffer.from(text)
    this.bytesReceived += bytes.length
    this.handler.data(bytes, 0, bytes.length)
    if (this.isOpen) this.handler.readDone?.()
  }

  #next(): string | undefined {
    const listed = this.#lines?.shift()
    if (listed !== undefined) return listed
    const change = this.#cluster.changes.find(
      ({ namespace, version }) =>
        (namespace === this.namespace || this.namespace === undefined) && version > this.#begin,
    )
    if (change === undefined) return undefined
    this.#begin = change.version
    return lineOf(change.type, change)
  }
}

const initialEventsEnd = { "k8s.io/initial-events-end": "true" }

const line = (type: string, object: unknown): string => `${JSON.stringify({ type, object })}\n`

const objectOf = ({ namespace, name, uid, version }: PlayedObject): unknown => ({
  metadata: { namespace, name, uid, resourceVersion: String(version) },
})

const lineOf = (type: string, object: PlayedObject): string => line(type, objectOf(object))

const resources = (namespaced: boolean) => ({
  kind: "APIResourceList",
  resources: [{ name: "configmaps", kind: "ConfigMap", namespaced, verbs: ["list", "watch"] }],
})

/** The watcher's API client. */
export class PlayedServer {
  cluster: PlayedCluster
  #streams: Stream[] = []
  /** Namespaces with watches that began with all objects. */
  readonly listed: Array<string | undefined> = []

  constructor(cluster: PlayedCluster) {
    this.cluster = cluster
  }

  get(path: string, _headers: unknown, handler: ResponseHandler): HttpStream {
    const url = new URL(path, "http://server")
    const [, namespace] = /\/namespaces\/([^/]+)\/configmaps$/.exec(url.pathname) ?? []
    if (url.searchParams.has("watch")) {
      if (url.searchParams.has("sendInitialEvents")) this.listed.push(namespace)
      const stream = new Stream(this.cluster, namespace, url.searchParams, handler)
      this.#streams.push(stream)
      return stream
    }
    queueMicrotask(() => {
      const bytes = Buffer.from(JSON.stringify(this.#answer(url.pathname, namespace)))
      handler.head(200, new Map())
      handler.data(bytes, 0, bytes.length)
      handler.readDone?.()
      handler.end({ tag: "complete" })
    })
    return { pause: () => undefined, resume: () => undefined, abort: () => undefined, bytesReceived: 0 }
  }

  /** The response to every other request, at once: discovery, the cluster's identity, paged lists. */
  #answer(path: string, namespace: string | undefined): unknown {
    if (path === "/api/v1") return resources(this.cluster.isNamespaced)
    const { uid, version } = this.cluster
    const items = this.cluster.in(namespace).map(objectOf)
    return { kind: "ConfigMapList", metadata: { uid, resourceVersion: String(version) }, items }
  }

  /** Sends at most so many lines to the open watches of a namespace; returns their number. */
  serve(namespace: string | undefined, most: number): number {
    return this.#open(namespace).reduce((sum, stream) => sum + stream.serve(most), 0)
  }

  /** Responds with 200 to the watches of a namespace, and sends nothing else. */
  answer(namespace: string | undefined): void {
    for (const stream of this.#open(namespace)) stream.answer()
  }

  /** 410 in the stream. */
  expire(namespace: string | undefined): void {
    for (const stream of this.#open(namespace)) {
      if (!stream.isPaused)
        stream.say(line("ERROR", { kind: "Status", code: 410, reason: "Expired", message: "too old" }))
    }
  }

  hangUp(namespace: string | undefined): void {
    for (const stream of this.#open(namespace)) stream.cut()
  }

  /** Another cluster responds from now on; open connections are closed. */
  become(cluster: PlayedCluster): void {
    this.cluster = cluster
    for (const namespace of this.watched) this.hangUp(namespace)
  }

  /** The namespaces of the open watches. */
  get watched(): ReadonlyArray<string | undefined> {
    return [...new Set(this.#streams.filter(({ isOpen }) => isOpen).map(({ namespace }) => namespace))]
  }

  /** Only namespaces of which everything was served. */
  bookmark(namespace: string | undefined): void {
    const object = { metadata: { resourceVersion: String(this.cluster.version) } }
    for (const stream of this.#open(namespace)) {
      stream.serve(Number.POSITIVE_INFINITY)
      if (stream.isOpen && !stream.isPaused) stream.say(line("BOOKMARK", object))
    }
  }

  #open(namespace: string | undefined): ReadonlyArray<Stream> {
    this.#streams = this.#streams.filter(({ isOpen }) => isOpen)
    return this.#streams.filter((stream) => stream.namespace === namespace)
  }
}
