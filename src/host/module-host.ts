/**
 * Modules on one cluster: the threads of hub and executor, those of WebAssembly modules, and the scripts with theirs.
 *
 * Each module's requests are sent with its own credentials, and its watches are checked for its own rights, again and again while they are open; the hub
 * watches with the rights of the host. A hub or an executor that crashes is started again: watches end then, so that the guests list.
 *
 * A WebAssembly module that ends by itself is started again after a back-off, and no other notices. One that does not return within its deadline costs the
 * modules of its worker one restart, at once; it is alone afterwards. Else a module stays on the worker that had the fewest modules when it was added.
 * Whatever a module asked for ends with its instance.
 */
import type { Timer } from "../clock.ts"
import { messageOf } from "../message-of.ts"
import { ActorGone, type ActorState, ActorSystem, CallDeadlineExceeded } from "../runtime/index.ts"
import { StateDirectoryMissing } from "./checkpoint/checkpoint.ts"
import { ask, askOr, failureOf, tell } from "./dispatcher/actor-calls.ts"
import { ModuleCompiler, ModuleRefused } from "./dispatcher/module-compiler.ts"
import {
  type LifecycleInput,
  ModuleLifecycle,
  type ModuleStatus,
  type WorkerStatus,
} from "./dispatcher/module-lifecycle.ts"
import { ExpiryPace, type WatchAnswer, type WatchRefusal, WatchRegistry } from "./dispatcher/watch-registry.ts"
import type { InstanceStatistics, ModuleWorkerReport } from "./dispatcher/worker/module-worker-interface.ts"
import { type WorkerPlace, WorkerPool } from "./dispatcher/worker-pool.ts"
import type { Executor, Registration } from "./executor/executor-interface.ts"
import type { WatchRequest } from "./guest/abi-values.ts"
import { defaultHostPolicy, type HostPolicy, type ModuleHostOptions } from "./host-options.ts"
import { startExecutor, startHub } from "./host-threads.ts"
import type { HubStatistics } from "./hub/hub-change.ts"
import type { Hub } from "./hub/hub-interface.ts"
import { PassedCredentials } from "./identity/passed-credentials.ts"
import { defaultMemoryBytes, type ModuleFile } from "./modules/module-file.ts"
import { ScriptHost } from "./scripts/script-host.ts"
import { hostWorkerEntry } from "./worker-entries.ts"

/** A WebAssembly module that runs, or is to. */
interface HostedModule {
  readonly file: ModuleFile
  /** Path of the WebAssembly file, which is read at each start. */
  readonly codePath: string
}

interface Module extends HostedModule {
  readonly credentials: PassedCredentials
  /** Its number in entry marks: unique among the modules of the host. */
  readonly slot: number
  readonly lifecycle: ModuleLifecycle
  /** A shared worker until it has to be alone. */
  place: WorkerPlace
  /** Of the back-off before its next start. */
  retry: Timer | undefined
  /** Its first load; never rejects. */
  firstLoad: Promise<void> | undefined
  /** Why its file is no module that can run. */
  refusal: string | undefined
  missed: number
  /** The end of the last instance at its worker. */
  released: Promise<unknown>
}

/** Found after at most an eighth of a second more, so that a module that holds up others does so for less than a second in all. */
const defaultDeadlineMs = 500

export class ModuleHost implements AsyncDisposable {
  /** The modules that are scripts. */
  readonly scripts: ScriptHost
  readonly #options: ModuleHostOptions
  readonly #policy: HostPolicy
  readonly #system: ActorSystem
  readonly #hub: Hub
  readonly #executor: Executor
  readonly #credentials: PassedCredentials
  readonly #compiler: ModuleCompiler
  readonly #pool: WorkerPool
  readonly #watches: WatchRegistry
  readonly #pace: ExpiryPace
  readonly #modules = new Map<string, Module>()
  /** Removed, but their workers may be in them still. */
  readonly #leaving = new Set<Module>()
  /** By name: what is being done with the module of that name, one after the other. */
  readonly #turns = new Map<string, Promise<unknown>>()
  #lastSlot = 0
  #lastIncarnation = 0
  /** Of what is done again and again. */
  readonly #timers = new Set<Timer>()
  #isClosed = false

