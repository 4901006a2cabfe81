/**
 * Which of several recorders with one Lease records.
 *
 * Guaranteed: the recorder stands by until it holds the Lease and the data directory is free. Nothing is recorded, and nothing is asked of the API server but
 * the Lease, until then. Once the Lease is lost, `onLost` is called before another recorder may hold it. What keeps two recorders from writing to one
 * directory is its lock, not the Lease: a process that was paused, and wakes after another one took the Lease over, still has the lock until it ends.
 *
 * The states: standby, waiting (it holds the Lease, and another process the directory), leading, lost. The last is final: the process has to end.
 */
import * as Effect from "effect/Effect"
import type { Clock, Timer } from "../../clock.ts"
import { ApiClient, type EndpointSource, electionIdentity, LeaderElector } from "../../kube/index.ts"
import { messageOf } from "../../message-of.ts"
import type { Metric } from "../metrics/metrics-text.ts"
import type { RecorderLog } from "../notices/notice-log.ts"
import { RecorderError } from "../notices/recorder-error.ts"

/** The Lease that chooses one of several recorders. */
export interface LeaseSettings {
  readonly namespace: string
  readonly name: string
  /** ms without a renewal after which another recorder takes over; whole seconds. */
  readonly durationMs: number
}

/** With what only a recorder with a Lease needs in its main thread. */
export interface RecorderLease extends LeaseSettings {
  /**
   * The holder of the directory; `undefined`: it has none. Throws if it cannot be locked for another reason. The caller
   * passes this function, because the lock is one of SQLite, which the main thread of other recorders does not load.
   */
  readonly directoryInUse: (directory: string) => { readonly facts: string } | undefined
}

interface LeadershipOptions {
  readonly lease: RecorderLease
  readonly directory: string
  readonly server: EndpointSource
  readonly userAgent: string
  readonly clock: Clock
  /** In [0, 1). */
  readonly random: () => number
  readonly log: RecorderLog
  /** The Lease is lost, and another recorder may hold it in so many ms: this one must have ended by then. Called once. */
  readonly onLost: (withinMs: number) => void
}

type State =
  | { readonly tag: "standby" | "leading" | "lost" }
  /** `facts`: who has the directory. */
  | { readonly tag: "waiting"; readonly facts: string }

/** The lease duration and what follows from it, in client-go's proportions: 15 s, 10 s, 2 s. */
const timesOf = ({ durationMs }: LeaseSettings) => ({
  leaseDurationMs: durationMs,
  renewDeadlineMs: (durationMs * 2) / 3,
  retryPeriodMs: (durationMs * 2) / 15,
})

class Leadership {
  readonly #options: LeadershipOptions
  readonly #name: string
  readonly #times: ReturnType<typeof timesOf>
  readonly #api: ApiClient
  readonly #elector: LeaderElector
  #state: State = { tag: "standby" }
  #retry: Timer | undefined
  /** Both are resolved once, by this class. */
  readonly #taken = Promise.withResolvers<void>()
  readonly #closing = Promise.withResolvers<void>()

  constructor(options: LeadershipOptions) {
    const { lease, server, userAgent, clock, random, log } = options
    this.#options = options
    this.#name = leaseName(lease)
    this.#times = timesOf(lease)
    // Two attempts fit into the deadline of a renewal, as in client-go: the first may be lost with its connection.
    this.#api = new ApiClient({ server, userAgent, deadlineMs: this.#times.renewDeadlineMs / 2, timers: clock })
    this.#elector = new LeaderElector({
      ...{ namespace: lease.namespace, name: lease.name, ...this.#times },
      ...{ identity: electionIdentity(), releaseOnEnd: true, api: this.#api, clock, random },
      trouble: (detail) => log.warn(detail),
      begin: () => this.#openDirectory(),
      end: () => this.#lose(),
      holderChanged: () => this.#reportHolder(),
    })
  }

  start(): void {
    this.#elector.start()
  }

