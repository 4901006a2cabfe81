/**
 * A controller at work: its watched selections, and its queue while it may reconcile, in a term between {@link ControllerRun.begin} and
 * {@link ControllerRun.end}. Each term begins with all objects.
 *
 * Guaranteed: every change that passes its predicates is followed by a run of the keys it concerns that started later, as long as the term lasts; one
 * key is never run twice at the same time, not across terms either; a selection that is lost ends the term, since it may no longer be read.
 */

import type { Clock, Timer } from "../../../clock.ts"
import { type ApiObject, aborted, ConflictError, isTerminatingNamespace, type ObjectBase } from "../../../kube/index.ts"
import { messageOf } from "../../../message-of.ts"
import type { ObjectChange } from "../../cache/change-feed.ts"
import { keyOf, type ObjectCache } from "../../cache/object-cache.ts"
import { noStatistics, type QueueStatistics, sumOf, WorkQueue } from "../../queue/work-queue.ts"
import { AppliedObjects } from "../access/applied-objects.ts"
import { CachedObjects, frozen } from "../access/cached-objects.ts"
import { ControllerCluster, type SharedAccess } from "../access/controller-cluster.ts"
import { asGvk } from "../access/kind-resolver.ts"
import type { Acquired } from "../access/shared-caches.ts"
import { type DefinedController, type Index, type Selection, selectionsOf } from "../define-controller.ts"
import { NotWatchedError, type TerminalError } from "../errors.ts"
import type { ControllerState, ControllerStatistics, ReconciledRun } from "./controller-statistics.ts"
import { type CheckpointLocation, DurableProgress, type EnteredChange } from "./durable-progress.ts"
import { reconcileOnce } from "./reconciler.ts"
import { deliver, type Source, sourcesOf } from "./sources.ts"

interface ControllerRunOptions {
  readonly access: SharedAccess
  readonly clock: Clock
  readonly random: () => number
  readonly trouble: (detail: string) => void
  /** Called when a run begins; what it returns is called when the run ends. */
  readonly runBegan?: (() => () => void) | undefined
  /** For controllers that keep a checkpoint. */
  readonly checkpoints: CheckpointLocation | undefined
  /** It reconciles, after it had to wait for its checkpoint. */
  readonly begun: () => void
  readonly onReconciled?: ((run: ReconciledRun) => void) | undefined
}

/** ms between two attempts to open a checkpoint that another process has, or that has no space. */
const openAgainMs = 1000

/** ms. Without a timer in between, a controller that always asks for another run at once would leave the event loop to nothing else. */
const shortestRequeueMs = 1

/**
 * Runs of a key that may fail in a row with a mistake of the program. The caches that it read may be some seconds behind, and ten runs take 5 s; a further one would
 * only repeat it.
 */
const mistakesInARow = 10

/** ms until a key is tried again then: client-go's longest delay. */
const slowestMs = 1_000_000

interface Term {
  readonly progress: DurableProgress | undefined
  readonly queue: WorkQueue
  readonly abort: AbortController
  /** Of this term: between two of them another process may have applied. */
  readonly applied: AppliedObjects
  readonly stopListening: ReadonlyArray<(() => void) | undefined>
}

export class ControllerRun {
  readonly controller: DefinedController
  readonly #options: ControllerRunOptions
  readonly #acquired: Array<{ readonly held: Acquired; readonly selection: Selection }> = []
  readonly #cached = new Map<string, CachedObjects<ApiObject>>()
  /** The caches are shared, also by controllers of this name. */
  readonly #indexes: ReadonlyMap<string, symbol>
  /**
   * Where they were added: a selection whose right was taken away has no cache any more, but that cache continues for
   * others.
   */
  readonly #indexed: Array<{ readonly cache: ObjectCache<ApiObject>; readonly name: symbol }> = []
  #sources: ReadonlyArray<Source> = []
  #state: ControllerState = "waiting"
  #term: Term | undefined
  /** While the checkpoint cannot be opened. */
  #nextAttempt: Timer | undefined
  /** The counters of earlier terms. */
  #past: QueueStatistics = { ...noStatistics(), depth: 0, delayed: 0, longestRunningMs: 0 }
  #ending: Promise<void> | undefined
  readonly #running = new Set<string>()
  /** Of keys whose last runs failed with a mistake: how many. */
  readonly #mistakes = new Map<string, number>()
  readonly #counters = { terminalFailures: 0, requeues: 0, timeouts: 0 }

