/**
 * Scripts as modules of a host: their threads, their credentials, and what they may watch.
 *
 * Guaranteed:
 * - All scripts share one thread, until that ends: then the script that was the cause is started again after a back-off, in a thread of its own, and stays
 *   there until its files change; the others go on at once in another shared thread. If the cause is not known, such as when memory ran out, each of them
 *   may be it and gets a thread of its own. A thread that does not respond is ended.
 * - Neither the main thread nor WebAssembly modules wait for a script.
 * - Scripts read the hub's watches, each with the rights of its account, which are checked before and again while it reads.
 */
import type { Clock, Timer } from "../../clock.ts"
import type { EndpointSource } from "../../kube/index.ts"
import { messageOf } from "../../message-of.ts"
import { ActorGone, type ActorSystem, CallDeadlineExceeded, type StartThread } from "../../runtime/index.ts"
import type { AdmissionCall, AdmissionTerms } from "../admission/registration.ts"
import type { ReviewRequest } from "../admission/review-server.ts"
import type { ControllerStatistics } from "../controller/run/controller-statistics.ts"
import { ask, askOr, failureOf, tell } from "../dispatcher/actor-calls.ts"
import { type LifecycleInput, ModuleLifecycle, type ModulePhase } from "../dispatcher/module-lifecycle.ts"
import { type HubWatchRequest, type WatchAnswer, WatchRegistry } from "../dispatcher/watch-registry.ts"
import type { Hub } from "../hub/hub-interface.ts"
import { PassedCredentials } from "../identity/passed-credentials.ts"
import type { ModuleFile } from "../modules/module-file.ts"
import type { ModuleSource } from "../modules/module-listing.ts"
import { ScriptPlace } from "./script-place.ts"
import { scriptsNamedIn, withoutMarks } from "./thread/script-marks.ts"
import type { ScriptThreadReport } from "./thread/script-thread-interface.ts"
import { WatchGrants } from "./watch-grants.ts"

interface ScriptHostOptions {
  readonly system: ActorSystem
  readonly hub: Hub
  readonly startThread: StartThread
  readonly clock: Clock
  /** Returns a number in [0, 1). */
  readonly random: () => number
  /** Where scripts that ask for a checkpoint keep it; they are refused without it. */
  readonly stateDirectory?: string | undefined
  readonly identityOf: (file: ModuleFile) => EndpointSource
  /** Whether a script may have a watch. */
  readonly checkWatch: (file: ModuleFile, request: HubWatchRequest) => Promise<WatchAnswer>
  /** Registers the webhooks of a script. Absent: scripts that have any are refused. */
  readonly webhooks?: { set(module: string, terms: ReadonlyArray<AdmissionTerms>): void } | undefined
  /** Something that an operator should see. `subject`: a script's name, or that of a thread. */
  readonly onNote: (subject: string, note: string) => void
}

export interface ScriptStatus {
  readonly name: string
  /** `refused`: it could be started once, and then no more. */
  readonly phase: ModulePhase | "refused"
  readonly restarts: number
  readonly isAlone: boolean
  /** Rows of watches of its threads that have not arrived: 0, or there is a bug. */
  readonly missed: number
  /** Empty while it is not running, or its thread does not respond. */
  readonly controllers: ReadonlyArray<ControllerStatistics>
}

interface Script {
  readonly source: ModuleSource
  readonly credentials: PassedCredentials
  readonly lifecycle: ModuleLifecycle
  place: ScriptPlace | undefined
  retry: Timer | undefined
  isRefused: boolean
  missed: number
  /** The outcome of the first start. */
  readonly settled: PromiseWithResolvers<void>
}

/** ms. A controller that is only slow says so itself; the API server waits a second longer than the controller may. */
const graceMs = 500

/** ms for a script to be loaded: it may import a lot, and wait for what it imports. */
const loadMs = 60_000

