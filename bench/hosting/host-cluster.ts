/** The cluster of scenario *host*: ten kinds with objects in a sandbox of its own process, and changes of them at a steady pace. */
import { Agent, request } from "node:http"
import { setTimeout as sleep } from "node:timers/promises"
import { BenchServer } from "../serving/sandbox-server.ts"
import { changeAnnotation } from "./change-stamp.ts"
import { wallMicros } from "./wall-clock.ts"

export interface HostKind {
  readonly kind: string
  /** `apps/v1`; `v1` for the core group. */
  readonly apiVersion: string
  readonly plural: string
  readonly objects: number
}

/** Namespace of all objects. */
const namespace = "bench"

/** Objects of the other kinds: at 1,000 events/s over ten kinds each of them changes once a second. */
const fewObjects = 100

/** @param pods 2,000 in the budgets' workload, @param configMaps 1,000 */
export const hostKinds = (pods: number, configMaps: number): ReadonlyArray<HostKind> => [
  { kind: "Pod", apiVersion: "v1", plural: "pods", objects: pods },
  { kind: "ConfigMap", apiVersion: "v1", plural: "configmaps", objects: configMaps },
  { kind: "Secret", apiVersion: "v1", plural: "secrets", objects: fewObjects },
  { kind: "ServiceAccount", apiVersion: "v1", plural: "serviceaccounts", objects: fewObjects },
  { kind: "Endpoints", apiVersion: "v1", plural: "endpoints", objects: fewObjects },
  { kind: "ResourceQuota", apiVersion: "v1", plural: "resourcequotas", objects: fewObjects },
  { kind: "PodTemplate", apiVersion: "v1", plural: "podtemplates", objects: fewObjects },
  { kind: "ControllerRevision", apiVersion: "apps/v1", plural: "controllerrevisions", objects: fewObjects },
  { kind: "Lease", apiVersion: "coordination.k8s.io/v1", plural: "leases", objects: fewObjects },
  { kind: "Role", apiVersion: "rbac.authorization.k8s.io/v1", plural: "roles", objects: fewObjects },
]

export const gvkOfKind = ({ apiVersion, kind }: HostKind): string => `${apiVersion}.${kind}`

const groupPath = (apiVersion: string): string =>
  apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`

/** Of all namespaces. */
export const listPath = ({ apiVersion, plural }: HostKind): string => `${groupPath(apiVersion)}/${plural}`

const pathIn = ({ apiVersion, plural }: HostKind): string =>
  `${groupPath(apiVersion)}/namespaces/${namespace}/${plural}`

const nameOf = (index: number): string => `web-${String(index).padStart(6, "0")}`

/** What a kind requires beside its metadata. */
const requiredOf = (kind: HostKind): object => {
  switch (kind.kind) {
    case "ConfigMap":
      return { data: { note: "n".repeat(900) } }
    case "PodTemplate":
      return { template: { spec: { containers: [{ name: "main", image: "registry.example/web:1" }] } } }
    case "ControllerRevision":
      return { revision: 1, data: {} }
    case "Role":
      return { rules: [] }
    default:
      return {}
  }
}

/** What became of an order of changes. */
export interface SentChanges {
  /** By kind, in the order of the cluster's kinds. */
  readonly ofKind: ReadonlyArray<number>
  /** The longest delay of a change after it was due, ms: of this process, not of what is measured. */
  readonly lateMs: number
}

/** Simultaneous requests. */
const connections = 16

export class HostCluster implements AsyncDisposable {
  readonly kinds: ReadonlyArray<HostKind>
  readonly #server: BenchServer
  readonly #agent = new Agent({ keepAlive: true, maxSockets: connections })
  #changes = 0
  #marks = 0

  static async start(kinds: ReadonlyArray<HostKind>): Promise<HostCluster> {
    const server = await BenchServer.start({ server: "sandbox" })
    const cluster = new HostCluster(server, kinds)
    await cluster.#send("POST", "/api/v1/namespaces", { metadata: { name: namespace } })
    for (const kind of kinds) {
      if (kind.kind === "Pod") await server.perform({ pods: kind.objects, from: 0 })
      else await cluster.#createAll(kind)
    }
    return cluster
  }

  private constructor(server: BenchServer, kinds: ReadonlyArray<HostKind>) {
    this.#server = server
    this.kinds = kinds
  }

  get port(): number {
    return this.#server.port
  }

  /**
   * Changes the objects in turn, those of the kinds alternately. Each change has the moment at which it was sent. Resolves when all have been
   * answered; rejects if one is refused.
   */
  async change(count: number, perSecond: number): Promise<SentChanges> {
    const ofKind = this.kinds.map(() => 0)
    const start = performance.now()
    const answers: Array<Promise<void>> = []
    let lateMs = 0
    for (let sent = 0; sent < count; sent++) {
      const due = start + (sent * 1000) / perSecond
      while (performance.now() < due) await sleep(Math.max(1, Math.floor(due - performance.now())))
      lateMs = Math.max(lateMs, performance.now() - due)
      const index = this.#changes++ % this.kinds.length
      ofKind[index] = (ofKind[index] ?? 0) + 1
      const answer = this.#stamp(index, Math.floor(this.#changes / this.kinds.length), String(wallMicros()))
      // Awaited below; it may be rejected before.
      answer.catch(() => undefined)
      answers.push(answer)
    }
    await Promise.all(answers)
    return { ofKind, lateMs }
  }

  /** Makes all subjects tell what they have measured: a change of one object of each kind. */
  async mark(): Promise<void> {
    const mark = this.#marks++
    // Two of them in a row differ, or the second would be no change.
    for (const kind of this.kinds.keys()) await this.#stamp(kind, 0, `0${mark % 10}`)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#agent.destroy()
    await this.#server[Symbol.asyncDispose]()
  }

  async #createAll(kind: HostKind): Promise<void> {
    const metadata = { labels: { app: "web" }, annotations: { "example.com/note": "n".repeat(300) } }
    for (let from = 0; from < kind.objects; from += connections) {
      const some = Array.from({ length: Math.min(connections, kind.objects - from) }, (_, index) => from + index)
      const create = (index: number): Promise<void> =>
        this.#send("POST", pathIn(kind), { ...requiredOf(kind), metadata: { ...metadata, name: nameOf(index) } })
      await Promise.all(some.map(create))
    }
  }

  #stamp(kindIndex: number, index: number, stamp: string): Promise<void> {
    const kind = this.kinds[kindIndex % this.kinds.length]
    if (kind === undefined) throw new Error("a cluster without kinds")
    const body = { metadata: { annotations: { [changeAnnotation]: stamp } } }
    return this.#send("PATCH", `${pathIn(kind)}/${nameOf(index % kind.objects)}`, body)
  }

  #send(method: "POST" | "PATCH", path: string, body: object): Promise<void> {
    const type = method === "PATCH" ? "application/merge-patch+json" : "application/json"
    const text = JSON.stringify(body)
    const headers = { "Content-Type": type, "Content-Length": Buffer.byteLength(text) }
    return new Promise((resolve, reject) => {
      const options = { host: "127.0.0.1", port: this.port, agent: this.#agent, method, path, headers }
      const sent = request(options, (response) => {
        const parts: Array<Buffer> = []
        response.on("data", (part: Buffer) => parts.push(part))
        response.on("end", () => {
          if ((response.statusCode ?? 0) < 300) resolve()
          else reject(new Error(`${method} ${path}: ${Buffer.concat(parts).toString()}`))
        })
      })
      sent.on("error", reject)
      sent.end(text)
    })
  }
}
