/**
 * Owns the modules of a host: starts them on a few worker threads, ends and restarts them, and connects what they ask for with the hub and the
 * executor. Whatever a module asked for ends with its instance.
 *
 * A module that ends by itself is started again after a back-off, and no other notices. One that does not return within its deadline costs the modules
 * of its worker one restart, at once; it is alone afterwards. Else a module stays on the worker that had the fewest modules when it was added.
 */
import type { Clock, Timer } from "../../clock.ts"
import { messageOf } from "../../message-of.ts"
import {
  ActorGone,
  type ActorSystem,
  CallDeadlineExceeded,
  type StartThread,
  type Supervisor,
} from "../../runtime/index.ts"
import type { ExecutorConfig, ExecutorControl, ExecutorReport } from "../executor/executor-interface.ts"
import type { WatchRequest } from "../guest/abi-values.ts"
import type { CompiledGuest } from "../guest/compiled-guest.ts"
import type { HubConfig, HubControl, HubReport } from "../hub/hub-interface.ts"
import { ask, askOr, failureOf, tell } from "./actor-calls.ts"
import type { HostPolicy } from "./host-policy.ts"
import { ModuleRefused } from "./module-compiler.ts"
import { type LifecycleInput, ModuleLifecycle, type ModulePhase } from "./module-lifecycle.ts"
import { ExpiryPace, type WatchAnswer, type WatchRefusal, WatchRegistry } from "./watch-registry.ts"
import type { InstanceStatistics, ModuleWorkerReport } from "./worker/module-worker-interface.ts"
import { type WorkerPlace, WorkerPool } from "./worker-pool.ts"

/** A module to run; it is registered with the executor already. */
interface ModuleSpec {
  /** Unique in the host. */
  readonly name: string
  /** Path of the WebAssembly file, which is read at each start. */
  readonly file: string
  readonly env: ReadonlyArray<{ readonly name: string; readonly value: string }>
  /** Bytes of linear memory. */
  readonly maximumMemoryBytes: number
  /** ms that one call may take. */
  readonly deadlineMs: number
  /** Where it keeps its checkpoint. Absent: it keeps none. */
  readonly checkpointDirectory?: string | undefined
}

/** What an operator can see of a module. */
export interface ModuleStatus {
  readonly name: string
  /** `refused`: its file is no module that can run. */
  readonly phase: ModulePhase | "refused"
  /** Why the last instance ended, or why the module is refused. */
  readonly reason: string
  readonly restarts: number
  readonly isAlone: boolean
  readonly worker: string
  /** Rows of its watches that have not arrived, in all its instances: 0, or there is a bug. Each time its watch was ended, so it lists again. */
  readonly missed: number
  /** Absent while it is not running, or its worker does not answer. */
  readonly instance?: InstanceStatistics
}

/** A thread of modules. */
export interface WorkerStatus {
  readonly name: string
  readonly modules: number
}

/** One module: what it is, where it is, and what has become of it. */
interface DispatchedModule {
  readonly spec: ModuleSpec
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

export interface DispatcherOptions {
  readonly system: ActorSystem
  readonly hub: Supervisor<HubConfig, HubControl, HubReport>
  readonly executor: Supervisor<ExecutorConfig, ExecutorControl, ExecutorReport>
  /** Shared workers; modules that overran their deadline have one each beside them. */
  readonly workers: number
  readonly startWorker: StartThread
  /** Compiles the file of a module: {@link ModuleCompiler.compile}. */
  readonly compile: (file: string, module: string) => Promise<CompiledGuest>
  readonly clock: Clock
  readonly policy: HostPolicy
  /** Returns a number in [0, 1). */
  readonly random: () => number
  /** Whether the module may have that watch. Never rejects. */
  readonly checkWatch: (module: string, request: WatchRequest) => Promise<WatchAnswer>
  readonly onLog: (module: string, stream: "stdout" | "stderr", line: string) => void
  /** A module has changed its state, or something else happened that an operator should see. */
  readonly onNote: (module: string, note: string) => void
}

export class Dispatcher {
  readonly #options: DispatcherOptions
  readonly #modules = new Map<string, DispatchedModule>()
  /** Removed, but their workers may be in them still. */
  readonly #leaving = new Set<DispatchedModule>()
  readonly #pool: WorkerPool
  readonly #watches: WatchRegistry
  readonly #pace: ExpiryPace
  #lastSlot = 0
  #lastIncarnation = 0
  #isClosed = false

