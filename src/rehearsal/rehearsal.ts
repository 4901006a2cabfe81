/**
 * A rehearsal: controllers meet recorded history. A sandbox gets the state at the start of the trace; then each recorded change is fed to it at
 * its own time, by a clock that stands still while anything is going on.
 *
 * Guaranteed:
 * - The clock moves to the next recorded change, or to the next timer of a controller (a retry, `requeueAfterMs`, a delay of a module, a Lease),
 *   whichever is first, and only when everything has come to rest: queues are empty, no run and no request is under way, and every watch event
 *   has been delivered. With a latency, runs may be under way whose requests wait for the clock.
 * - Everything happens in one thread and through memory, and random numbers are seeded: the same trace, the same controllers and the same options
 *   give the same journal, as far as the controllers themselves use nothing but what they are given.
 * - Recorded changes pass no admission. What controllers write is admitted, defaulted and validated as by an API server.
 */

import { setTimeout as sleep } from "node:timers/promises"
import { systemClock } from "../clock.ts"
import { type KindedObject, Sandbox } from "../sandbox/index.ts"
import { type ReplayWindow, type TraceChange, type TracePart, traceChanges } from "../simulation/index.ts"
import type { TraceItem } from "../trace/index.ts"
import type { Participant, Stage } from "./cast/participant.ts"
import { type SeededRandomness, seededRandomness, VirtualClock } from "./clock/virtual-clock.ts"
import { FeedDecision, type FeedRule } from "./feed/feed-rule.ts"
import { Feeder } from "./feed/feeder.ts"
import { inOrder, isCustom, kindName, trackedKinds } from "./feed/kind-names.ts"
import { instantOf, type JournalEntry, type JournalStep, type StepCause } from "./journal/journal.ts"
import { type ExpectedState, type ObjectState, stateOf } from "./journal/object-state.ts"
import { Witness } from "./journal/witness.ts"
import { KindNotInTrace, RehearsalStalled } from "./open-trace.ts"
import { answerOwn, configurationsOf } from "./stage/own-webhooks.ts"
import { type Disturbable, type Disturbance, type Schedule, textOfDisturbance } from "./stage/schedule.ts"
import { Traffic } from "./stage/traffic.ts"

// Waits until everything in a rehearsal has come to rest: no request is under way, no run either, every watch event has been delivered, and
// nothing more can happen before the clock moves.
//
// At most two turns of the event loop in a row pass without visible activity, because bytes are sent at the end of one and received in the next.
// So {@link calmTurns} turns without activity mean that nothing is pending.

const calmTurns = 4
/** Turns after which a run evidently waits for something outside, and no processor is kept busy for it. */
const patientTurns = 1000

interface RestOptions {
  /** Grows whenever anything happens. */
  readonly activity: () => number
  /** What is not finished. */
  readonly busy: () => ReadonlyArray<string>
  /** Participants that were active since the rest began: they wake themselves if nothing is unfinished. */
  readonly awake: () => ReadonlyArray<string>
  /** ms of real time. */
  readonly stallMs: number
  /** µs since the Unix epoch, for the error. */
  readonly time: () => number
}

/** Rejects with {@link RehearsalStalled}. */
const rest = async ({ activity, busy, awake, stallMs, time }: RestOptions): Promise<void> => {
  const begun = performance.now()
  let last = activity()
  for (let calm = 0, turns = 0; calm < calmTurns; turns++) {
    if (turns < patientTurns) await new Promise(setImmediate)
    else await sleep(1)
    const now = activity()
    calm = now === last && busy().length === 0 ? calm + 1 : 0
    last = now
    const waitedMs = performance.now() - begun
    if (calm === 0 && waitedMs > stallMs)
      throw new RehearsalStalled({
        time: time(),
        waitedMs: Math.round(waitedMs),
        busy: busy().length > 0 ? [...busy()] : [...awake()],
      })
  }
}

/** Sees the states of a rehearsal while it goes on. */
interface Audience {
  /** What is recorded of an object, of which the controllers may meet or make a part. */
  recorded(state: ExpectedState): void
  /** What the sandbox has of it. */
  reached(state: ObjectState): void
  /** A recorded change is about to be fed. Their numbers are from 1. */
  changeBegins(number: number): void
  /** Called for every step, also for timers that led to nothing. */
  stepEnded(step: JournalStep): void
}