  constructor(controller: DefinedController, options: ControllerRunOptions) {
    this.controller = controller
    this.#options = options
    this.#indexes = new Map(controller.indexes.map(({ name }) => [name, Symbol(name)]))
  }

  get statistics(): ControllerStatistics {
    const { name } = this.controller
    const queue = this.#term?.queue.statistics
    const sum = queue === undefined ? this.#past : sumOf(this.#past, queue)
    const isWaitingForCheckpoint = this.#nextAttempt !== undefined || this.#term?.progress?.isWaiting === true
    return { name, state: this.#state, ...sum, ...this.#counters, isWaitingForCheckpoint }
  }

  /**
   * Resolves when all kinds exist and all selections are complete; else with the signal, or when a selection is {@link ControllerRun.lost}. Never
   * rejects. Call it once, and once more after each {@link ControllerRun.withdraw}.
   */
  async prepare(signal: AbortSignal): Promise<void> {
    const { access } = this.#options
    const selections = selectionsOf(this.controller)
    const kinds = await Promise.all(selections.map(({ kind }) => access.kinds.whenServed(asGvk(kind), signal)))
    for (const [index, selection] of selections.entries()) {
      const kind = kinds[index]
      if (kind === undefined || signal.aborted) return
      const namespace = kind.namespaced ? selection.namespace : undefined
      this.#acquired.push({ held: access.caches.acquire({ ...selection, kind, namespace }), selection })
    }
    const [subject] = kinds
    if (subject !== undefined && this.controller.reconcile !== undefined)
      this.#sources = sourcesOf(this.controller, subject, {
        cached: <T extends ObjectBase>(kind: string) => this.#cachedOf(kind) as unknown as CachedObjects<T>,
      })
    const complete = Promise.all(this.#acquired.map(({ held }) => held.synced)).then(() => true)
    const isComplete = await Promise.race([complete, aborted(signal), this.lost])
    if (isComplete !== true || signal.aborted) return
    for (const index of this.controller.indexes)
      for (const cache of this.#cachesOf(index.kind)) {
        const name = this.#nameOf(index)
        cache.addIndex(name, (object) => this.#valuesOf(index, object))
        this.#indexed.push({ cache, name })
      }
    this.#state = "standby"
  }

  /** Resolves when one of the present selections may no longer be read. Never rejects. */
  get lost(): Promise<void> {
    return Promise.race(this.#acquired.map(({ held }) => held.lost))
  }

  /** Ends the term at once and gives up all selections. Resolves when the last run has really ended; then it can prepare anew. */
  async withdraw(): Promise<void> {
    await this.end(0)
    this.#release()
    if (this.#state !== "stopped") this.#state = "waiting"
  }

  /** Begins to reconcile, with all objects. Only once it is ready and has no term. */
  begin(): void {
    const { clock, random, trouble } = this.#options
    const { name, concurrency } = this.controller
    let progress: DurableProgress | undefined
    this.#nextAttempt = undefined
    try {
      progress = this.#openProgress()
    } catch (error) {
      if (this.#state !== "waiting") trouble(`${name} waits: ${messageOf(error)}`)
      this.#state = "waiting"
      this.#nextAttempt = clock.after(openAgainMs, () => {
        this.begin()
        if (this.#state === "reconciling") this.#options.begun()
      })
      return
    }
    const abort = new AbortController()
    const applied = new AppliedObjects((kind) => (this.#cachesOf(kind).length === 0 ? undefined : this.#cachedOf(kind)))
    const queue = new WorkQueue({
      clock,
      random,
      concurrency,
      maximumRetries: (error, key) => (this.#isHopeless(key, error) ? 0 : Number.POSITIVE_INFINITY),
      process: async (key) => {
        await this.#process(key, { queue, progress, abort, applied })
        this.#mistakes.delete(key)
      },
      onError: (key, error, _attempt, againMs) => {
        // What it works with may change without waking it, such as the answer of a service that it polls.
        if (againMs === undefined && isMistake(error)) queue.addAfter(key, slowestMs)
        if (!(error instanceof ConflictError) && !abort.signal.aborted) this.#failed(key, error, againMs)
      },
    })
    this.#state = "reconciling"
    // A handler first gets the present objects.
    const stopListening = this.#sources.map((source, index) => {
      // The acquired selections begin with those of the sources.
      const cache = this.#acquired[index]?.held.cache
      if (cache === undefined || progress === undefined)
        return cache?.onChange((changes) => deliver(source, changes, (key) => queue.add(key), trouble))
      const handle = (changes: ReadonlyArray<ObjectChange<ApiObject>>): void => {
        for (const entered of progress.enter(index, changes))
          this.#deliverDurably(source, index, entered, queue, progress)
      }
      handle(progress.deletedMeanwhile(index, cache.all()))
      return cache.onChange(handle)
    })
    this.#term = { progress, queue, abort, applied, stopListening }
  }

  /** `undefined` for a controller without a checkpoint. */
  #openProgress(): DurableProgress | undefined {
    const { checkpoints, clock, trouble } = this.#options
    const { name, checkpoint } = this.controller
    if (checkpoint !== true || checkpoints === undefined) return undefined
    const selections = this.#sources.map(({ selection }) => selection)
    return new DurableProgress({ ...checkpoints, controller: name, selections, clock, say: trouble })
  }

  #deliverDurably(
    source: Source,
    index: number,
    entered: EnteredChange,
    queue: WorkQueue,
    progress: DurableProgress,
  ): void {
    const keys = new Set<string>()
    let isDelivered = true
    const failed = (detail: string): void => {
      isDelivered = false
      this.#options.trouble(detail)
    }
    deliver(source, [entered.change], (key) => keys.add(key), failed)
    // Before the keys: a run counts only if it began later. A map that threw has not handled the change, and gets it
    // again in the next term.
    if (isDelivered) progress.woke(index, entered, keys)
    for (const key of keys) queue.add(key)
  }

  /**
   * Ends the term: nothing more is started, and the signal of runs that have not ended after `graceMs` is aborted. Resolves when all have really ended, which
   * one that ignores its signal may delay for any time: {@link ControllerRun.running} names them. Without a term it resolves at once. A second call may only
   * shorten the time to 0.
   */
  end(graceMs: number): Promise<void> {
    const term = this.#term
    if (this.#nextAttempt !== undefined) {
      this.#nextAttempt.cancel()
      this.#nextAttempt = undefined
      this.#state = "standby"
    }
    if (term === undefined) return Promise.resolve()
    if (graceMs <= 0) term.abort.abort(stopping())
    this.#ending ??= this.#end(term, graceMs).finally(() => {
      this.#ending = undefined
    })
    return this.#ending
  }

