/**
 * A sandbox and a workload manager beside it, in one process, both on one clock that advances a few ms with every turn
 * of the event loop, and to the next timer when nothing happens any more: hours pass in moments, and nothing waits for a
 * wall clock.
 */

import { afterEach } from "vitest"
import { ApiClient, type ApiObject, type Kind, kinds, type Pod } from "../../../src/kube/index.ts"
import { LocalTransport, Sandbox } from "../../../src/sandbox/index.ts"
import { WorkloadManager, type WorkloadOptions } from "../../../src/sandbox/workload/workload-manager.ts"
import { ManualClock } from "../../runtime/manual-clock.ts"
import { turn } from "../../runtime/until.ts"

/** ms per turn: little compared with every delay, so that requests complete before deadlines pass. */
const pace = 5
/** Turns without a change after which everything waits for a timer: far more than a request takes. */
const quietTurns = 30
const patience = 60_000

export interface LivingOptions extends Partial<WorkloadOptions> {
  /** With garbage collection and the other built-in controllers of the sandbox. Default false. */
  readonly lifecycle?: boolean
  /** All requests go through sockets, where faults meet them. Default: through memory. */
  readonly overHttp?: boolean
}

export class LivingCluster {
  readonly clock: ManualClock
  readonly sandbox: Sandbox
  readonly api: ApiClient
  readonly troubles: string[]
  manager: WorkloadManager
  readonly #server: WorkloadOptions["server"]
  #isClosed = false
  /** The version at the last turn, and for how many turns it has been the same. */
  #version = ""
  #quiet = 0

  private constructor(
    clock: ManualClock,
    sandbox: Sandbox,
    server: WorkloadOptions["server"],
    manager: WorkloadManager,
    troubles: string[],
  ) {
    this.clock = clock
    this.sandbox = sandbox
    this.#server = server
    this.manager = manager
    this.troubles = troubles
    this.api = new ApiClient({ server, userAgent: "kubereel-workload" })
  }

  static async start(options: LivingOptions = {}): Promise<LivingCluster> {
    const clock = new ManualClock()
    const { lifecycle = false, overHttp = false, ...workload } = options
    const sandbox = await Sandbox.start({ clock, bookmarkInterval: 0, lifecycle })
    const memory = { isInMemory: true, timers: clock }
    const server = overHttp ? sandbox.endpoint : new LocalTransport(sandbox, "kubereel-workload", memory)
    const troubles: string[] = []
    const manager = await startManager(clock, server, troubles, workload)
    return new LivingCluster(clock, sandbox, server, manager, troubles)
  }