  /** Resolves once this recorder may open the directory; never if the Lease is lost before. */
  get taken(): Promise<void> {
    return this.#taken.promise
  }

  /** Why it does not record, in one line, while it does not. */
  reason(): string {
    switch (this.#state.tag) {
      case "standby": {
        const { holder } = this.#elector
        return holder === undefined
          ? `standby; no recorder is known to hold the Lease ${this.#name}`
          : `standby; ${holder.identity} holds the Lease ${this.#name} since ${holder.since ?? "an unknown time"}`
      }
      case "waiting":
        return `standby; this recorder holds the Lease ${this.#name}, but ${this.#state.facts}`
      case "leading":
        return `this recorder holds the Lease ${this.#name} and is starting; try again`
      case "lost":
        return `this recorder has lost the Lease ${this.#name} and is ending`
    }
  }

  metrics(): ReadonlyArray<Metric> {
    const { tag } = this.#state
    const value = tag === "leading" || tag === "waiting" ? 1 : 0
    const help = "1 while this recorder holds its Lease; 0 while it stands by."
    return [{ name: "kubereel_leader", type: "gauge", help, samples: [{ value }] }]
  }

  /** Releases the Lease, so that another recorder need not wait until it runs out. The directory must be free by then. */
  async close(): Promise<void> {
    this.#retry?.cancel()
    const closed = this.#elector.close()
    this.#closing.resolve()
    await closed
    this.#api.close()
  }

  /** Tries until the directory is free: a former holder of the Lease may be paused, or slow to end. */
  #openDirectory(): void {
    const { clock, log } = this.#options
    const inUse = this.#directoryInUse()
    if (inUse !== undefined) {
      if (this.#state.tag !== "waiting")
        log.warn(`this recorder holds the Lease ${this.#name}, but waits: ${inUse.facts}`)
      this.#state = { tag: "waiting", facts: inUse.facts }
      this.#retry = clock.after(this.#times.retryPeriodMs, () => this.#openDirectory())
      return
    }
    this.#state = { tag: "leading" }
    log.info(`this recorder holds the Lease ${this.#name}`)
    this.#taken.resolve()
  }

  /** For any other reason than its holder, the store cannot open the directory either, and says so. */
  #directoryInUse(): { readonly facts: string } | undefined {
    const { lease, directory } = this.#options
    try {
      return lease.directoryInUse(directory)
    } catch (error) {
      this.#options.log.debug(messageOf(error))
      return undefined
    }
  }

  /** The election continues once the returned promise resolves: here, when it is closed. */
  #lose(): Promise<void> {
    this.#retry?.cancel()
    this.#state = { tag: "lost" }
    // Half of the time until another may lead: the rest is for clocks that run at different rates.
    this.#options.onLost((this.#times.leaseDurationMs - this.#times.renewDeadlineMs) / 2)
    return this.#closing.promise
  }

  #reportHolder(): void {
    const { holder } = this.#elector
    if (this.#state.tag !== "standby" || holder === undefined) return
    // Its own identity is reported with the directory.
    if (!this.#elector.isOwn(holder)) this.#options.log.info(this.reason())
  }
}

/**
 * Runs for the Lease until the scope ends, and then hands it over. Fails with RecorderError if nothing can be recorded in the directory: a
 * mistake, or a network file system, must not be found out by the takeover.
 */
export const openLeadership = (options: LeadershipOptions) =>
  Effect.acquireRelease(
    Effect.try({
      try: () => {
        options.lease.directoryInUse(options.directory)
        const leadership = new Leadership(options)
        leadership.start()
        return leadership
      },
      catch: (cause) => new RecorderError({ message: messageOf(cause) }),
    }),
    (leadership) => Effect.promise(() => leadership.close()),
  )

/** NAMESPACE/NAME. */
export const leaseName = ({ namespace, name }: LeaseSettings): string => `${namespace}/${name}`