  /** As {@link Reads.cached}, but throws also while the caches are not complete. */
  cached<T extends ObjectBase = ApiObject>(kind: string): CachedObjects<T> {
    if (this.#state === "waiting" || this.#state === "stopped") throw new Error("its caches are not complete yet")
    return this.#cachedOf(kind) as unknown as CachedObjects<T>
  }

  /** Keys whose runs have not ended. */
  get running(): ReadonlyArray<string> {
    return [...this.#running]
  }

  /** Queues a key, as a change would. Ignored while the controller does not reconcile: its next term begins with all objects. */
  enqueue(key: string): void {
    this.#term?.queue.add(key)
  }

  /** Gives up its selections. Call it after {@link ControllerRun.end}. */
  stop(): void {
    this.#state = "stopped"
    // Of a term whose runs were given up.
    this.#term?.progress?.close()
    this.#release()
  }

  #release(): void {
    for (const { cache, name } of this.#indexed.splice(0)) cache.removeIndex(name)
    for (const { held } of this.#acquired.splice(0)) held.release()
    this.#cached.clear()
  }

  #nameOf({ name }: Index): symbol {
    const symbol = this.#indexes.get(name)
    if (symbol === undefined) throw new Error(`${this.controller.name} has no index ${name}`)
    return symbol
  }

  async #end({ progress, queue, abort, stopListening }: Term, graceMs: number): Promise<void> {
    for (const stop of stopListening) stop?.()
    const closed = queue.close()
    const timer = this.#options.clock.after(graceMs, () => abort.abort(stopping()))
    await closed
    timer.cancel()
    // What a run has kept and uses later is refused.
    abort.abort(stopping())
    progress?.close()
    this.#past = sumOf(this.#past, { ...queue.statistics, delayed: 0 })
    this.#term = undefined
    if (this.#state === "reconciling") this.#state = "standby"
  }

  async #process(key: string, term: Omit<Term, "stopListening">): Promise<void> {
    const { progress } = term
    this.#running.add(key)
    const ended = this.#options.runBegan?.()
    try {
      if (progress !== undefined) await progress.durable(term.abort.signal)
      const owed = progress?.owedTo(key) ?? []
      await this.#reconcile(key, term)
      progress?.dealtWith(key, owed)
    } finally {
      this.#running.delete(key)
      ended?.()
    }
  }

  /** Rejects if the key has to be run again; resolves also if it was given up. */
  async #reconcile(key: string, { queue, abort, applied }: Omit<Term, "stopListening">): Promise<void> {
    const { controller } = this
    const { signal } = abort
    const startedMs = this.#options.clock.monotonicMs()
    const ended = (outcome: ReconciledRun["outcome"], facts: { error?: unknown; requeueAfterMs?: number }): void => {
      const durationMs = this.#options.clock.monotonicMs() - startedMs
      this.#options.onReconciled?.({ controller: controller.name, key, outcome, startedMs, durationMs, ...facts })
    }
    try {
      const againMs = await reconcileOnce({
        controller,
        key,
        object: this.#subjectOf(key),
        clock: this.#options.clock,
        signal,
        clusterOf: (bound) => this.#clusterFor(bound, applied),
        onTimeout: () => {
          this.#counters.timeouts++
          this.#failed(key, new Error(`it has run for more than ${controller.reconcileTimeoutMs} ms`))
        },
      })
      ended("succeeded", againMs === undefined ? {} : { requeueAfterMs: againMs })
      if (againMs === undefined) return
      this.#counters.requeues++
      queue.addAfter(key, Math.max(againMs, shortestRequeueMs))
    } catch (error) {
      const isGivenUp = isTerminal(error) || isTerminatingNamespace(error)
      ended(isGivenUp ? "given-up" : error instanceof ConflictError ? "conflict" : "failed", { error })
      if (isTerminal(error)) {
        this.#counters.terminalFailures++
        this.#failed(key, error)
      } else if (!isTerminatingNamespace(error)) throw error
      // In a namespace that ends nothing can be created, and a retry would fail as well.
    }
  }