  constructor(options: DispatcherOptions) {
    this.#options = options
    const { clock, random, policy } = options
    this.#pace = new ExpiryPace(clock, random, policy.expiredWatch)
    this.#watches = new WatchRegistry({
      clock,
      pace: this.#pace,
      hub: options.hub,
      check: options.checkWatch,
      end: (worker, subscription, refusal) => this.#endWatch(worker, subscription, refusal),
    })
    this.#pool = new WorkerPool({
      ...options,
      shared: options.workers,
      start: options.startWorker,
      restart: policy.workerRestart,
      deadlineMs: (slot) => this.#ofSlot(slot)?.spec.deadlineMs ?? Number.POSITIVE_INFINITY,
      onReport: (worker, report) => this.#report(worker.name, report),
      onGone: (worker, slot, reason) => this.#gone(worker, slot, reason),
    })
  }

  /** Starts a module. Throws an Error if there is one of that name. */
  add(spec: ModuleSpec): void {
    if (this.#modules.has(spec.name)) throw new Error(`a module named ${spec.name} is running already`)
    const { clock, random, policy } = this.#options
    const lifecycle = new ModuleLifecycle(
      () => clock.monotonicMs(),
      random,
      () => ++this.#lastIncarnation,
      policy.moduleRestart,
    )
    const module: DispatchedModule = {
      spec,
      slot: ++this.#lastSlot,
      lifecycle,
      place: this.#leastFilled(),
      retry: undefined,
      firstLoad: undefined,
      refusal: undefined,
      missed: 0,
      released: Promise.resolve(),
    }
    this.#modules.set(spec.name, module)
    this.#step(module, { type: "start" })
  }

  /**
   * Resolves when the first load of a module is over, with whether it runs now. If not, `onNote` has received the
   * reason, unless there is none of that name.
   */
  async loaded(name: string): Promise<boolean> {
    const module = this.#modules.get(name)
    await module?.firstLoad
    return module?.lifecycle.phase === "running"
  }

  /** Names of modules whose files are none that can run. */
  get refused(): ReadonlyArray<string> {
    return [...this.#modules].flatMap(([name, { refusal }]) => (refusal === undefined ? [] : [name]))
  }

  /** Ends a module, if there is one of that name. Resolves when its instance has ended; one that does not return ends at its deadline. */
  async remove(name: string): Promise<void> {
    const module = this.#modules.get(name)
    if (module === undefined) return
    this.#modules.delete(name)
    this.#leaving.add(module)
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
  }

  /** A new life of the hub runs: call it for each but the first. */
  hubRestarted(): void {
    this.#watches.hubRestarted()
  }

  /** Asks `checkWatch` about the watches of all modules once more, and ends those that are forbidden. Resolves when that is done. */
  recheckWatches(): Promise<void> {
    return this.#watches.recheck()
  }

  /** The executor reports that an instance has too much under way. */
  overrun({ module: name, incarnation, maximumOperations }: Extract<ExecutorReport, { type: "overrun" }>): void {
    const module = this.#modules.get(name)
    if (module?.lifecycle.incarnation !== incarnation) return
    const reason = `it has more than ${maximumOperations} requests and delays under way`
    this.#step(module, { type: "ended", reason })
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

  /** Of all threads of modules. */
  workers(): ReadonlyArray<WorkerStatus> {
    const running = [...this.#modules.values()].filter(({ lifecycle }) => lifecycle.phase === "running")
    return this.#pool.all.map((worker) => ({
      name: worker.name,
      modules: running.filter(({ place }) => place === worker).length,
    }))
  }

  /** Ends the threads of all workers as crashes would. For tests. */
  async killWorkers(): Promise<void> {
    await Promise.all(this.#pool.all.map(({ supervisor }) => supervisor.kill()))
  }

  /** Ends everything but the threads, which the system stops. */
  close(): void {
    this.#isClosed = true
    this.#watches.close()
    for (const { retry } of this.#modules.values()) retry?.cancel()
    this.#pool.close()
  }

  #step(module: DispatchedModule, input: LifecycleInput): void {
    if (this.#isClosed) return
    const { lifecycle, spec } = module
    for (const command of lifecycle.step(input)) {
      switch (command.type) {
        case "place": {
          if (lifecycle.isAlone && this.#pool.isShared(module.place)) module.place = this.#pool.spawn()
          const load = this.#load(module, module.place, command.incarnation)
          module.firstLoad ??= load
          break
        }
        case "release":
          module.released = this.#release(module, command.incarnation)
          break
        case "retry-after": {
          const { clock, onNote } = this.#options
          onNote(spec.name, `${lifecycle.reason}; it is started again in ${Math.round(command.delayMs)} ms`)
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

  async #load(module: DispatchedModule, place: WorkerPlace, incarnation: number): Promise<void> {
    const { lifecycle, slot } = module
    const { name, file, env, maximumMemoryBytes, checkpointDirectory } = module.spec
    const isPresent = (): boolean => lifecycle.phase === "running" && lifecycle.incarnation === incarnation
    try {
      const [compiled] = await Promise.all([this.#options.compile(file, name), place.running()])
      if (!isPresent()) return
      const assignment = { module: name, incarnation, slot, compiled, env, maximumMemoryBytes, checkpointDirectory }
      await ask(place.supervisor.call("load", assignment))
    } catch (cause) {
      if (!isPresent()) return
      // The place reports the end of the thread; then the module is started again.
      if (cause instanceof ActorGone) return
      const reason = messageOf(cause)
      if (cause instanceof ModuleRefused) {
        module.refusal = reason
        this.#step(module, { type: "remove" })
        this.#options.onNote(name, reason)
        // A worker that does not respond is in a module; if that one overruns its deadline, the place tells.
      } else
        this.#step(module, {
          type: "ended",
          reason: cause instanceof CallDeadlineExceeded ? "its worker is busy" : reason,
        })
    }
  }

  /** The end of the instance at its worker. */
  #release({ spec, place }: DispatchedModule, incarnation: number): Promise<unknown> {
    // Without a deadline: a worker that does not respond is in a module, and ends with it at the latest. With its thread the instance has
    // ended too.
    return failureOf(place.supervisor.call("release", { module: spec.name, incarnation }, Number.POSITIVE_INFINITY))
  }

  #report(worker: string, report: ModuleWorkerReport): void {
    switch (report.type) {
      case "ended": {
        const module = this.#modules.get(report.module)
        if (module?.lifecycle.incarnation === report.incarnation)
          this.#step(module, { type: "ended", reason: report.reason })
        return
      }
      case "watch":
        return this.#watches.begin(worker, report.module, report.subscription, report.request)
      case "paused":
        return this.#watches.pause(worker, report.subscription, report.isPaused)
      case "unwatched":
        return this.#watches.unwatch(worker, report.subscription, report.isExpired)
      case "log":
        return this.#options.onLog(report.module, report.stream, report.line)
      case "missed": {
        const module = this.#modules.get(report.module)
        if (module?.lifecycle.incarnation !== report.incarnation) return
        module.missed += report.rows
        return this.#options.onNote(
          report.module,
          `${report.rows} changes of a watch were lost on their way, a bug; the watch was ended, so that the module lists again`,
        )
      }
      case "checkpoint":
        return this.#options.onNote(report.module, report.detail)
    }
  }

  #gone(place: WorkerPlace, slot: number | undefined, reason: string): void {
    this.#watches.workerGone(place.name)
    for (const module of [...this.#modules.values()]) {
      if (module.place !== place) continue
      this.#step(module, module.slot === slot ? { type: "worker-lost", reason } : { type: "worker-gone" })
    }
  }

  #ofSlot(slot: number): DispatchedModule | undefined {
    return [...this.#modules.values(), ...this.#leaving].find((module) => module.slot === slot)
  }

  #endWatch(worker: string, subscription: number, refusal: WatchRefusal | undefined): void {
    const place = this.#pool.get(worker)
    if (place === undefined) return
    const { code, reason, message } = refusal ?? { code: 0, reason: "", message: "" }
    // With its thread the watch has ended too.
    tell(place.supervisor.call("endWatch", { subscription, code, reason, message }))
  }
}
