/** A recorder as its users run it (configuration, real workers, `POST /export`) of a sandbox whose objects own each other. */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import type { StoredObject } from "../../../src/apiserver/index.ts"
import { type RunningRecorder, startRecorder } from "../../../src/recorder/recorder.ts"
import { Sandbox } from "../../../src/sandbox/index.ts"
import { podKind, podLivesKind, type SimkubeTraceItem, SimkubeTraceReader } from "../../../src/trace/index.ts"
import { configurationOf, everything, kubeconfigOf, until, Workplace } from "../recorder/recorder-command.ts"
import { type Change, impatient, untiring } from "./recorded-sandbox.ts"

/** The content of an export in SimKube's format. */
export interface ExportedTrace {
  /** `Kubereel-Unknown-Owners`. */
  readonly unknownOwners: string | null
  /** `v1.Pod shop/web-1`: everything that the trace ever applies, sorted. */
  readonly objects: ReadonlyArray<string>
  /** `Pod shop/web-1`, as often as the trace deletes it, sorted. */
  readonly deleted: ReadonlyArray<string>
  /** `apps/v1.Deployment shop/web 100-200`, one line for each life; `100-` still runs. Sorted. */
  readonly lifecycles: ReadonlyArray<string>
}

/** Members of the request in addition to those that request everything. */
export interface ExportWishes {
  readonly filters?: Readonly<Record<string, unknown>>
  /** µs since the Unix epoch. */
  readonly start_time?: number
  readonly end_time?: number
  readonly owner_deadline_ms?: number
}

/** Times of containers, seconds since the Unix epoch. */
export interface Container {
  readonly start: number
  readonly end?: number
}

export class OwnerRecorder {
  readonly sandbox: Sandbox
  readonly running: RunningRecorder
  readonly #scope: Scope.Closeable
  readonly #place: Workplace

  private constructor(sandbox: Sandbox, running: RunningRecorder, scope: Scope.Closeable, place: Workplace) {
    this.sandbox = sandbox
    this.running = running
    this.#scope = scope
    this.#place = place
  }

  /** Resolves when it is ready. `kinds`: each with its settings in YAML's flow form. */
  static async start(kinds: Readonly<Record<string, string>>): Promise<OwnerRecorder> {
    const sandbox = await Sandbox.start()
    const place = new Workplace()
    const scope = await Effect.runPromise(Scope.make())
    const quiet = { error: () => undefined, warn: () => undefined, info: () => undefined, debug: () => undefined }
    const running = await Effect.runPromise(
      startRecorder(
        {
          config: place.write("config.yml", configurationOf(kinds)),
          kubeconfig: place.write("kubeconfig", kubeconfigOf({ server: sandbox.url })),
          context: undefined,
          port: 0,
          bind: "127.0.0.1",
          dataDir: place.path("data"),
          namespaces: [],
          secretsInPlainText: false,
          fsync: "interval",
          reportEvents: false,
          version: "test",
          policy: impatient,
          restart: untiring,
        },
        quiet,
      ).pipe(Effect.provideService(Scope.Scope, scope)),
    )
    const recorder = new OwnerRecorder(sandbox, running, scope, place)
    await until(
      async () => running.actors.statuses.isReady,
      () => running.actors.statuses.verboseReadiness(),
    )
    return recorder
  }

  /** Waits until every kind is watched: one that was registered just now is listed first, and exports are refused until then. */
  async watching(): Promise<void> {
    const { statuses } = this.running.actors
    await until(
      async () => statuses.incomplete().length === 0,
      () => statuses.verboseReadiness(),
    )
  }

  /** Waits until every change of a kind, or of all watched kinds, in the sandbox is committed. */
  async recorded(...kinds: ReadonlyArray<string>): Promise<void> {
    for (const { gvk } of this.running.actors.watchers) {
      if (kinds.length > 0 && !kinds.includes(gvk)) continue
      const last = this.sandbox.ledger.of(gvk === podLivesKind ? podKind : gvk).at(-1)
      if (last === undefined) continue
      const { store } = this.running.actors
      const reached = async (): Promise<boolean> => {
        const { resumeVersion } = await Effect.runPromise(store.call("kindState", gvk))
        return resumeVersion !== "" && BigInt(resumeVersion) >= BigInt(last.resourceVersion)
      }
      await until(reached, () => `${gvk} to be recorded up to version ${last.resourceVersion}`, 30_000)
    }
  }