  /** Begins to start the threads; modules may be added at once. */
  constructor(options: ModuleHostOptions) {
    const { clock, random, workers, start, onNote } = options
    this.#options = options
    const policy = { ...defaultHostPolicy, ...options.policy }
    this.#policy = policy
    const system = new ActorSystem({ clock, random })
    this.#system = system
    const { hub, credentials } = startHub({
      ...options,
      system,
      start: start("hub"),
      restart: policy.actorRestart,
      restarted: () => {
        this.#watches.hubRestarted()
        this.scripts.hubRestarted()
      },
    })
    this.#hub = hub
    this.#credentials = credentials
    const executor = startExecutor({
      system,
      start: start("executor"),
      restart: policy.actorRestart,
      onNote,
      modules: () => [...this.#modules.values()].map((module) => this.#registrationOf(module)),
      runs: () => {
        for (const module of this.#modules.values()) module.credentials.runs()
      },
      onReport: (report) => {
        const { module } = report
        if (report.type === "unauthorized") return this.#modules.get(module)?.credentials.refused()
        const reason = `it has more than ${report.maximumOperations} requests and delays under way`
        this.#ended({ module, incarnation: report.incarnation, reason })
      },
    })
    this.#executor = executor
    this.#compiler = new ModuleCompiler({
      entry: hostWorkerEntry("module-compiler"),
      deadlineMs: policy.compileMs,
      clock,
    })
    this.#pace = new ExpiryPace(clock, random, policy.expiredWatch)
    this.#watches = new WatchRegistry({
      clock,
      pace: this.#pace,
      hub,
      check: (module, request) => this.#mayWatch(this.#modules.get(module)?.file, request),
      end: (worker, subscription, refusal) => this.#endWatch(worker, subscription, refusal),
    })
    this.#pool = new WorkerPool({
      system,
      hub,
      executor,
      clock,
      shared: workers,
      start: start("module-worker"),
      restart: policy.workerRestart,
      deadlineMs: (slot) => this.#deadlineOf(slot),
      onReport: (worker, report) => this.#report(worker.name, report),
      onGone: (worker, slot, reason) => this.#gone(worker, slot, reason),
    })
    this.scripts = new ScriptHost({
      ...options,
      checkWatch: (file, request) => this.#mayWatch(file, request),
      system,
      hub,
      startThread: start("script-thread"),
    })
    this.#repeat(policy.renewEveryMs, () => this.#renew())
    this.#repeat(policy.recheckEveryMs, () => Promise.all([this.#watches.recheck(), this.scripts.recheck()]))
  }

  /**
   * Starts a WebAssembly module. Rejects if it has no credentials, and if there is one of its name. Additions and removals of one name take effect in
   * their order, whatever they wait for.
   */
  add(module: HostedModule): Promise<void> {
    return this.#inTurn(module.file.name, () => this.#add(module))
  }

  /**
   * Resolves when the first load of a WebAssembly module is over, with whether it runs now: false for one that is
   * refused, or has failed at once; `onNote` has then received the reason.
   */
  async loaded(name: string): Promise<boolean> {
    const module = this.#modules.get(name)
    await module?.firstLoad
    return module?.lifecycle.phase === "running"
  }

  /** Names of the modules and scripts that are there, but cannot be run until their files change. */
  get refused(): ReadonlyArray<string> {
    const modules = [...this.#modules].flatMap(([name, { refusal }]) => (refusal === undefined ? [] : [name]))
    return [...modules, ...this.scripts.refused]
  }

  /**
   * Ends a module and everything that it asked for; without effect if there is none of that name. Resolves when its instance has ended; one that
   * does not return ends at its deadline.
   */
  remove(name: string): Promise<void> {
    return this.#inTurn(name, async () => {
      const module = this.#modules.get(name)
      if (module === undefined) return
      this.#modules.delete(name)
      this.#leaving.add(module)
      module.credentials.close()
      this.#step(module, { type: "remove" })
      const { place } = module
      // One that is to be alone may still wait for its back-off, with no other place than the shared one that it has held up.
      if (this.#pool.isShared(place)) await module.released
      else {
        await this.#pool.remove(place)
        this.#watches.workerGone(place.name)
      }
      this.#leaving.delete(module)
      this.#pace.forget(name)
      // An executor that is gone has forgotten it.
      await failureOf(this.#executor.call("remove", name))
    })
  }

  /** What becomes of the threads that all modules depend on. */
  get states(): Readonly<Record<"hub" | "executor", ActorState>> {
    return { hub: this.#hub.state, executor: this.#executor.state }
  }

  async statistics(): Promise<ReadonlyArray<ModuleStatus>> {
    const places = new Set([...this.#modules.values()].map(({ place }) => place))
    const instances = new Map<string, InstanceStatistics>()
    await Promise.all(
      [...places].map(async ({ supervisor }) => {
        const found = await askOr(supervisor.call("statistics", undefined, 1000), [])
        for (const instance of found) instances.set(instance.module, instance)
      }),
    )
    return [...this.#modules].map(([name, { lifecycle, refusal, place, missed }]) => {
      const { restarts, isAlone, incarnation } = lifecycle
      const instance = instances.get(name)
      return {
        name,
        phase: refusal === undefined ? lifecycle.phase : "refused",
        reason: refusal ?? lifecycle.reason,
        restarts,
        isAlone,
        worker: place.name,
        missed,
        ...(instance?.incarnation === incarnation && { instance }),
      }
    })
  }

  /** Of the threads of modules. */
  workers(): ReadonlyArray<WorkerStatus> {
    const running = [...this.#modules.values()].filter(({ lifecycle }) => lifecycle.phase === "running")
    return this.#pool.all.map((worker) => ({
      name: worker.name,
      modules: running.filter(({ place }) => place === worker).length,
    }))
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
    else if (role === "workers") await Promise.all(this.#pool.all.map(({ supervisor }) => supervisor.kill()))
    else await (role === "hub" ? this.#hub : this.#executor).kill()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    for (const timer of this.#timers) timer.cancel()
    await this.scripts.close()
    this.#watches.close()
    for (const { retry } of this.#modules.values()) retry?.cancel()
    this.#pool.close()
    await Promise.all([this.#compiler.close(), this.#system.stop()])
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #add({ file, codePath }: HostedModule): Promise<void> {
    const { identityOf, onNote, stateDirectory, clock, random } = this.#options
    const { name, checkpoint } = file
    if (checkpoint === true && stateDirectory === undefined) throw new StateDirectoryMissing({ module: name })
    if (this.#modules.has(name)) throw new Error(`a module named ${name} is running already`)
    const credentials = new PassedCredentials(
      identityOf(file),
      (endpoint) => tell(this.#executor.call("credentials", { module: name, endpoint })),
      (reason) => onNote(name, reason),
    )
    await credentials.fetch()
    const lifecycle = new ModuleLifecycle(
      () => clock.monotonicMs(),
      random,
      () => ++this.#lastIncarnation,
      this.#policy.moduleRestart,
    )
    const module: Module = {
      file,
      codePath,
      credentials,
      slot: ++this.#lastSlot,
      lifecycle,
      place: this.#leastFilled(),
      retry: undefined,
      firstLoad: undefined,
      refusal: undefined,
      missed: 0,
      released: Promise.resolve(),
    }
    this.#modules.set(name, module)
    try {
      await ask(this.#executor.running())
    } catch (cause) {
      this.#modules.delete(name)
      throw cause
    }
    // A life of the executor that starts later has the module in its configuration.
    await failureOf(this.#executor.call("register", this.#registrationOf(module)))
    this.#step(module, { type: "start" })
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

  #registrationOf({ file: { name, limits }, credentials }: Module): Registration {
    const { memoryBytes: _memory, deadlineMs: _deadline, ...ofRequests } = limits
    const userAgent = `${name}/${this.#options.version}`
    return { module: name, endpoint: credentials.begins(), userAgent, limits: ofRequests }
  }

  #step(module: Module, input: LifecycleInput): void {
    if (this.#isClosed) return
    const { lifecycle, file } = module
    for (const command of lifecycle.step(input)) {
      switch (command.type) {
        case "place": {
          if (lifecycle.isAlone && this.#pool.isShared(module.place)) module.place = this.#pool.spawn()
          const load = this.#load(module, module.place, command.incarnation)
          module.firstLoad ??= load
          break
        }
        case "release": {
          const { incarnation } = command
          // Without a deadline: a worker that does not respond is in a module, and ends with it at the latest, and the instance with its thread.
          const forever = Number.POSITIVE_INFINITY
          const { supervisor } = module.place
          module.released = failureOf(supervisor.call("release", { module: file.name, incarnation }, forever))
          break
        }
        case "retry-after": {
          const { clock, onNote } = this.#options
          onNote(file.name, `${lifecycle.reason}; it is started again in ${Math.round(command.delayMs)} ms`)
          module.retry = clock.after(command.delayMs, () => this.#step(module, { type: "retry" }))
        }
      }
    }
    if (lifecycle.phase === "removed") module.retry?.cancel()
  }

  /** The shared worker with the fewest modules, the first of equals. */
  #leastFilled(): WorkerPlace {
    const placed = [...this.#modules.values()].flatMap(({ place, refusal }) => (refusal === undefined ? [place] : []))
    const countOf = (worker: WorkerPlace): number => placed.filter((place) => place === worker).length
    return this.#pool.shared.reduce((least, worker) => (countOf(worker) < countOf(least) ? worker : least))
  }

  async #load(module: Module, place: WorkerPlace, incarnation: number): Promise<void> {
    const { lifecycle, slot, codePath } = module
    const { name, env, limits, checkpoint } = module.file
    const isPresent = (): boolean => lifecycle.phase === "running" && lifecycle.incarnation === incarnation
    try {
      const [compiled] = await Promise.all([this.#compiler.compile(codePath, name), place.running()])
      if (!isPresent()) return
      const assignment = {
        module: name,
        incarnation,
        slot,
        compiled,
        env,
        maximumMemoryBytes: limits.memoryBytes ?? defaultMemoryBytes,
        checkpointDirectory: checkpoint === true ? this.#options.stateDirectory : undefined,
      }
      await ask(place.supervisor.call("load", assignment))
    } catch (cause) {
      // Of the end of the thread the place tells; then the module is started again.
      if (!isPresent() || cause instanceof ActorGone) return
      if (cause instanceof ModuleRefused) {
        module.refusal = cause.message
        this.#step(module, { type: "remove" })
        return this.#options.onNote(name, cause.message)
      }
      // A worker that does not respond is in a module; if that one overruns its deadline, the place tells.
      const reason = cause instanceof CallDeadlineExceeded ? "its worker is busy" : messageOf(cause)
      this.#step(module, { type: "ended", reason })
    }
  }

  #report(worker: string, report: ModuleWorkerReport): void {
    const { onLog, onNote } = this.#options
    switch (report.type) {
      case "ended":
        return this.#ended(report)
      case "watch":
        return this.#watches.begin(worker, report.module, report.subscription, report.request)
      case "paused":
        return this.#watches.pause(worker, report.subscription, report.isPaused)
      case "unwatched":
        return this.#watches.unwatch(worker, report.subscription, report.isExpired)
      case "log":
        return onLog(report.module, report.stream, report.line)
      case "missed": {
        const module = this.#modules.get(report.module)
        if (module?.lifecycle.incarnation !== report.incarnation) return
        module.missed += report.rows
        return onNote(
          report.module,
          `${report.rows} changes of a watch were lost on their way, a bug; the watch was ended, so that the module lists again`,
        )
      }
      case "checkpoint":
        return onNote(report.module, report.detail)
    }
  }

  #ended({ module: name, incarnation, reason }: { module: string; incarnation: number; reason: string }): void {
    const module = this.#modules.get(name)
    if (module?.lifecycle.incarnation === incarnation) this.#step(module, { type: "ended", reason })
  }

  #gone(place: WorkerPlace, slot: number | undefined, reason: string): void {
    this.#watches.workerGone(place.name)
    for (const module of [...this.#modules.values()]) {
      if (module.place !== place) continue
      this.#step(module, module.slot === slot ? { type: "worker-lost", reason } : { type: "worker-gone" })
    }
  }

  #deadlineOf(slot: number): number {
    const module = [...this.#modules.values(), ...this.#leaving].find((one) => one.slot === slot)
    return module === undefined ? Number.POSITIVE_INFINITY : (module.file.limits.deadlineMs ?? defaultDeadlineMs)
  }

  #endWatch(worker: string, subscription: number, refusal: WatchRefusal | undefined): void {
    const place = this.#pool.get(worker)
    if (place === undefined) return
    const { code, reason, message } = refusal ?? { code: 0, reason: "", message: "" }
    // With its thread the watch has ended too.
    tell(place.supervisor.call("endWatch", { subscription, code, reason, message }))
  }

  async #mayWatch(file: ModuleFile | undefined, request: WatchRequest): Promise<WatchAnswer> {
    if (file === undefined) return { code: 403, reason: "Forbidden", message: "the module has been removed" }
    const { serviceAccount } = file
    return serviceAccount === undefined ? undefined : this.#options.checkWatch(serviceAccount, request)
  }

  async #renew(): Promise<void> {
    await this.#credentials.renew()
    for (const { credentials } of [...this.#modules.values()]) await credentials.renew()
    await this.scripts.renew()
  }

  /** `work` never rejects. `ms`: after the end of the last time. */
  #repeat(ms: number, work: () => Promise<unknown>): void {
    const timer = this.#options.clock.after(ms, () => {
      this.#timers.delete(timer)
      void work().then(() => {
        if (!this.#isClosed) this.#repeat(ms, work)
      })
    })
    this.#timers.add(timer)
  }
}
