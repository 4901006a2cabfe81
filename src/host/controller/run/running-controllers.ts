/**
 * Controllers at work on one API server: what {@link runControllers} returns. They share caches and connections; one that waits for a CRD holds up no
 * other.
 *
 * With leader election only the leader reconciles; the others keep their caches warm. A leader that loses the Lease aborts its runs at once, and begins
 * again with all objects when it gets the Lease back. {@link RunningControllers.close} lets the current runs end, for a limited time, sends the Events,
 * and only then releases the Lease.
 */
import { type Clock, systemClock } from "../../../clock.ts"
import {
  ApiClient,
  aborted,
  type ConnectionOptions,
  type Credentials,
  type ElectionSettings,
  electionIdentity,
  electionTimes,
  type LeaderElectionOptions,
  LeaderElector,
  loadCredentials,
  type ObjectBase,
  type WatchPolicy,
} from "../../../kube/index.ts"
import { messageOf } from "../../../message-of.ts"
import { AdmissionServer } from "../../admission/admission-server.ts"
import type { AdmissionCall, WebhookAddress } from "../../admission/registration.ts"
import type { ReviewRequest } from "../../admission/review-server.ts"
import type { SharedAccess } from "../access/controller-cluster.ts"
import { EventRecorder } from "../access/event-recorder.ts"
import { KindResolver } from "../access/kind-resolver.ts"
import { type CacheSource, informerSource, SharedCaches } from "../access/shared-caches.ts"
import { admissionTermsOf } from "../define-admission.ts"
import type { DefinedController } from "../define-controller.ts"
import { InvalidControllerError } from "../errors.ts"
import { answerRequest } from "./answer-request.ts"
import { ControllerRun } from "./controller-run.ts"
import type { ControllerStatistics, ReconciledRun } from "./controller-statistics.ts"
import type { CheckpointLocation } from "./durable-progress.ts"

export interface RunOptions {
  /** One kubeconfig file. Default: as kubectl finds the cluster (`KUBECONFIG`, `~/.kube/config`), else the pod's own service account. */
  readonly kubeconfig?: string | undefined
  /** Context of the kubeconfig. Default: the current one. */
  readonly context?: string | undefined
  /** Instead of a kubeconfig: an endpoint, a source of endpoints whose credentials change, or a transport. */
  readonly server?: ConnectionOptions["server"] | undefined
  /** Simultaneous requests, watches not counted. Default 16. */
  readonly maximumConcurrent?: number | undefined
  /** Default: none; then only one process may run these controllers. */
  readonly leaderElection?: LeaderElectionOptions | undefined
  /**
   * Where controllers with `checkpoint: true` keep what they know; they are refused without it. A process that takes over the lead knows only its own
   * checkpoint: deletions before that it can miss, unless the directory moves with the lead.
   */
  readonly checkpoint?: CheckpointLocation | undefined
  /** Where webhooks are served, whichever process has the lead; controllers with `validate`, `mutate` or `convert` are refused without it. `review`: nowhere but by {@link RunningControllers.review}. */
  readonly admission?: WebhookAddress | "review" | undefined
  /** ms for current runs to end at {@link RunningControllers.close}, before their signal is aborted. Default 30,000, as controller-runtime. */
  readonly shutdownTimeoutMs?: number | undefined
  /** Closes the controllers when it is aborted. */
  readonly signal?: AbortSignal | undefined
  /** Gets what an operator should see: failed runs, refused watches, kinds that are missing, leadership lost. Default: a line on standard error. */
  readonly onTrouble?: ((detail: string) => void) | undefined
  /** The numbers of the watch protocol that are not the default ones. */
  readonly watchPolicy?: Partial<WatchPolicy> | undefined
  /** Called after each run that has ended, before its retry; must not throw. Default: none. */
  readonly onReconciled?: ((run: ReconciledRun) => void) | undefined
  /** Default: the machine's. */
  readonly clock?: Clock | undefined
  /** In [0, 1). Default `Math.random`. */
  readonly random?: (() => number) | undefined
}

export interface RunningControllers extends AsyncDisposable {
  /** Resolves when all controllers reconcile, or are closed. Never rejects. */
  readonly started: Promise<void>
  /** Resolves when everything is closed. Never rejects. */
  readonly closed: Promise<void>
  /** Always true without leader election. */
  readonly isLeader: boolean
  /** One entry for each controller, in the order given. */
  statistics(): ReadonlyArray<ControllerStatistics>
  /** Controllers of which the API server does not know all webhooks yet. */
  readonly missingWebhooks: ReadonlyArray<string>
  /** Returns the response to the request of a review, as the webhooks do, without its UID. Rejects with an Error that names the controller. */
  review(controller: string, call: AdmissionCall, request: ReviewRequest): Promise<object>
  /** Queues an object, as a change of it would: for causes outside of the cluster. Throws RangeError for an unknown controller. */
  enqueue(controller: string, key: string): void
  close(): Promise<void>
}