  async restartManager(options: Partial<WorkloadOptions> = {}): Promise<void> {
    await passing(this.clock, this.manager.close())
    this.manager = await startManager(this.clock, this.#server, this.troubles, options)
  }

  create(kind: Kind, object: Partial<ApiObject> & { readonly metadata: ApiObject["metadata"] }): Promise<ApiObject> {
    const { gvk } = kind
    const apiVersion = gvk.group === "" ? gvk.version : `${gvk.group}/${gvk.version}`
    const metadata = kind.namespaced ? { namespace: "default", ...object.metadata } : object.metadata
    return this.api.create(kind, { apiVersion, kind: gvk.kind, ...object, metadata })
  }

  patch(kind: Kind, name: string, body: unknown): Promise<ApiObject> {
    return this.api.patch(kind, { namespace: "default", name }, "merge", body)
  }

  get<T extends ApiObject>(kind: Kind, name: string): T | undefined {
    const { gvk } = kind
    const gvkName = gvk.group === "" ? `${gvk.version}.${gvk.kind}` : `${gvk.group}/${gvk.version}.${gvk.kind}`
    return this.sandbox.get(gvkName, kind.namespaced ? "default" : "", name) as T | undefined
  }

  /** Those of the namespace `default`, or of the cluster; oldest first. */
  list<T extends ApiObject>({ gvk }: Kind): ReadonlyArray<T> {
    const objects = this.sandbox.list(gvk) as unknown as ReadonlyArray<T>
    return objects.filter(({ metadata: { namespace = "default" } }) => namespace === "default")
  }

  /** Pods in the order of their names. */
  pods(): ReadonlyArray<Pod> {
    return this.list<Pod>(kinds.pods).toSorted((left, right) => (left.metadata.name < right.metadata.name ? -1 : 1))
  }

  /** Lets time pass until a condition holds; in larger steps if it takes minutes over HTTP. */
  async sees(condition: () => boolean | Promise<boolean>, msPerTurn = pace): Promise<void> {
    for (let turns = 0; !(await condition()); turns++) {
      if (turns > patience) throw new Error(`not seen: ${condition}; troubles: ${this.troubles.join("; ")}`)
      await this.#turn(msPerTurn)
    }
  }

  /** Lets `ms` pass. */
  async passes(ms: number): Promise<void> {
    const end = this.clock.monotonicMs() + ms
    while (this.clock.monotonicMs() < end) await this.#turn(25, end - this.clock.monotonicMs())
  }

  /** `usual` and `most`: ms that pass, and that may. */
  async #turn(usual: number, most = Infinity): Promise<void> {
    const { resourceVersion } = this.sandbox
    this.#quiet = resourceVersion === this.#version ? this.#quiet + 1 : 0
    this.#version = resourceVersion
    // What a socket still holds is not known, so time goes on in small steps there.
    const isQuiet = this.#quiet > quietTurns && this.#server instanceof LocalTransport
    if (isQuiet) this.#quiet = 0
    this.clock.advance(Math.min(most, isQuiet ? Math.max(usual, this.clock.untilNext ?? usual) : usual))
    await turn()
  }

  /** Reasons of the Events about objects of this name, oldest first, repeated ones once. */
  reasons(name: string): ReadonlyArray<string> {
    type Event = ApiObject & { readonly involvedObject: { readonly name: string }; readonly reason: string }
    return this.list<Event>(kinds.events)
      .filter(({ involvedObject }) => involvedObject.name === name)
      .map(({ reason }) => reason)
  }

  /** Every recorded state of the objects of a kind and name, oldest first. */
  history<T extends ApiObject>(gvk: string, name: string): ReadonlyArray<T> {
    return this.sandbox.ledger
      .of(gvk as never)
      .flatMap((entry) => (entry.name === name && entry.object ? [entry.object as unknown as T] : []))
  }

  /** A second call does nothing. */
  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    await passing(this.clock, this.manager.close())
    this.api.close()
    if (this.#server instanceof LocalTransport) this.#server.close()
    await this.sandbox.close()
  }
}

const startManager = async (
  clock: ManualClock,
  server: WorkloadOptions["server"],
  troubles: string[],
  options: Partial<WorkloadOptions>,
): Promise<WorkloadManager> =>
  passing(
    clock,
    WorkloadManager.start({
      server,
      clock,
      random: () => 0,
      nodes: 2,
      onTrouble: (detail) => troubles.push(detail),
      ...options,
    }),
  )

/** Lets time pass until the promise settles. */
const passing = async <T>(clock: ManualClock, promise: Promise<T>): Promise<T> => {
  let isSettled = false
  const settled = promise.finally(() => {
    isSettled = true
  })
  while (!isSettled) {
    clock.advance(pace)
    await turn()
  }
  return settled
}

/** A starter for one test file; everything it starts is closed after each test. */
export const livingClusters = (): ((options?: LivingOptions) => Promise<LivingCluster>) => {
  const started: LivingCluster[] = []
  afterEach(async () => {
    await Promise.all(started.splice(0).map((cluster) => cluster.close()))
  })
  return async (options) => {
    const cluster = await LivingCluster.start(options)
    started.push(cluster)
    return cluster
  }
}
