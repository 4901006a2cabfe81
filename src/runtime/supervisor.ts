/**
 * Keeps one actor alive: a life that ends is followed by another after a jittered back-off. After five crashes within ten minutes the actor is not
 * restarted any more (docs/reference/architecture.md#actors); the owner decides what that means. A first life that fails to start with a tagged error is
 * not restarted at all. A life that is moved to another thread stops in order, and the next one starts at once.
 */
import { MessageChannel } from "node:worker_threads"
import * as Effect from "effect/Effect"
import type { Clock, Timer } from "../clock.ts"
import { messageOf } from "../message-of.ts"
import type { ActorDefinition } from "./actor.ts"
import type { ActorMetrics, HostEvent } from "./actor-host.ts"
import { BackOff, type BackOffPolicy } from "./back-off.ts"
import { ControlCaller, type ControlInterface, type OpenedStream } from "./control.ts"
import { ActorGaveUp, ActorGone, type CallError } from "./errors.ts"
import type { StreamReceiver } from "./stream.ts"
import type { StartThread, Thread } from "./thread.ts"

export type ActorState = "starting" | "running" | "backing-off" | "stopping" | "stopped" | "gave-up"

export interface RestartPolicy {
  readonly backOff: BackOffPolicy
  /** Crashes within `windowMs` after which the actor is no longer restarted. */
  readonly maximumCrashes: number
  readonly windowMs: number
}

/**
 * Default: 5 crashes in 10 min. The first restart comes after about 100 ms, because a restarting watcher costs the API server only one
 * resumed watch, while its kind goes unread.
 */
export const defaultRestartPolicy: RestartPolicy = {
  backOff: { initialMs: 100, maximumMs: 30_000, factor: 2, jitter: 1, resetAfterMs: 60_000 },
  maximumCrashes: 5,
  windowMs: 600_000,
}

export interface ActorSpec<Config, Control extends ControlInterface, Report> {
  readonly definition: ActorDefinition<Config, Control, Report>
  /** Unique in the system. */
  readonly name: string
  readonly start: StartThread
  /** Called before each life; a failure counts as a crash and is retried. */
  readonly config: () => Config | Promise<Config>
  /** The number of the next life; must increase, even across restarts of the process if frames outlive it. */
  readonly incarnation: () => number | Promise<number>
  readonly restart?: RestartPolicy
  readonly onReport?: (report: Report) => void
  readonly onStateChange?: (state: ActorState, reason: string) => void
  readonly onGaveUp?: (error: ActorGaveUp) => void
}

/** What the system adds: links are made anew with each life. */
interface LifeListener {
  started(incarnation: number): void
}

export class Supervisor<Config, Control extends ControlInterface, Report> {
  readonly #spec: ActorSpec<Config, Control, Report>
  readonly #clock: Clock
  readonly #policy: RestartPolicy
  readonly #backOff: BackOff
  readonly #life: LifeListener
  #state: ActorState = "starting"
  #thread: Thread | undefined
  #caller: ControlCaller<Control> | undefined
  #incarnation = 0
  #restarts = 0
  #refused = false
  /** Whether any life of it ran. A move begins another life without a restart. */
  #hasRun = false
  #crashes: Array<number> = []
  #retry: Timer | undefined
  #stopWaiters: Array<(drained: boolean) => void> = []
  #drained = false
  #isMoving = false
  #moveWaiters: Array<() => void> = []
  #runningWaiters: Array<{ readonly resolve: () => void; readonly reject: (error: ActorGone) => void }> = []
  readonly #metricsWaiters = new Set<(metrics: ActorMetrics | undefined) => void>()
  #metricsAsked = false

  constructor(spec: ActorSpec<Config, Control, Report>, clock: Clock, random: () => number, life: LifeListener) {
    this.#spec = spec
    this.#clock = clock
    this.#policy = spec.restart ?? defaultRestartPolicy
    this.#backOff = new BackOff(this.#policy.backOff, random)
    this.#life = life
  }

  get name(): string {
    return this.#spec.name
  }
  get role(): string {
    return this.#spec.definition.role
  }
  get state(): ActorState {
    return this.#state
  }
  get incarnation(): number {
    return this.#incarnation
  }
  /** Lives after the first. */
  get restarts(): number {
    return this.#restarts
  }
  /** The thread to send links to, if one is running. */
  get thread(): Thread | undefined {
    return this.#thread
  }

  start(): void {
    this.#enter("starting", "spawned")
    void this.#begin()
  }