/** What a host of several groups of controllers gives to each of them. */
interface Surroundings {
  /** Where its caches come from. Default: a watch of its own for each selection. */
  readonly caches?: CacheSource | undefined
  /** Called when a run begins; what it returns is called when the run ends. */
  readonly runBegan?: (() => () => void) | undefined
  /** For Leases of controllers that name no namespace. */
  readonly defaultNamespace: string
}

/** ms that a run may take to notice its aborted signal before it is given up. */
const abortedMs = 1000

const toStandardError = (detail: string): void => void process.stderr.write(`${detail}\n`)

/** Throws {@link InvalidControllerError} for controllers that cannot run together. */
export const checkTogether = (
  controllers: ReadonlyArray<DefinedController>,
  options: Pick<RunOptions, "leaderElection" | "checkpoint"> & { readonly admission?: unknown },
): void => {
  const { leaderElection, checkpoint, admission } = options
  const names = controllers.map(({ name }) => name)
  const double = names.find((name, index) => names.indexOf(name) !== index)
  if (double !== undefined)
    throw new InvalidControllerError({ controller: double, problem: "another controller has the same name" })
  const keeping = controllers.find((one) => one.checkpoint === true)
  if (keeping !== undefined && checkpoint === undefined)
    throw new InvalidControllerError({
      controller: keeping.name,
      problem: "it keeps a checkpoint, but no directory is given: set checkpoint: { directory } in the options",
    })
  const asked = controllers.find((one) => admissionTermsOf(one) !== undefined)
  if (asked !== undefined && admission === undefined)
    throw new InvalidControllerError({
      controller: asked.name,
      problem:
        "it has webhooks, but there is no address for them: set admission in the options, or start reel host with --webhook-address",
    })
  const problem = leaderElection && electionTimes(leaderElection).problem
  if (problem !== undefined) throw new InvalidControllerError({ controller: names.join(", "), problem })
}

/** Starts controllers that {@link checkTogether} has not refused. */
export const startControllers = (
  controllers: ReadonlyArray<DefinedController>,
  options: RunOptions,
  server: ConnectionOptions["server"],
  surroundings: Surroundings,
): ControllerGroup => new ControllerGroup(controllers, options, server, surroundings)

class ControllerGroup implements RunningControllers {
  readonly #started = Promise.withResolvers<void>()
  readonly #closed = Promise.withResolvers<void>()
  readonly started = this.#started.promise
  readonly closed = this.#closed.promise
  readonly #clock: Clock
  readonly #trouble: (detail: string) => void
  readonly #shutdownTimeoutMs: number
  readonly #access: SharedAccess
  readonly #runs: ReadonlyArray<ControllerRun>
  readonly #elector: LeaderElector | undefined
  readonly #stopping = new AbortController()
  #isLeader: boolean
  #admission: AdmissionServer | undefined
  #closing: Promise<void> | undefined