export interface RehearsalOptions {
  /** Chunks of the trace, each of which is iterated before the next one is taken; or all of its parts, for several rehearsals. */
  readonly items: AsyncIterable<Iterable<TraceItem>> | ReadonlyArray<TracePart>
  readonly participants: ReadonlyArray<Participant>
  /** µs since the Unix epoch; default: the whole trace. */
  readonly window?: Partial<Pick<ReplayWindow, "from" | "to">>
  /** Default `others`. */
  readonly feed?: FeedRule
  /** Feeds deletions of what controllers make as long as the owner is there: those of people, if the controllers delete nothing then. Default false. */
  readonly feedsDeletions?: boolean | undefined
  /** Objects that exist before those of the trace: definitions of custom resources, for example. */
  readonly seed?: ReadonlyArray<KindedObject>
  /** ms of the rehearsal's time that each request of a controller but a watch takes. Default 0. */
  readonly latencyMs?: number
  /** ms of the rehearsal's time after the last moment of the trace, for retries and delays. Default 0. */
  readonly settleMs?: number
  /** Of all random numbers. Default 1. */
  readonly randomSeed?: number
  /** ms of real time after which a rehearsal that does not come to rest is given up. Default 60,000. */
  readonly stallMs?: number
  /** Ends the rehearsal after the step for which it returns true. Default: the end of the trace. */
  readonly until?: (step: JournalStep) => boolean
  /** Whether steps are kept for the result. Default true; false for a long trace whose steps go elsewhere. */
  readonly isKept?: boolean
  /** Called after each step that is in the journal. */
  readonly onStep?: ((step: JournalStep) => void) | undefined
  readonly audience?: Audience | undefined
  /** What disturbs the controllers. Default: nothing. */
  readonly schedule?: Schedule | undefined
  /** The participants anew, without any memory, for a restart of the schedule. */
  readonly recast?: (() => Promise<ReadonlyArray<Participant>>) | undefined
  /** Resolves when that moment (µs since the Unix epoch) may begin: for a rehearsal that takes its time. Default: at once. */
  readonly pace?: (micros: number) => Promise<void>
  /** Ends the rehearsal after the present step. */
  readonly signal?: AbortSignal
}

export interface Rehearsed {
  readonly steps: ReadonlyArray<JournalStep>
  /** The objects at the end, with their kinds. */
  readonly objects: ReadonlyArray<KindedObject>
  /** Ranges that were not recorded, and so not fed. */
  readonly gaps: number
  /** Of which the trace has anything. */
  readonly kinds: ReadonlySet<string>
  readonly disturbable: Disturbable
  /** µs since the Unix epoch: the first and the last moment. */
  readonly start: number
  readonly end: number
}

/** Rejects with KindNotInTrace, RehearsalStalled, OutsideTrace, InvalidControllerError, and the errors of the trace. */
export const rehearse = async (options: RehearsalOptions): Promise<Rehearsed> => {
  const { from, to } = options.window ?? {}
  const window = { from, to, duration: undefined, now: systemClock.wallMicros() }
  const { items } = options
  const parts = isLoaded(items) ? [items] : traceChanges(items, window)
  let run: Run | undefined
  const known = new Set<string>()
  try {
    let gaps = 0
    for await (const chunk of parts) {
      for (const part of chunk) {
        if (part.type === "config") for (const kind of trackedKinds(part.config)) known.add(kind)
        else if (part.type === "beginning") run = await Run.start(options, part, known)
        else if (part.type === "gap") gaps++
        else if (part.type === "change") await run?.feed(part.change)
        else if (part.type === "end") await run?.settle(part.time + (options.settleMs ?? 0) * 1000)
        if (run?.isOver === true) break
      }
      if (run?.isOver === true) break
    }
    if (run === undefined) throw new Error("a trace without a beginning")
    return await run.finish(gaps)
  } finally {
    await run?.close()
  }
}

/** All parts of a trace, for several rehearsals: its changes are in memory. */
export const loadedParts = async (
  items: AsyncIterable<Iterable<TraceItem>>,
  { from, to }: NonNullable<RehearsalOptions["window"]> = {},
): Promise<ReadonlyArray<TracePart>> => {
  const window = { from, to, duration: undefined, now: systemClock.wallMicros() }
  const parts: TracePart[] = []
  for await (const chunk of traceChanges(items, window)) parts.push(...chunk)
  return parts
}