export class ScriptHost {
  readonly #options: ScriptHostOptions
  readonly #scripts = new Map<string, Script>()
  readonly #places = new Set<ScriptPlace>()
  readonly #watches: WatchRegistry
  readonly #grants: WatchGrants
  #shared: ScriptPlace | undefined
  /**
   * Names of threads, with the last number of a subscription that the hub can have heard of. A name is used again, because the hub keeps what a receiver
   * has not taken; so its next thread may get that, and uses other numbers.
   */
  readonly #names = new Map<string, { isFree: boolean; lastSubscription: number }>()
  #lastIncarnation = 0
  #isClosed = false

  constructor(options: ScriptHostOptions) {
    const { clock, hub, checkWatch } = options
    this.#options = options
    this.#watches = new WatchRegistry({
      clock,
      hub,
      // Caches begin with the present state, which cannot expire.
      pace: { delayMs: () => 0, expired: () => undefined },
      // Threads subscribe only for scripts that may have it.
      check: async () => undefined,
      end: (thread, subscription, refusal) =>
        this.#tellPlace(thread, (place) =>
          place.supervisor.call("endWatch", { subscription, reason: refusal?.message ?? "" }),
        ),
    })
    this.#grants = new WatchGrants({
      check: async (module, request) => {
        const script = this.#scripts.get(module)
        return script === undefined ? "not-yet" : checkWatch(script.source.file, request)
      },
      settle: (thread, question, refusal) =>
        this.#tellPlace(thread, (place) => place.supervisor.call("settle", { question, refusal })),
    })
  }

  /**
   * Starts a script. Resolves when its controllers are under way, or its thread has ended before; rejects with `ScriptRefused`, and if it has no
   * credentials or there is one of its name.
   */
  async add(source: ModuleSource): Promise<void> {
    const { identityOf, clock, random, onNote } = this.#options
    const { name } = source.file
    if (this.#scripts.has(name)) throw new Error(`a script named ${name} is running already`)
    const credentials = new PassedCredentials(
      identityOf(source.file),
      (endpoint) => {
        const place = this.#scripts.get(name)?.place
        if (place !== undefined) tell(place.supervisor.call("credentials", { module: name, endpoint }))
      },
      (reason) => onNote(name, reason),
    )
    const lifecycle = new ModuleLifecycle(
      () => clock.monotonicMs(),
      random,
      () => ++this.#lastIncarnation,
    )
    await credentials.fetch()
    if (this.#isClosed) throw new Error("the host is ending")
    const settled = Promise.withResolvers<void>()
    const script: Script = {
      source,
      credentials,
      lifecycle,
      place: undefined,
      retry: undefined,
      isRefused: false,
      missed: 0,
      settled,
    }
    this.#scripts.set(name, script)
    this.#step(script, { type: "start" })
    await settled.promise
  }

  /** The response to a review, of a script's controller. Rejects with an Error that names what has not answered: a thread may be busy, or gone. */
  async review(module: string, terms: AdmissionTerms, call: AdmissionCall, request: ReviewRequest): Promise<object> {
    const { controller, timeoutMs } = terms
    const asked = this.#scripts
      .get(module)
      ?.place?.supervisor.call("review", { module, controller, call, request }, timeoutMs + graceMs)
    const notRunning = { problem: `module ${module} of the controller host does not run at present` }
    const busy = { problem: `controller ${controller} of module ${module} is busy for more than ${timeoutMs} ms` }
    const answer = await (asked === undefined ? Promise.resolve(notRunning) : ask(asked)).catch((error: unknown) =>
      error instanceof CallDeadlineExceeded ? busy : notRunning,
    )
    if ("problem" in answer) throw new Error(answer.problem)
    return answer.response
  }

  /** Ends a script, if there is one of that name. Resolves when its runs have ended or their time is over. */
  async remove(name: string): Promise<void> {
    const script = this.#scripts.get(name)
    if (script === undefined) return
    script.retry?.cancel()
    script.lifecycle.step({ type: "remove" })
    const { place } = script
    // A thread that has ended, or is ended meanwhile because it does not respond, has no scripts.
    void place?.probe()
    if (place !== undefined) await failureOf(place.supervisor.call("stop", name, Number.POSITIVE_INFINITY))
    this.#scripts.delete(name)
    script.credentials.close()
    script.place = undefined
    if (place !== undefined) await this.#leave(place)
  }

  /** A new life of the hub runs: call it for each but the first. */
  hubRestarted(): void {
    this.#watches.hubRestarted()
  }

  /** Asks once more what scripts may watch, and whether their threads respond. Resolves when the former is done. */
  async recheck(): Promise<void> {
    for (const place of this.#places) void place.probe()
    await this.#grants.recheck()
  }

  /** Fetches credentials that are about to expire. */
  async renew(): Promise<void> {
    for (const { credentials } of [...this.#scripts.values()]) await credentials.renew()
  }

  /** Names of scripts that ran, and could not be loaded when they were to be started again. */
  get refused(): ReadonlyArray<string> {
    return [...this.#scripts].flatMap(([name, { isRefused }]) => (isRefused ? [name] : []))
  }

  async statistics(): Promise<ReadonlyArray<ScriptStatus>> {
    const controllers = new Map<string, ReadonlyArray<ControllerStatistics>>()
    await Promise.all(
      [...this.#places].map(async ({ supervisor }) => {
        const found = await askOr(supervisor.call("statistics", undefined, 1000), [])
        for (const each of found) controllers.set(each.module, each.controllers)
      }),
    )
    return [...this.#scripts].map(([name, { lifecycle, isRefused, missed }]) => ({
      name,
      phase: isRefused ? "refused" : lifecycle.phase,
      restarts: lifecycle.restarts,
      isAlone: lifecycle.isAlone,
      missed,
      controllers: controllers.get(name) ?? [],
    }))
  }

  /** Ends the threads of all scripts as crashes would. For tests. */
  async kill(): Promise<void> {
    await Promise.all([...this.#places].map((place) => place.kill()))
  }

  /** Ends all scripts. */
  async close(): Promise<void> {
    await Promise.all([...this.#scripts.keys()].map((name) => this.remove(name)))
    this.#isClosed = true
    this.#watches.close()
    for (const place of this.#places) place.close()
  }

  #step(script: Script, input: LifecycleInput): void {
    if (this.#isClosed) return
    const { lifecycle, source } = script
    for (const command of lifecycle.step(input)) {
      if (command.type === "place") {
        script.place = this.#placeFor(script)
        void this.#load(script, script.place, command.incarnation)
      } else if (command.type === "retry-after") {
        const { clock, onNote } = this.#options
        const inMs = Math.round(command.delayMs)
        onNote(source.file.name, `${lifecycle.reason}; it is started again in ${inMs} ms, in a thread of its own`)
        script.retry = clock.after(command.delayMs, () => this.#step(script, { type: "retry" }))
      }
    }
  }

  #placeFor({ lifecycle }: Script): ScriptPlace {
    if (lifecycle.isAlone) return this.#spawn()
    this.#shared ??= this.#spawn()
    return this.#shared
  }

  #spawn(): ScriptPlace {
    const { system, hub, startThread, clock } = this.#options
    const [name, use] = this.#freeName()
    use.isFree = false
    const place: ScriptPlace = new ScriptPlace({
      name,
      lastSubscription: use.lastSubscription,
      system,
      hub,
      start: startThread,
      clock,
      onReport: (report) => this.#report(place, report),
      onGone: (reason) => this.#gone(place, reason),
    })
    this.#places.add(place)
    return place
  }

  #freeName() {
    for (const [name, use] of this.#names) if (use.isFree) return [name, use] as const
    const name = `scripts ${this.#names.size + 1}`
    const use = { isFree: true, lastSubscription: 0 }
    this.#names.set(name, use)
    return [name, use] as const
  }

  async #load(script: Script, place: ScriptPlace, incarnation: number): Promise<void> {
    const { lifecycle, source, settled, credentials } = script
    const { file, codePath, codeHash } = source
    const isPresent = (): boolean => lifecycle.phase === "running" && lifecycle.incarnation === incarnation
    try {
      await ask(place.supervisor.running())
      if (!isPresent()) return settled.resolve()
      const { name: module, env, checkpoint: hasCheckpoint = false } = file
      const { stateDirectory, webhooks } = this.#options
      const hasWebhooks = webhooks !== undefined
      const endpoint = credentials.begins()
      const assignment = { module, codePath, codeHash, env, hasCheckpoint, stateDirectory, hasWebhooks, endpoint }
      const terms = await ask(place.supervisor.call("start", assignment, loadMs))
      credentials.runs()
      webhooks?.set(module, terms)
      settled.resolve()
    } catch (cause) {
      // The place reports the end of the thread; then the script is started anew.
      if (cause instanceof ActorGone || !isPresent()) return settled.resolve()
      this.#refuse(script, place, cause)
    }
  }

  /** It cannot be loaded: as good as removed, until its files change. */
  #refuse(script: Script, place: ScriptPlace, cause: unknown): void {
    const isLate = cause instanceof CallDeadlineExceeded
    const reason = isLate ? `it was not loaded within ${loadMs / 1000} s` : messageOf(cause)
    const isFirst = script.lifecycle.restarts === 0
    script.credentials.close()
    script.lifecycle.step({ type: "remove" })
    script.isRefused = true
    script.place = undefined
    if (isFirst) this.#scripts.delete(script.source.file.name)
    else this.#options.onNote(script.source.file.name, `it is not run any more: ${reason}`)
    script.settled.reject(isFirst && !isLate && cause instanceof Error ? cause : new Error(reason))
    void this.#leave(place)
  }

  /** Ends a thread that has no scripts any more. */
  async #leave(place: ScriptPlace): Promise<void> {
    for (const script of this.#scripts.values()) if (script.place === place) return
    if (!this.#places.delete(place)) return
    if (this.#shared === place) this.#shared = undefined
    await this.#forget(place)
  }

  #gone(place: ScriptPlace, reason: string): void {
    if (!this.#places.delete(place)) return
    if (this.#shared === place) this.#shared = undefined
    // Not from within the supervisor's own change of state.
    setImmediate(() => void this.#forget(place))
    const lost = [...this.#scripts.values()].filter((script) => script.place === place)
    const named = scriptsNamedIn(reason)
    const isKnown = lost.some(({ source }) => named.has(source.file.name))
    const among = lost.length === 1 ? "" : ` with ${lost.length} scripts`
    for (const script of lost) {
      script.place = undefined
      const isCause = !isKnown || named.has(script.source.file.name)
      this.#step(
        script,
        isCause
          ? { type: "worker-lost", reason: `its thread${among} has ended: ${withoutMarks(reason)}` }
          : { type: "worker-gone" },
      )
    }
  }

  async #forget(place: ScriptPlace): Promise<void> {
    this.#watches.workerGone(place.name)
    this.#grants.threadGone(place.name)
    await place.remove()
    const use = this.#names.get(place.name)
    if (use !== undefined) use.isFree = true
  }

  #report(place: ScriptPlace, report: ScriptThreadReport): void {
    const { onNote } = this.#options
    switch (report.type) {
      case "ask":
        return this.#grants.ask(place.name, report.question, report.module, report.request)
      case "withdrawn":
        return this.#grants.withdraw(place.name, report.question)
      case "watch": {
        const use = this.#names.get(place.name)
        if (use !== undefined) use.lastSubscription = report.subscription
        return this.#watches.begin(place.name, place.name, report.subscription, report.request)
      }
      case "unwatched":
        return this.#watches.unwatch(place.name, report.subscription)
      case "unauthorized":
        return this.#scripts.get(report.module)?.credentials.refused()
      case "trouble":
        return onNote(report.module === "" ? place.name : report.module, report.detail)
      case "missed":
        for (const script of this.#scripts.values()) if (script.place === place) script.missed += report.rows
        return onNote(
          place.name,
          `${report.rows} changes of a watch were lost on their way, a bug; it was listed again`,
        )
    }
  }

  #tellPlace(name: string, call: (place: ScriptPlace) => Parameters<typeof tell>[0]): void {
    for (const place of this.#places) if (place.name === name) tell(call(place))
  }
}
