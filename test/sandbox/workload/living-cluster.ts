/**
 * A sandbox and a workload manager beside it, over real HTTP, both on one clock that advances a few ms with every turn
 * of the event loop: hours pass in seconds, and nothing waits for a wall clock.
 */

import { afterEach } from "vitest"
import { ApiClient, type ApiObject, type Kind, kinds, type Pod } from "../../../src/kube/index.ts"
import { Sandbox } from "../../../src/library/sandbox.ts"
import { WorkloadManager, type WorkloadOptions } from "../../../src/sandbox/workload/workload-manager.ts"
import { ManualClock } from "../../runtime/manual-clock.ts"
import { turn } from "../../runtime/until.ts"

/** ms per turn: little compared with every delay, so that requests complete before deadlines pass. */
const pace = 5
const patience = 60_000

export interface LivingOptions extends Partial<WorkloadOptions> {
  /** With garbage collection and the other built-in controllers of the sandbox. Default false. */
  readonly lifecycle?: boolean
}

export class LivingCluster {
  readonly clock: ManualClock
  readonly sandbox: Sandbox
  readonly api: ApiClient
  readonly troubles: string[]
  manager: WorkloadManager
  #isClosed = false

  private constructor(clock: ManualClock, sandbox: Sandbox, manager: WorkloadManager, troubles: string[]) {
    this.clock = clock
    this.sandbox = sandbox
    this.manager = manager
    this.troubles = troubles
    this.api = new ApiClient({ server: sandbox.endpoint, userAgent: "kubereel-workload" })
  }

  static async start(options: LivingOptions = {}): Promise<LivingCluster> {
    const clock = new ManualClock()
    const { lifecycle = false, ...workload } = options
    const sandbox = await Sandbox.start({ clock, bookmarkInterval: 0, lifecycle })
    const troubles: string[] = []
    const manager = await startManager(clock, sandbox, troubles, workload)
    return new LivingCluster(clock, sandbox, manager, troubles)
  }

  async restartManager(options: Partial<WorkloadOptions> = {}): Promise<void> {
    await passing(this.clock, this.manager.close())
    this.manager = await startManager(this.clock, this.sandbox, this.troubles, options)
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

  async list<T extends ApiObject>(kind: Kind): Promise<ReadonlyArray<T>> {
    return (await this.api.list<T>(kind, { namespace: "default" })).items
  }

  /** Pods in the order of their names. */
  async pods(): Promise<ReadonlyArray<Pod>> {
    const pods = await this.list<Pod>(kinds.pods)
    return [...pods].sort((left, right) => (left.metadata.name < right.metadata.name ? -1 : 1))
  }

  /** Lets time pass until a condition holds; in larger steps if it takes minutes. */
  async sees(condition: () => boolean | Promise<boolean>, msPerTurn = pace): Promise<void> {
    for (let turns = 0; !(await condition()); turns++) {
      if (turns > patience) throw new Error(`not seen: ${condition}; troubles: ${this.troubles.join("; ")}`)
      this.clock.advance(msPerTurn)
      await turn()
    }
  }

  /** Lets `ms` pass. */
  async passes(ms: number): Promise<void> {
    const end = this.clock.monotonicMs() + ms
    await this.sees(() => this.clock.monotonicMs() >= end, 25)
  }

  /** Reasons of the Events about objects of this name, oldest first, repeated ones once. */
  async reasons(name: string): Promise<ReadonlyArray<string>> {
    const events = await this.list<
      ApiObject & { readonly involvedObject: { readonly name: string }; readonly reason: string }
    >(kinds.events)
    return events.filter(({ involvedObject }) => involvedObject.name === name).map(({ reason }) => reason)
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
    await this.sandbox.close()
  }
}

const startManager = async (
  clock: ManualClock,
  sandbox: Sandbox,
  troubles: string[],
  options: Partial<WorkloadOptions>,
): Promise<WorkloadManager> =>
  passing(
    clock,
    WorkloadManager.start({
      server: sandbox.endpoint,
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