const isLoaded = (items: RehearsalOptions["items"]): items is ReadonlyArray<TracePart> => Array.isArray(items)

type Beginning = Extract<TracePart, { type: "beginning" }>

interface RunParts extends Pick<Stage, "clock" | "random"> {
  /** µs since the Unix epoch: the first moment. */
  readonly time: number
  readonly sandbox: Sandbox
  readonly feeder: Feeder
}

class Run {
  readonly #options: RehearsalOptions
  readonly #start: number
  readonly #clock: VirtualClock
  readonly #sandbox: Sandbox
  readonly #feeder: Feeder
  readonly #witness: Witness
  readonly #traffic: Traffic
  readonly #random: SeededRandomness
  readonly #disturbances: ReadonlyArray<Disturbance>
  /** None while the process of the controllers is down. */
  #participants: ReadonlyArray<Participant> = []
  /** Of processes that have ended. */
  readonly #endings: Promise<void>[] = []
  /** How many changes the process misses before it starts again. */
  #downFor: number | undefined
  /** By silent kind: how many changes it stays so. */
  readonly #silentFor = new Map<string, number>()
  /** That have fired since the last change. */
  #timers = 0
  readonly #steps: JournalStep[] = []
  /** Of the step under way. */
  #entries: JournalEntry[] = []
  /** Kinds that the trace says it has, and those of the seed. */
  readonly #kinds = new Set<string>()
  #isClosed = false
  /** Recorded changes so far. */
  #change = 0
  /** Of each participant, when the last step began. */
  #activityBefore: ReadonlyArray<number> = []
  #isSettling = false
  isOver = false

