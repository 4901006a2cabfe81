/**
 * Modules on one cluster: the hub, the executor, the dispatcher with its workers for WebAssembly, and the scripts with their threads.
 *
 * Each module's requests are sent with its own credentials, and its watches are checked for its own rights, again and again while they are open; the hub
 * watches with the rights of the host. A hub or an executor that crashes is started again: watches end then, so that the guests list.
 */
import type * as Effect from "effect/Effect"
import type { Timer } from "../clock.ts"
import { type ApiEndpoint, CredentialRefresh, type EndpointSource } from "../kube/index.ts"
import { type ActorState, ActorSystem, type StartThread, type Supervisor } from "../runtime/index.ts"
import { StateDirectoryMissing } from "./checkpoint/checkpoint.ts"
import { ask, askOr, failureOf, tell } from "./dispatcher/actor-calls.ts"
import { Dispatcher, type DispatcherOptions, type ModuleStatus, type WorkerStatus } from "./dispatcher/dispatcher.ts"
import { defaultHostPolicy, type HostPolicy } from "./dispatcher/host-policy.ts"
import { ModuleCompiler } from "./dispatcher/module-compiler.ts"
import type { WatchAnswer } from "./dispatcher/watch-registry.ts"
import {
  type ExecutorConfig,
  type ExecutorControl,
  type ExecutorReport,
  executorDefinition,
  executorName,
  type Registration,
} from "./executor/executor-interface.ts"
import type { WatchRequest } from "./guest/abi-values.ts"
import type { HubStatistics } from "./hub/hub-change.ts"
import { type HubConfig, type HubControl, type HubReport, hubDefinition } from "./hub/hub-interface.ts"
import type { ServiceAccountName } from "./identity/service-account.ts"
import { defaultMemoryBytes, type ModuleFile } from "./modules/module-file.ts"
import { ScriptHost } from "./scripts/script-host.ts"
import { type HostRole, hostWorkerEntry } from "./worker-entries.ts"

export interface ModuleHostOptions extends Pick<DispatcherOptions, "workers" | "clock" | "random"> {
  /** The host's own credentials. */
  readonly endpoints: EndpointSource
  /** Those of a module. */
  readonly identityOf: (file: ModuleFile) => EndpointSource
  /**
   * Whether a ServiceAccount may have a watch: `WatchAccess.check`. Never rejects. Not asked for modules without a ServiceAccount of their own,
   * which act as the host.
   */
  readonly checkWatch: (account: ServiceAccountName, request: WatchRequest) => Promise<WatchAnswer>
  /** Where modules that ask for a checkpoint keep it; they are refused without it. For one host at a time. */
  readonly stateDirectory?: string | undefined
  /** Absent members have the defaults of {@link defaultHostPolicy}. */
  readonly policy?: Partial<HostPolicy>
  /** `kubereel/<version>`. */
  readonly version: string
  readonly start: (role: HostRole) => StartThread
  readonly onLog: DispatcherOptions["onLog"]
  /** Something that an operator should see. `subject`: a module's name, or what of the host it is about. */
  readonly onNote: (subject: string, note: string) => void
}

/** A WebAssembly module that runs, or is to. */
interface HostedModule {
  readonly file: ModuleFile
  readonly codePath: string
}

/** Found after at most an eighth of a second more, so that a module that holds up others does so for less than a second in all. */
const defaultDeadlineMs = 500

interface Registered {
  readonly module: HostedModule
  readonly credentials: CredentialRefresh
  /** What the executor has, or gets as soon as it runs. */
  endpoint: ApiEndpoint
  /** Its requests wait for credentials, which may be the same again. */
  isWaiting: boolean
}