  /** Calls the running life. Fails at once with `ActorGone` if there is none. */
  call<M extends keyof Control & string>(
    method: M,
    payload: Control[M]["payload"]["Type"],
    deadlineMs?: number,
  ): Effect.Effect<Control[M]["success"]["Type"], Control[M]["error"]["Type"] | CallError> {
    return Effect.suspend(() => {
      const caller = this.#state === "running" || this.#state === "stopping" ? this.#caller : undefined
      if (caller === undefined) return Effect.fail(new ActorGone({ actor: this.name, reason: `it is ${this.#state}` }))
      return caller.call(method, payload, deadlineMs)
    })
  }

  /** Calls a method of the running life that returns a stream. Fails at once with `ActorGone` if there is none. */
  stream<M extends keyof Control & string>(
    method: M,
    payload: Control[M]["payload"]["Type"],
    receiver: StreamReceiver,
    deadlineMs?: number,
  ): Effect.Effect<OpenedStream<Control[M]["success"]["Type"]>, Control[M]["error"]["Type"] | CallError> {
    return Effect.suspend(() => {
      const caller = this.#state === "running" ? this.#caller : undefined
      if (caller === undefined) return Effect.fail(new ActorGone({ actor: this.name, reason: `it is ${this.#state}` }))
      return caller.stream(method, payload, receiver, deadlineMs)
    })
  }