  #clusterFor(signal: AbortSignal, applied: AppliedObjects): ControllerCluster {
    const { access } = this.#options
    return new ControllerCluster({
      controller: this.controller.name,
      access,
      signal,
      cachedOf: (kind) => this.#cachedOf(kind),
      applied,
    })
  }

  /** The caches are shared: what an index of one controller throws must not reach the watch that feeds all. */
  #valuesOf(index: Index, object: ApiObject): ReadonlyArray<string> {
    try {
      return [...index.valuesOf(frozen(object))]
    } catch (error) {
      const { name } = this.controller
      this.#options.trouble(
        `${name}: the index ${index.name} threw for ${index.kind} ${keyOf(object)}: ${messageOf(error)}`,
      )
      return []
    }
  }

  /** The objects of `for` are those of its own selection, even if the kind is watched for another purpose too. */
  #subjectOf(key: string): ApiObject | undefined {
    const [subject] = this.#acquired
    const object = subject?.held.cache?.byKey(key)
    return object === undefined ? undefined : frozen(object)
  }

  #cachesOf(kind: string): ReadonlyArray<ObjectCache<ApiObject>> {
    const ofKind = this.#acquired.filter(({ selection }) => selection.kind === kind)
    return [...new Set(ofKind.flatMap(({ held }) => held.cache ?? []))]
  }

  #cachedOf(kind: string): CachedObjects<ApiObject> {
    const known = this.#cached.get(kind)
    if (known !== undefined) return known
    const caches = this.#cachesOf(kind)
    const { name: controller } = this.controller
    if (caches.length === 0) throw new NotWatchedError({ controller, kind })
    const made = new CachedObjects(caches, this.#indexes)
    this.#cached.set(kind, made)
    return made
  }

  /** Whether too many runs in a row have failed with a mistake; other failures in between or before do not count. */
  #isHopeless(key: string, error: unknown): boolean {
    const inARow = isMistake(error) ? (this.#mistakes.get(key) ?? 0) + 1 : 0
    const isHopeless = inARow >= mistakesInARow
    if (inARow === 0 || isHopeless) this.#mistakes.delete(key)
    else this.#mistakes.set(key, inARow)
    return isHopeless
  }

  /** `againMs`: until the key is run again; absent: that is not known, or it is not. */
  #failed(key: string, error: unknown, againMs?: number): void {
    const { name } = this.controller
    const again =
      againMs !== undefined
        ? `; again in ${spokenMs(againMs)}`
        : isMistake(error)
          ? `; again in ${spokenMs(slowestMs)} or when something wakes it, as this is a mistake of the controller`
          : ""
    // Tagged errors have their facts in the message; of others a person needs the place.
    const place = error instanceof Error && !("_tag" in error) ? placeOf(error) : ""
    this.#options.trouble(`${name} ${key}: ${place === "" ? messageOf(error) : String(error)}${again}${place}`)
  }
}