export class ModuleHost implements AsyncDisposable {
  /** The modules that are scripts. */
  readonly scripts: ScriptHost
  readonly #options: ModuleHostOptions
  readonly #policy: HostPolicy
  readonly #system: ActorSystem
  readonly #hub: Supervisor<HubConfig, HubControl, HubReport>
  readonly #executor: Supervisor<ExecutorConfig, ExecutorControl, ExecutorReport>
  readonly #compiler: ModuleCompiler
  readonly #dispatcher: Dispatcher
  readonly #credentials: CredentialRefresh
  readonly #registered = new Map<string, Registered>()
  /** By name: what is being done with the module of that name, one after the other. */
  readonly #turns = new Map<string, Promise<unknown>>()
  #hubEndpoint: ApiEndpoint | undefined
  #renewal: Timer | undefined
  #nextCheck: Timer | undefined
  #isClosed = false

  /** Begins to start the threads; modules may be added at once. */
  constructor(options: ModuleHostOptions) {
    const { clock, random, endpoints, version, start, onNote } = options
    this.#options = options
    this.#policy = { ...defaultHostPolicy, ...options.policy }
    const { actorRestart: restart, compileMs: deadlineMs } = this.#policy
    this.#system = new ActorSystem({ clock, random })
    this.#credentials = new CredentialRefresh(endpoints, {
      had: (endpoint) => this.#hubHas(endpoint),
      trouble: (reason) => reason !== undefined && onNote("credentials", reason),
    })
    let hubLife = 0
    /** What the present life of the hub began with. */
    let hubBegan: ApiEndpoint | undefined
    this.#hub = this.#system.spawn({
      definition: hubDefinition,
      name: "hub",
      start: start("hub"),
      config: async () => {
        const endpoint = await this.#credentials.current()
        hubBegan = this.#hubEndpoint = endpoint
        return { endpoint, userAgent: `kubereel/${version}` }
      },
      incarnation: () => ++hubLife,
      restart,
      onReport: (report) => this.#hubReported(report),
      onStateChange: (state, reason) => {
        if (state === "backing-off") onNote("hub", `it has ended and is started again: ${reason}`)
        if (state === "gave-up") onNote("hub", `it cannot be started: ${reason}`)
        if (state !== "running") return
        // They may have changed while it was starting.
        const latest = this.#hubEndpoint
        if (latest !== undefined && latest !== hubBegan) tell(this.#hub.call("credentials", latest))
        if (hubLife === 1) return
        this.#dispatcher.hubRestarted()
        this.scripts.hubRestarted()
      },
    })
    let executorLife = 0
    /** What the present life of the executor began with, by module. */
    let executorBegan: ReadonlyMap<string, ApiEndpoint> = new Map()
    this.#executor = this.#system.spawn({
      definition: executorDefinition,
      name: executorName,
      start: start("executor"),
      config: () => {
        executorBegan = new Map([...this.#registered].map(([name, { endpoint }]) => [name, endpoint]))
        return { modules: [...this.#registered.values()].map((each) => this.#registrationOf(each)) }
      },
      incarnation: () => ++executorLife,
      restart,
      onReport: (report) => {
        if (report.type === "overrun") this.#dispatcher.overrun(report)
        else this.#unauthorized(report.module)
      },
      onStateChange: (state, reason) => {
        if (state === "backing-off") onNote("executor", `it has ended and is started again: ${reason}`)
        if (state === "gave-up") onNote("executor", `it cannot be started: ${reason}`)
        if (state !== "running") return
        // They may have changed while it was starting; modules that are new since are registered by themselves.
        for (const [name, began] of executorBegan) {
          const endpoint = this.#registered.get(name)?.endpoint
          if (endpoint !== undefined && endpoint !== began)
            tell(this.#executor.call("credentials", { module: name, endpoint }))
        }
      },
    })
    this.#compiler = new ModuleCompiler({
      entry: hostWorkerEntry("module-compiler"),
      deadlineMs,
      clock,
    })
    this.#dispatcher = new Dispatcher({
      ...options,
      policy: this.#policy,
      compile: (file, module) => this.#compiler.compile(file, module),
      checkWatch: (module, request) => this.#checkWatch(module, request),
      system: this.#system,
      hub: this.#hub,
      executor: this.#executor,
      startWorker: start("module-worker"),
    })
    this.scripts = new ScriptHost({
      ...options,
      checkWatch: (file, request) => this.#mayWatch(file, request),
      system: this.#system,
      hub: this.#hub,
      startThread: start("script-thread"),
    })
    this.#scheduleRenewal()
    this.#scheduleCheck()
  }

  /**
   * Starts a WebAssembly module. Rejects if it has no credentials, and if there is one of its name. Additions and removals of one name take effect in
   * their order, whatever they wait for.
   */
  add(module: HostedModule): Promise<void> {
    return this.#inTurn(module.file.name, () => this.#add(module))
  }

  async #add(module: HostedModule): Promise<void> {
    const { identityOf, onNote, stateDirectory } = this.#options
    const { file, codePath } = module
    const { name, env, limits, checkpoint } = file
    if (checkpoint === true && stateDirectory === undefined) throw new StateDirectoryMissing({ module: name })
    const credentials: CredentialRefresh = new CredentialRefresh(identityOf(file), {
      had: (endpoint) => this.#moduleHas(name, credentials, endpoint),
      trouble: (reason) => {
        if (reason === undefined) return
        onNote(name, reason)
        // Requests that wait get what the server said, and the guest decides.
        const present = this.#registered.get(name)
        if (present !== undefined) this.#moduleHas(name, credentials, present.endpoint)
      },
    })
    if (this.#registered.has(name)) throw new Error(`a module named ${name} is running already`)
    const registered = { module, credentials, endpoint: await credentials.current(), isWaiting: false }
    this.#registered.set(name, registered)
    try {
      await this.#whenExecutorRuns(() => this.#executor.call("register", this.#registrationOf(registered)))
      this.#dispatcher.add({
        name,
        file: codePath,
        env,
        maximumMemoryBytes: limits.memoryBytes ?? defaultMemoryBytes,
        deadlineMs: limits.deadlineMs ?? defaultDeadlineMs,
        checkpointDirectory: checkpoint === true ? stateDirectory : undefined,
      })
    } catch (cause) {
      this.#registered.delete(name)
      throw cause
    }
  }

  /**
   * Resolves when the first load of a WebAssembly module is over, with whether it runs now: false for one that is
   * refused, or has failed at once; `onNote` has then received the reason.
   */
  loaded(name: string): Promise<boolean> {
    return this.#dispatcher.loaded(name)
  }

  /** Names of the modules and scripts that are there, but cannot be run until their files change. */
  get refused(): ReadonlyArray<string> {
    return [...this.#dispatcher.refused, ...this.scripts.refused]
  }

  /** Ends a module and everything that it asked for; without effect if there is none of that name. */
  remove(name: string): Promise<void> {
    return this.#inTurn(name, async () => {
      if (!this.#registered.delete(name)) return
      await this.#dispatcher.remove(name)
      // An executor that is gone has forgotten it.
      await failureOf(this.#executor.call("remove", name))
    })
  }

  /** What becomes of the threads that all modules depend on. */
  get states(): Readonly<Record<"hub" | "executor", ActorState>> {
    return { hub: this.#hub.state, executor: this.#executor.state }
  }

  statistics(): Promise<ReadonlyArray<ModuleStatus>> {
    return this.#dispatcher.statistics()
  }

  /** Of the threads of modules. */
  workers(): ReadonlyArray<WorkerStatus> {
    return this.#dispatcher.workers()
  }

  /** Of the executor: requests and delays per module. Empty while it does not respond. */
  requestStatistics() {
    return askOr(this.#executor.call("statistics", undefined, 1000), [])
  }

  /** Of the hub: upstream watches and subscriptions. `undefined` while it does not respond. */
  hubStatistics() {
    return askOr<HubStatistics | undefined>(this.#hub.call("statistics", undefined, 1000), undefined)
  }

  /** Ends the thread of the hub or of the executor, or those of all modules or of all scripts, as a crash would. For tests. */
  async kill(role: "hub" | "executor" | "workers" | "scripts"): Promise<void> {
    if (role === "scripts") await this.scripts.kill()
    else if (role === "workers") await this.#dispatcher.killWorkers()
    else await (role === "hub" ? this.#hub : this.#executor).kill()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#renewal?.cancel()
    this.#nextCheck?.cancel()
    await this.scripts.close()
    this.#dispatcher.close()
    await Promise.all([this.#compiler.close(), this.#system.stop()])
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  #hubReported(report: HubReport): void {
    const { onNote } = this.#options
    if (report.type === "unauthorized") this.#credentials.refresh()
    else if (report.type === "alarm") onNote("hub", report.detail)
    else if (report.state === "forbidden" || report.state === "failing")
      onNote("hub", `${report.selection} is ${report.state}: ${report.detail}`)
  }

  #hubHas(endpoint: ApiEndpoint): void {
    if (endpoint === this.#hubEndpoint) return
    this.#hubEndpoint = endpoint
    // A hub that is starting gets them once it runs.
    tell(this.#hub.call("credentials", endpoint))
  }

  #unauthorized(module: string): void {
    const registered = this.#registered.get(module)
    if (registered === undefined) return
    registered.isWaiting = true
    registered.credentials.refresh()
  }

  #moduleHas(name: string, credentials: CredentialRefresh, endpoint: ApiEndpoint): void {
    const registered = this.#registered.get(name)
    // A module of the same name may have taken its place, with another identity.
    if (registered?.credentials !== credentials) return
    if (registered.endpoint === endpoint && !registered.isWaiting) return
    registered.endpoint = endpoint
    registered.isWaiting = false
    // An executor that is starting gets them once it runs.
    tell(this.#executor.call("credentials", { module: name, endpoint }))
  }

  async #checkWatch(name: string, request: WatchRequest): Promise<WatchAnswer> {
    const registered = this.#registered.get(name)
    if (registered === undefined) return { code: 403, reason: "Forbidden", message: `module ${name} has been removed` }
    return this.#mayWatch(registered.module.file, request)
  }

  async #mayWatch({ serviceAccount }: ModuleFile, request: WatchRequest): Promise<WatchAnswer> {
    return serviceAccount === undefined ? undefined : this.#options.checkWatch(serviceAccount, request)
  }

  #registrationOf({ module: { file }, endpoint }: Registered): Registration {
    const { name, limits } = file
    const { memoryBytes: _memory, deadlineMs: _deadline, ...ofRequests } = limits
    return { module: name, endpoint, userAgent: `${name}/${this.#options.version}`, limits: ofRequests }
  }

  /** Once more for each life of the executor that ends meanwhile: one that starts later has the module in its configuration. */
  async #whenExecutorRuns(call: () => Effect.Effect<void, unknown>): Promise<void> {
    await ask(this.#executor.running())
    await failureOf(call())
  }

  async #inTurn(name: string, work: () => Promise<void>): Promise<void> {
    const before = this.#turns.get(name)
    // An error of the work before belongs to its own caller, and does not stop this.
    const turn = before === undefined ? work() : before.then(work, work)
    this.#turns.set(name, turn)
    try {
      await turn
    } finally {
      if (this.#turns.get(name) === turn) this.#turns.delete(name)
    }
  }

  #scheduleRenewal(): void {
    this.#renewal = this.#options.clock.after(this.#policy.renewEveryMs, () => void this.#renew())
  }

  async #renew(): Promise<void> {
    await this.#credentials.renew()
    for (const { credentials } of [...this.#registered.values()]) await credentials.renew()
    await this.scripts.renew()
    if (!this.#isClosed) this.#scheduleRenewal()
  }

  #scheduleCheck(): void {
    this.#nextCheck = this.#options.clock.after(this.#policy.recheckEveryMs, () => void this.#check())
  }

  async #check(): Promise<void> {
    await Promise.all([this.#dispatcher.recheckWatches(), this.scripts.recheck()])
    if (!this.#isClosed) this.#scheduleCheck()
  }
}