  /** `known`: kinds of which the trace has said so far that it has them. */
  static async start(
    options: RehearsalOptions,
    { time, header, objects }: Beginning,
    known: Set<string>,
  ): Promise<Run> {
    const clock = new VirtualClock(time)
    const random = seededRandomness(options.randomSeed ?? 1)
    // Made below: the sandbox asks only once there are objects.
    let feeder: Feeder | undefined
    let run: Run | undefined
    const sandbox = await Sandbox.start({
      ownWebhooks: answerOwn(() => (run === undefined ? [] : run.#participants)),
      clock,
      random,
      bookmarkInterval: 0,
      ledger: "none",
      requestLogLimit: 1000,
      lifecycle: { collects: (uid) => feeder?.isOfHistory(uid) !== true },
    })
    const works = options.participants.map(({ work }) => work)
    const decision = new FeedDecision(options.feed ?? "others", works)
    const { audience } = options
    feeder = new Feeder({
      ...{ sandbox, clock, random, decision, feedsDeletions: options.feedsDeletions },
      recorded: ({ gvk: kind, namespace, name, object: bytes }, isWhole) =>
        audience?.recorded({ kind, namespace, name, bytes, isWhole }),
    })
    if (audience !== undefined) sandbox.observe(({ gvk, change }) => audience.reached(stateOf(gvk, change)))
    const begun = new Run(options, { time, clock, sandbox, feeder, random })
    run = begun
    try {
      for (const kind of header?.kinds ?? []) known.add(kind)
      for (const { gvk } of options.seed ?? []) begun.#kinds.add(kindName(gvk))
      for (const kind of known) begun.#kinds.add(kind.replace(/^\//, ""))
      await options.pace?.(time)
      await begun.#step({ type: "start", objects: objects.length }, async () => {
        begun.#witness.seeded(() => {
          for (const { gvk, object } of inOrder(options.seed ?? [])) sandbox.put(gvk, object)
          for (const change of objects) begun.#feeder.seed(change)
          for (const { terms } of options.participants)
            for (const { gvk, object } of terms === undefined ? [] : configurationsOf(terms)) sandbox.put(gvk, object)
        })
        // A trace that does not say which kinds it has may have the kind later.
        if (known.size > 0) begun.#checkKinds()
        await begun.#begin(options.participants)
      })
      return begun
    } catch (error) {
      await begun.close()
      throw error
    }
  }

  private constructor(options: RehearsalOptions, { time, clock, sandbox, feeder, random }: RunParts) {
    this.#options = options
    this.#disturbances = options.schedule?.disturbances ?? []
    this.#random = random
    this.#start = time
    this.#clock = clock
    this.#sandbox = sandbox
    this.#feeder = feeder
    this.#witness = new Witness(sandbox, (entry) => this.#entries.push(entry))
    this.#traffic = new Traffic({
      sandbox,
      clock,
      latencyMs: options.latencyMs ?? 0,
      disturbances: this.#disturbances,
      disturbed: (disturbance) => this.#noteDisturbance(disturbance),
      crashed: (changes) => this.#crash(changes),
      around: (participant, request, carryOut) => this.#witness.around(participant, request, carryOut),
    })
  }

  async feed(change: TraceChange): Promise<void> {
    const number = ++this.#change
    const wasDown = this.#downFor
    // The trace has the kind, whatever is left out of it.
    this.#kinds.add(change.gvk)
    if (this.#options.schedule?.changes?.includes(number) === false) return
    const begins = this.#disturbances.filter((each) => "change" in each && each.change === number)
    if (!begins.some(({ type }) => type === "late")) await this.passTo(change.time)
    if (this.isOver) return
    this.#clock.moveTo(change.time)
    this.#timers = 0
    this.#options.audience?.changeBegins(number)
    for (const each of begins) {
      this.#noteDisturbance(each)
      if (each.type !== "stale") continue
      this.#silentFor.set(each.kind, each.changes)
      this.#traffic.silence(each.kind, true)
    }
    const { gvk: kind, namespace, name, object } = change
    const place = { kind, namespace, name }
    const { result: fedAs, differences } = this.#witness.fed(place, () => this.#feeder.feed(change))
    const action = object === undefined ? "deleted" : "applied"
    await this.#step({ type: "change", ...place, action, fedAs, differences }, () => {
      this.#traffic.changed()
      for (const [silent, left] of this.#silentFor) {
        this.#silentFor.set(silent, left - 1)
        if (left === 0) this.#traffic.silence(silent, false)
      }
    })
    if (wasDown !== undefined) this.#downFor = wasDown - 1
    if (this.#downFor === 0) await this.#revive()
  }

  /** Ends what still disturbs the controllers, and lets the time pass up to a moment. */
  async settle(micros: number): Promise<void> {
    await this.#revive()
    this.#isSettling = true
    if (this.#disturbances.length > 0)
      await this.#step({ type: "calm" }, () => {
        this.#traffic.changed(true)
        this.#hear()
      })
    await this.passTo(micros)
  }

  /** Delivers what silent watches have received. */
  #hear(): void {
    for (const silent of this.#silentFor.keys()) this.#traffic.silence(silent, false)
  }

  /** Lets the time pass up to a moment, with every timer in between. */
  async passTo(micros: number): Promise<void> {
    const { pace } = this.#options
    while (!this.isOver) {
      const due = this.#clock.next
      if (due === undefined || due > micros) break
      await pace?.(due)
      this.#clock.moveTo(due)
      await this.#step({ type: "timer" }, () => {
        if (++this.#timers >= mostSilentTimers) this.#hear()
        this.#clock.fire()
      })
    }
    if (this.isOver) return
    await pace?.(micros)
    this.#clock.moveTo(micros)
  }

  async finish(gaps: number): Promise<Rehearsed> {
    if (!this.isOver) this.#checkKinds()
    const end = this.#clock.wallMicros()
    const objects = Array.from(this.#witness.objects(), ([gvk, object]) => ({ gvk, object }))
    await this.close()
    const { writes, watched } = this.#traffic
    const disturbable = { writes, watched, changes: this.#change }
    return { steps: this.#steps, objects, gaps, kinds: this.#recordedKinds(), disturbable, start: this.#start, end }
  }

  /** Ends the participants, which may need time for that, and the sandbox. */
  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    let isEnded = false
    const closing = this.#participants.map((participant) => participant.close())
    const ended = Promise.all([...this.#endings, ...closing]).finally(() => {
      isEnded = true
    })
    // Rejections are those of `ended` below.
    ended.catch(() => undefined)
    for (let turns = 0; turns < closingTurns && !isEnded; turns++) {
      await new Promise(setImmediate)
      const { next } = this.#clock
      if (next === undefined || turns % 4 !== 3) continue
      this.#clock.moveTo(next)
      this.#clock.fire()
    }
    try {
      await ended
    } finally {
      this.#traffic.close()
      await this.#sandbox.close()
    }
  }

  async #step(cause: StepCause, act: () => void | Promise<void> = () => undefined): Promise<void> {
    const { until, onStep, audience, signal } = this.#options
    await act()
    this.#activityBefore = this.#participants.map(({ activity }) => activity)
    await rest({
      activity: () =>
        this.#participants.reduce(
          (sum, { activity }) => sum + activity,
          this.#traffic.activity + this.#witness.changes,
        ),
      busy: () => this.#busy(),
      awake: () => this.#awake(),
      stallMs: this.#stallMs,
      time: () => this.#clock.wallMicros(),
    })
    const entries = this.#entries
    this.#entries = []
    if (signal?.aborted === true) this.isOver = true
    const step = { time: instantOf(this.#clock.wallMicros()), cause, entries }
    audience?.stepEnded(step)
    if (cause.type === "timer" && entries.length === 0) return
    if (this.#options.isKept !== false) this.#steps.push(step)
    onStep?.(step)
    if (until?.(step) === true) this.isOver = true
    if (this.#downFor === 0) await this.#revive()
  }

  async #begin(participants: ReadonlyArray<Participant>): Promise<void> {
    this.#participants = participants
    for (const participant of participants)
      await participant.start({
        transport: this.#traffic.transportOf(participant.name),
        clock: this.#clock,
        random: this.#random,
        // What is left of an ended process does nothing that anyone would see.
        note: (entry) => void (this.#participants === participants && this.#entries.push(entry)),
      })
  }

  /** Within a request: nothing that it led to is seen by the process any more. */
  #crash(changes: number): void {
    for (const participant of this.#participants) this.#endings.push(participant.close())
    // Rejections are those of `close`.
    Promise.all(this.#endings).catch(() => undefined)
    this.#participants = []
    this.#downFor = this.#isSettling ? 0 : changes
  }

  async #revive(): Promise<void> {
    if (this.#downFor === undefined || this.isOver) return
    this.#downFor = undefined
    const participants = (await this.#options.recast?.()) ?? []
    await this.#step({ type: "restart" }, () => this.#begin(participants))
  }

  #noteDisturbance(disturbance: Disturbance): void {
    this.#entries.push({ type: "disturbance", text: textOfDisturbance(disturbance) })
  }

  /** Participants that did something in the last step. */
  #awake(): ReadonlyArray<string> {
    return this.#participants
      .filter(({ activity }, place) => activity !== this.#activityBefore[place])
      .map(({ name }) => name)
  }

  get #stallMs(): number {
    return this.#options.stallMs ?? 60_000
  }

  /** What is not at rest. Runs whose requests wait for the clock are. */
  #busy(): ReadonlyArray<string> {
    const { held, underWay } = this.#traffic
    const requests = underWay > held ? [`${underWay - held} requests`] : []
    const runs = held > 0 ? [] : this.#participants.flatMap(({ busy }) => busy)
    return [...requests, ...runs]
  }

  #recordedKinds(): ReadonlySet<string> {
    return new Set([...this.#kinds, ...this.#feeder.kinds])
  }

  #checkKinds(): void {
    const kinds = this.#recordedKinds()
    for (const { name: controller, work } of this.#options.participants) {
      // One that has a definition and no object in the trace is recorded all the same.
      const isRecorded = (kind: string) => kinds.has(kind) || (isCustom(kind) && this.#sandbox.serves(kind))
      const missing = work.subjects.find(({ kind }) => !isRecorded(kind))
      if (missing !== undefined) throw new KindNotInTrace({ controller, kind: missing.kind, kinds: [...kinds].sort() })
    }
  }
}

/**
 * What a controller does for what it does not know to be gone, the garbage collector undoes, without a moment that passes in between: timers after which
 * silent watches deliver, so that this ends.
 */
const mostSilentTimers = 100
/** Turns of the event loop in which participants have to end; a run that never returns is given up then. */
const closingTurns = 100_000