/** A script may bring a copy of the library with it, so the class says nothing. */
const isTerminal = (error: unknown): error is TerminalError =>
  error instanceof Error && "_tag" in error && error._tag === ("TerminalError" satisfies TerminalError["_tag"])

/** Of the program, and not of what it works with: the next run fails as well. The errors of `fetch` and of Node have a cause or a code. */
const isMistake = (error: unknown): boolean =>
  error instanceof ReferenceError ||
  ((error instanceof TypeError || error instanceof RangeError) && error.cause === undefined && !("code" in error))

/** The lines of the stack, without those of this library and of Node, which say nothing about the controller; all, if no others are left. */
const placeOf = ({ stack = "" }: Error): string => {
  const frames = stack.split("\n").filter((line) => /^\s+at /.test(line))
  const theirs = frames.filter((line) => !line.includes(ownPlace) && !/\bnode:/.test(line))
  return (theirs.length === 0 ? frames : theirs).map((frame) => `\n${frame}`).join("")
}

/** The folder of this library, `src/` or `dist/`. */
const ownPlace = import.meta.url.replace(/(.*\/(?:src|dist)\/).*/, "$1")

const spokenMs = (ms: number): string => (ms < 1000 ? `${Math.round(ms)} ms` : `${Math.round(ms / 1000)} s`)

const stopping = (): Error => new Error("the controller has to stop")