  /** Completes when the actor runs; fails if it is stopped or no longer restarted. */
  running(): Effect.Effect<void, ActorGone> {
    return Effect.callback<void, ActorGone>((resume) => {
      if (this.#state === "running") return resume(Effect.void)
      if (this.#isOver())
        return resume(Effect.fail(new ActorGone({ actor: this.name, reason: `it is ${this.#state}` })))
      this.#runningWaiters.push({ resolve: () => resume(Effect.void), reject: (error) => resume(Effect.fail(error)) })
    })
  }

  /** The life's own metrics; `undefined` if it does not respond within `deadlineMs` or is not running. */
  metrics(deadlineMs = 1000): Promise<ActorMetrics | undefined> {
    const thread = this.#thread
    if (thread === undefined || this.#state !== "running") return Promise.resolve(undefined)
    return new Promise((resolve) => {
      const answer = (metrics: ActorMetrics | undefined): void => {
        timer.cancel()
        this.#metricsWaiters.delete(answer)
        resolve(metrics)
      }
      const timer = this.#clock.after(deadlineMs, () => answer(undefined))
      this.#metricsWaiters.add(answer)
      // One request at a time, so that probes do not pile up on a busy actor.
      if (this.#metricsAsked) return
      this.#metricsAsked = true
      thread.send({ type: "metrics" })
    })
  }

  /** Ends the present life at once, as a crash would, with that reason. For tests and for actors that must not continue. */
  async kill(reason = "killed"): Promise<void> {
    await this.#thread?.kill(reason)
  }

  /**
   * Stops in order; resolves when the thread has ended, with whether every outbox but those of `answers` was drained within `drainMs`. A
   * stopped actor is not restarted.
   */
  async stop(drainMs: number, answers: ReadonlyArray<string> = []): Promise<boolean> {
    if (this.#isOver()) return true
    this.#retry?.cancel()
    if (this.#thread === undefined) {
      this.#finish("stopped", "stopped")
      return true
    }
    const stopped = new Promise<boolean>((resolve) => this.#stopWaiters.push(resolve))
    if (this.#state !== "stopping") this.#stopThread(drainMs, answers, "asked to", stopped)
    return stopped
  }

  /**
   * Ends the present life in order and begins the next at once, which `start` of the spec may place in another thread. Not a crash. What is not
   * acknowledged within `drainMs` is lost with the life, as in a crash. Resolves when the life has ended, at once if none is running.
   */
  async move(drainMs: number, answers: ReadonlyArray<string> = []): Promise<void> {
    if (this.#state !== "running") return
    this.#isMoving = true
    const moved = new Promise<void>((resolve) => this.#moveWaiters.push(resolve))
    this.#stopThread(drainMs, answers, "moves to another thread", moved)
    return moved
  }

  #stopThread(drainMs: number, answers: ReadonlyArray<string>, reason: string, ended: Promise<unknown>): void {
    const thread = this.#thread
    if (thread === undefined) return
    this.#enter("stopping", reason)
    this.#drained = false
    thread.send({ type: "stop", drainMs, answers })
    // A body that does not close, or a thread in an endless loop, must not hold up the shutdown.
    const timer = this.#clock.after(drainMs + 2000, () => void thread.kill())
    void ended.then(() => timer.cancel())
  }

  async #begin(): Promise<void> {
    let started: Thread | undefined
    try {
      const config = await this.#spec.config()
      // One that has ended meanwhile takes no number: it could be above that of its successor, whose frames would be dropped.
      if (this.#state !== "starting") return
      const incarnation = await this.#spec.incarnation()
      if (this.#state !== "starting") return
      // Receivers drop the frames of a life whose number does not increase, silently and for ever.
      if (!Number.isInteger(incarnation) || incarnation <= this.#incarnation || incarnation > 0xffff_ffff) {
        throw new RangeError(`incarnation ${incarnation} is not an integer above ${this.#incarnation} and below 2^32`)
      }
      this.#incarnation = incarnation
      const thread = this.#spec.start({
        event: (event) => this.#event(thread, event),
        ended: (reason, isShared = false) => this.#ended(thread, reason, isShared),
      })
      started = thread
      this.#thread = thread
      const { port1, port2 } = new MessageChannel()
      this.#caller = new ControlCaller(this.name, this.#spec.definition.control, port1, this.#clock)
      thread.send({ type: "boot", name: this.name, incarnation, config, control: port2 }, [port2])
      this.#life.started(incarnation)
    } catch (cause) {
      const reason = `could not start: ${messageOf(cause)}`
      if (started !== undefined) {
        // Booting failed half-way, for example on a config that cannot be cloned: the thread must not keep running.
        void started.kill()
        this.#ended(started, reason, false)
      } else if (this.#state === "starting") this.#crashed(reason)
    }
  }

  #event(thread: Thread, event: HostEvent): void {
    if (thread !== this.#thread) return
    switch (event.type) {
      case "running":
        if (this.#state !== "starting") return
        this.#hasRun = true
        this.#enter("running", "booted")
        for (const waiter of this.#runningWaiters.splice(0)) waiter.resolve()
        return
      case "progress":
        this.#caller?.progressed()
        return
      case "report":
        this.#spec.onReport?.(event.report as Report)
        return
      case "metrics":
        this.#answerMetrics(event.metrics)
        return
      case "stopped":
        this.#drained = event.drained
        return
      case "crashed":
        // The end of the thread follows with the reason.
        this.#refused = event.refused
        return
    }
  }

  #ended(thread: Thread, reason: string, isShared: boolean): void {
    if (thread !== this.#thread) return
    this.#thread = undefined
    this.#caller?.gone(reason)
    this.#caller = undefined
    this.#answerMetrics(undefined)
    if (this.#state !== "stopping") {
      this.#crashed(reason, isShared)
      return
    }
    if (this.#isMoving && this.#stopWaiters.length === 0) {
      this.#enter("starting", "moved")
      void this.#begin()
    } else {
      this.#finish("stopped", reason)
      for (const resolve of this.#stopWaiters.splice(0)) resolve(this.#drained)
    }
    this.#isMoving = false
    for (const resolve of this.#moveWaiters.splice(0)) resolve()
  }

  /** `isShared`: the end of a thread that others share. Any of them may be the cause, so it is not counted; the actors' owner separates them. */
  #crashed(reason: string, isShared = false): void {
    const now = this.#clock.monotonicMs()
    const { maximumCrashes, windowMs } = this.#policy
    this.#crashes = [...this.#crashes.filter((time) => now - time < windowMs), ...(isShared ? [] : [now])]
    // If the first start fails with a tagged error (a directory in use, a full disk), a person has to fix it; a later life has worked
    // before.
    const refusedAtFirst = this.#refused && this.#restarts === 0 && !this.#hasRun
    if (this.#crashes.length >= maximumCrashes || refusedAtFirst) {
      this.#finish("gave-up", reason)
      this.#spec.onGaveUp?.(
        new ActorGaveUp({ actor: this.name, crashes: this.#crashes.length, windowMs, lastReason: reason }),
      )
      return
    }
    this.#enter("backing-off", reason)
    this.#retry = this.#clock.after(this.#backOff.next(now), () => {
      this.#restarts++
      this.#enter("starting", "restarted")
      void this.#begin()
    })
  }

  #answerMetrics(metrics: ActorMetrics | undefined): void {
    this.#metricsAsked = false
    for (const answer of [...this.#metricsWaiters]) answer(metrics)
  }

  #finish(state: "stopped" | "gave-up", reason: string): void {
    this.#enter(state, reason)
    const error = new ActorGone({ actor: this.name, reason })
    for (const waiter of this.#runningWaiters.splice(0)) waiter.reject(error)
  }

  #isOver(): boolean {
    return this.#state === "stopped" || this.#state === "gave-up"
  }

  #enter(state: ActorState, reason: string): void {
    this.#state = state
    this.#spec.onStateChange?.(state, reason)
  }
}