  constructor(
    controllers: ReadonlyArray<DefinedController>,
    options: RunOptions,
    server: ConnectionOptions["server"],
    { caches: source, runBegan, defaultNamespace }: Surroundings,
  ) {
    const {
      clock = systemClock,
      random = Math.random,
      onTrouble: trouble = toStandardError,
      maximumConcurrent,
    } = options
    const concurrent = maximumConcurrent === undefined ? {} : { maximumConcurrent }
    const api = new ApiClient({ server, userAgent: "kubereel-host", ...concurrent })
    const { connection } = api
    const now = (): string => `${new Date(Math.floor(clock.wallMicros() / 1000)).toISOString().slice(0, 19)}Z`
    const kinds = new KindResolver(connection, clock, trouble)
    const caches = new SharedCaches(
      source ?? informerSource({ connection, clock, random, trouble, policy: options.watchPolicy }),
    )
    const events = new EventRecorder({ api, clock, now, trouble })
    this.#access = { api, kinds, caches, events, now }
    this.#clock = clock
    this.#trouble = trouble
    this.#shutdownTimeoutMs = options.shutdownTimeoutMs ?? 30_000
    const { checkpoint: checkpoints, onReconciled } = options
    const begun = (): void => this.#beginReady()
    const parts = { access: this.#access, clock, random, trouble, checkpoints, begun, onReconciled, runBegan }
    this.#runs = controllers.map((one) => new ControllerRun(one, parts))
    const { leaderElection, signal } = options
    this.#isLeader = leaderElection === undefined
    this.#elector =
      leaderElection &&
      new LeaderElector({
        ...defaultsOf(leaderElection, defaultNamespace),
        api,
        clock,
        random,
        trouble,
        begin: () => {
          this.#isLeader = true
          this.#beginReady()
        },
        end: async () => {
          this.#isLeader = false
          const ended = Promise.all(this.#runs.map((run) => run.end(0)))
          if (!(await this.#within(ended, abortedMs)))
            this.#reportRunning(
              "ignores that it is no leader any more; this process waits for it before it leads again",
            )
          await ended
        },
      })
    this.#elector?.start()
    for (const run of this.#runs) void this.#prepare(run)
    this.#beginReady()
    signal?.addEventListener("abort", () => void this.close(), { signal: this.#stopping.signal })
    if (signal?.aborted === true) void this.close()
  }

  get isLeader(): boolean {
    return this.#isLeader
  }

  statistics(): ReadonlyArray<ControllerStatistics> {
    return this.#runs.map((run) => run.statistics)
  }

  enqueue(controller: string, key: string): void {
    const run = this.#runs.find((one) => one.controller.name === controller)
    if (run === undefined) throw new RangeError(`no controller is called ${JSON.stringify(controller)}`)
    run.enqueue(key)
  }

  get missingWebhooks(): ReadonlyArray<string> {
    return this.#admission?.missing ?? []
  }

  async review(controller: string, call: AdmissionCall, request: ReviewRequest): Promise<object> {
    const run = this.#runs.find((one) => one.controller.name === controller)
    if (run === undefined) throw new Error(`there is no controller ${controller}`)
    const cached = <T extends ObjectBase>(kind: string) => run.cached<T>(kind)
    return answerRequest(run.controller, call, request, { cached, clock: this.#clock }).catch((error: unknown) => {
      this.#trouble(messageOf(error))
      throw error
    })
  }

  /** Serves the webhooks, until it is closed. Rejects with the error of the socket; then it is closed. */
  async serve(address: WebhookAddress): Promise<void> {
    const [client, clock, trouble] = [this.#access.api, this.#clock, this.#trouble]
    try {
      this.#admission = await AdmissionServer.start({
        ...{ client, clock, trouble, address },
        answer: (_owner, { controller }, call, request) => this.review(controller, call, request),
      })
    } catch (error) {
      await this.close()
      throw error
    }
    const terms = this.#runs.flatMap(({ controller }) => admissionTermsOf(controller) ?? [])
    this.#admission.set("", terms)
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #prepare(run: ControllerRun): Promise<void> {
    const { signal } = this.#stopping
    while (!signal.aborted) {
      await run.prepare(signal)
      this.#beginReady()
      await Promise.race([run.lost, aborted(signal)])
      if (!signal.aborted) await run.withdraw()
    }
  }

  /** Lets those reconcile that may. */
  #beginReady(): void {
    if (!this.#isLeader || this.#stopping.signal.aborted) return
    for (const run of this.#runs) if (run.statistics.state === "standby") run.begin()
    if (this.#runs.every((run) => run.statistics.state === "reconciling")) this.#started.resolve()
  }

  async #close(): Promise<void> {
    this.#stopping.abort()
    await this.#admission?.[Symbol.asyncDispose]()
    const limitMs = this.#shutdownTimeoutMs
    const allEnded = await this.#within(Promise.all(this.#runs.map((run) => run.end(limitMs))), limitMs + abortedMs)
    this.#reportRunning(`is given up after ${limitMs} ms`)
    for (const run of this.#runs) run.stop()
    this.#access.caches.stop()
    await this.#within(this.#access.events.drained(), abortedMs)
    // A run that was given up may still act: the Lease then runs out by itself.
    if (this.#elector !== undefined) await this.#within(this.#elector.close(allEnded), abortedMs)
    this.#isLeader = false
    this.#access.api.close()
    this.#started.resolve()
    this.#closed.resolve()
  }

  /** One line for each run that has not ended. */
  #reportRunning(what: string): void {
    for (const run of this.#runs) for (const key of run.running) this.#trouble(`${run.controller.name} ${key}: ${what}`)
  }

  /** Whether the promise has resolved before that many ms passed. */
  async #within(promise: Promise<unknown>, limitMs: number): Promise<boolean> {
    const { promise: late, resolve } = Promise.withResolvers<false>()
    const timer = this.#clock.after(limitMs, () => resolve(false))
    try {
      return await Promise.race([promise.then(() => true), late])
    } finally {
      timer.cancel()
    }
  }
}

const defaultsOf = (given: LeaderElectionOptions, defaultNamespace: string): ElectionSettings => {
  const { problem: _, ...times } = electionTimes(given)
  return {
    name: given.name,
    namespace: given.namespace ?? defaultNamespace,
    identity: given.identity ?? electionIdentity(),
    releaseOnEnd: given.releaseOnEnd ?? true,
    ...times,
  }
}

/**
 * Resolves once the controllers are under way, before they have started. Rejects with a `CredentialsError` if there is no usable kubeconfig, and with
 * {@link InvalidControllerError} for controllers that cannot run together, and with the error of the socket if the webhooks cannot be served. A server that cannot be reached is waited for without a limit.
 */
export const runControllers = async (
  controllers: ReadonlyArray<DefinedController>,
  options: RunOptions = {},
): Promise<RunningControllers> => {
  checkTogether(controllers, options)
  const { server: given, kubeconfig, context, admission } = options
  const server: Credentials | NonNullable<typeof given> = given ?? (await loadCredentials({ kubeconfig, context }))
  const defaultNamespace = given === undefined ? (server as Credentials).defaultNamespace : "default"
  const group = startControllers(controllers, options, server, { defaultNamespace })
  if (typeof admission === "object") await group.serve(admission)
  return group
}
