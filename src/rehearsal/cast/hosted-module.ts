/**
 * A WebAssembly module as a participant of a rehearsal: the guest, the hub and the executor of a host, but all in this thread, on the
 * rehearsal's clock.
 *
 * What differs from a host: the guest's deadline is not enforced, because nothing can interrupt it within its own thread;
 * one that traps is not started again, since a trap is what a rehearsal is to find; and it may watch and write what it likes, whatever its
 * ServiceAccount may do in the recorded cluster.
 */

import type { Timer } from "../../clock.ts"
import {
  type CompiledGuest,
  encodeGuestResponse,
  GuestInstance,
  gvkOf,
  type HubSubscriptionHandle,
  InvalidSubscription,
  type ModuleLimits,
  ModuleRunner,
  RequestExecutor,
  WatchHub,
  type WatchRequest,
  watchFailure,
  watchValueOf,
} from "../../host/index.ts"
import { ApiConnection } from "../../kube/index.ts"
import { parseGvk } from "../../kube/offline.ts"
import { messageOf } from "../../message-of.ts"
import type { OwnWork, Subject } from "../feed/feed-rule.ts"
import { lastingWatches, type Participant, type Stage } from "./participant.ts"

interface HostedModuleOptions {
  readonly name: string
  readonly compiled: CompiledGuest
  readonly env: ReadonlyArray<{ readonly name: string; readonly value: string }>
  readonly maximumMemoryBytes: number
  readonly limits: Partial<ModuleLimits>
  /** What is recorded of the objects that it makes for these is its own work. */
  readonly subjects: ReadonlyArray<Subject>
}

export class HostedModule implements Participant {
  readonly name: string
  readonly work: OwnWork
  readonly #options: HostedModuleOptions
  readonly #watches = new Map<bigint, HubSubscriptionHandle>()
  #running:
    | {
        readonly runner: ModuleRunner
        readonly hub: WatchHub
        readonly requests: RequestExecutor
        readonly delays: ReadonlySet<Timer>
      }
    | undefined
  #isScheduled = false
  #activity = 0
  #failure: string | undefined

  constructor(options: HostedModuleOptions) {
    const { name, subjects } = options
    this.#options = options
    this.name = name
    this.work = {
      name,
      subjects,
      writesStatus: false,
      managers: new Set([name]),
    }
  }

  get activity(): number {
    return this.#activity + this.wakeUps
  }

  get wakeUps(): number {
    return this.#running?.runner.statistics().wakeUps ?? 0
  }

  get failure(): string | undefined {
    return this.#failure
  }

  get busy(): ReadonlyArray<string> {
    return this.#running?.runner.isReady === true ? [this.name] : []
  }

  async start(stage: Stage): Promise<void> {
    const { transport, clock, random, note } = stage
    const { compiled, env, maximumMemoryBytes, limits } = this.#options
    const trouble = (detail: string): void => {
      this.#activity++
      note({ type: "trouble", controller: this.name, detail })
    }
    const hub = new WatchHub({
      transport,
      clock,
      random: random.next,
      policy: lastingWatches,
      listener: {
        stateChanged: (selection, state, detail) => {
          if (state === "forbidden" || state === "failing") trouble(`${selection} is ${state}: ${detail}`)
        },
        alarm: trouble,
        unauthorized: () => trouble("the sandbox has refused the credentials"),
      },
    })
    const requests = new RequestExecutor({
      clock,
      identity: () => new ApiConnection({ server: transport, userAgent: this.name }),
    })
    requests.register(this.name, limits)
    const delays = new Set<Timer>()
    const delay = (id: bigint, ms: bigint): void => {
      const timer = clock.after(Number(ms), () => {
        delays.delete(timer)
        runner.completed(id, undefined)
        this.#schedule()
      })
      delays.add(timer)
    }
    const runner = new ModuleRunner({
      make: () =>
        new GuestInstance(compiled, {
          host: {
            watch: (id, request) => this.#watch(id, request),
            cancel: (id) => this.#cancel(id),
            request: (id, request) =>
              void requests.submit(this.name, request, (response) => {
                this.#activity++
                runner.completed(id, encodeGuestResponse(response))
                this.#schedule()
              }),
            delay,
            log: (_stream, line) => note({ type: "log", controller: this.name, line }),
          },
          name: this.name,
          env,
          clock,
          random: random.fill,
          maximumMemoryBytes,
        }),
      clock,
      entry: { begin: () => undefined, end: () => undefined },
      onEnded: (cause) => {
        this.#failure = messageOf(cause)
        this.#activity++
        note({ type: "trouble", controller: this.name, detail: this.#failure, isEnd: true })
        this.#stop()
      },
    })
    this.#running = { runner, hub, requests, delays }
    this.#schedule()
  }

  async close(): Promise<void> {
    this.#stop()
    this.#running?.runner.close()
  }

  #stop(): void {
    this.#watches.clear()
    for (const delay of this.#running?.delays ?? []) delay.cancel()
    this.#running?.hub.stop()
    this.#running?.requests.close()
  }

  #watch(id: bigint, request: WatchRequest): void {
    const { hub, runner } = this.#started()
    const { namespace, labelSelector, fieldSelector, resourceVersion } = request
    const kind = parseGvk(gvkOf(request))
    const refuse = (message: string): void => {
      runner.streamed(id, watchFailure(400, "BadRequest", message))
      runner.streamed(id, undefined)
      this.#schedule()
    }
    if (kind === undefined) return refuse(`${JSON.stringify(gvkOf(request))} is not GROUP/VERSION.KIND`)
    try {
      const selection = {
        id: `${this.name} ${id}`,
        kind,
        namespace,
        labelSelector,
        fieldSelector,
      } as const
      // It may be called before there is a handle, and never within the guest.
      const available = (): void => void setImmediate(() => this.#take(id, request))
      this.#watches.set(id, hub.subscribe({ ...selection, after: resourceVersion }, { available }))
    } catch (cause) {
      if (!(cause instanceof InvalidSubscription)) throw cause
      refuse(cause.message)
    }
  }

  #cancel(id: bigint): void {
    this.#watches.get(id)?.unsubscribe()
    this.#watches.delete(id)
  }

  #take(id: bigint, request: WatchRequest): void {
    const handle = this.#watches.get(id)
    if (handle === undefined) return
    const { runner } = this.#started()
    while (handle.pending > 0) {
      for (const change of handle.take()) {
        this.#activity++
        const value = watchValueOf(request, change)
        if (value === undefined) continue
        runner.streamed(id, value.bytes)
        if (!value.isLast) continue
        runner.streamed(id, undefined)
        handle.unsubscribe()
        this.#watches.delete(id)
      }
    }
    this.#schedule()
  }

  /** Enters the guest in a turn of its own, as a worker does. */
  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(() => {
      this.#isScheduled = false
      this.#activity++
      if (this.#running?.runner.run(Number.POSITIVE_INFINITY) === true) this.#schedule()
    })
  }

  #started() {
    if (this.#running === undefined) throw new Error(`the module ${this.name} has not been started`)
    return this.#running
  }
}