  /** A time, µs since the Unix epoch, after all events so far and before all later ones. */
  async boundary(): Promise<number> {
    await this.recorded()
    const now = Date.now()
    while (Date.now() <= now + 1) await new Promise(setImmediate)
    return (now + 1) * 1000
  }

  /** The owner-resolver's counters; starts it if it was not needed so far. */
  statistics() {
    const resolver = this.running.actors.owners.needed()
    return Effect.runPromise(Effect.andThen(resolver.running(), resolver.call("statistics", undefined)))
  }

  /** An export in SimKube's format. */
  async trace(wishes: ExportWishes = {}): Promise<ExportedTrace> {
    const answer = await this.#post("simkube", { owner_deadline_ms: 30_000, ...wishes })
    const unknownOwners = answer.headers.get("kubereel-unknown-owners")
    return { unknownOwners, ...readTrace(new Uint8Array(await answer.arrayBuffer())) }
  }

  /** The changes in an NDJSON export. */
  async changes(wishes: ExportWishes = {}): Promise<ReadonlyArray<Change>> {
    const answer = await this.#post("ndjson", wishes)
    const lines = (await answer.text()).split("\n").filter((line) => line.includes('"action"'))
    return lines.map((line) => JSON.parse(line) as Change)
  }

  async close(): Promise<void> {
    this.sandbox.faults.clear()
    await Effect.runPromise(Scope.close(this.#scope, Exit.void))
    await this.#place.close()
    await this.sandbox.close()
  }

  async #post(format: "simkube" | "ndjson", { filters, ...wishes }: ExportWishes): Promise<Response> {
    const request = everything(format)
    const body = JSON.stringify({ ...request, ...wishes, filters: { ...request.filters, ...filters } })
    const answer = await fetch(`http://127.0.0.1:${this.running.port}/export`, { method: "POST", body })
    if (answer.status !== 200) throw new Error(`the export failed with ${answer.status}: ${await answer.text()}`)
    return answer
  }
}

/** The content of a trace's bytes. */
export const readTrace = (bytes: Uint8Array): Omit<ExportedTrace, "unknownOwners"> => {
  const reader = new SimkubeTraceReader()
  const items = [...reader.push(bytes), ...reader.end()]
  return {
    objects: items.flatMap((item) => (item.type === "index" ? [`${item.gvk} ${item.name}`] : [])).sort(),
    deleted: items.flatMap((item) => (item.type === "deleted" ? [nameOf(item.object)] : [])).sort(),
    lifecycles: items.flatMap(livesOf).sort(),
  }
}

const nameOf = (object: object): string => {
  const { kind, metadata } = object as {
    readonly kind: string
    readonly metadata: { readonly name: string; readonly namespace?: string }
  }
  return `${kind} ${metadata.namespace === undefined ? "" : `${metadata.namespace}/`}${metadata.name}`
}

const livesOf = (item: SimkubeTraceItem): ReadonlyArray<string> => {
  if (item.type !== "lifecycles") return []
  const lives = [...item.pods.values()].flat()
  return lives.map((life) => {
    const span = life.state === "empty" ? "" : `${life.start}-${life.state === "finished" ? life.end : ""}`
    return `${item.gvk} ${item.owner} ${span}`
  })
}

/** `metadata.ownerReferences` that name these objects, the first as the controller. */
export const ownedBy = (...owners: ReadonlyArray<StoredObject>) => ({
  ownerReferences: owners.map(({ apiVersion, kind, metadata: { name, uid } }, index) => ({
    apiVersion,
    kind,
    name,
    uid,
    ...(index === 0 && { controller: true }),
  })),
})

/** Spec and status of a pod with one container that went through these lives, and is in the last of them. */
export const podThat = (life?: Container) => ({
  spec: { containers: [{ name: "main", image: "web:1" }] },
  status: { containerStatuses: life === undefined ? [] : [{ name: "main", state: stateOf(life) }] },
})

const stateOf = ({ start, end }: Container) =>
  end === undefined
    ? { running: { startedAt: timeOf(start) } }
    : { terminated: { startedAt: timeOf(start), finishedAt: timeOf(end) } }

const timeOf = (seconds: number): string => new Date(seconds * 1000).toISOString().replace(".000Z", "Z")
