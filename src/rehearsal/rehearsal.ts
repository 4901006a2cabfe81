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
import {
  type AdmissionCall,
  type AdmissionTerms,
  answerReview,
  configurationKinds,
  configurationOf,
} from "../host/index.ts"
import { parseGvk } from "../kube/offline.ts"
import { type KindedObject, Sandbox } from "../sandbox/index.ts"
import { type ReplayWindow, type TraceChange, type TracePart, traceChanges } from "../simulation/index.ts"
import { inDependencyOrder, type TraceItem } from "../trace/index.ts"
import type { Participant } from "./cast/participant.ts"
import { FeedDecision, type FeedRule, guessedKind } from "./feed/feed-rule.ts"
import { Feeder } from "./feed/feeder.ts"
import { instantOf, type JournalEntry, type JournalStep, type StepCause } from "./journal/journal.ts"
import { Witness } from "./journal/witness.ts"
import { KindNotInTrace, RehearsalStalled } from "./open-trace.ts"
import { Traffic } from "./stage/traffic.ts"
import { seededRandomness, VirtualClock } from "./stage/virtual-clock.ts"

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

export interface RehearsalOptions {
  /** Chunks of the trace; each is iterated before the next one is taken. */
  readonly items: AsyncIterable<Iterable<TraceItem>>
  readonly participants: ReadonlyArray<Participant>
  /** µs since the Unix epoch; default: the whole trace. */
  readonly window?: Partial<Pick<ReplayWindow, "from" | "to">>
  /** Default `others`. */
  readonly feed?: FeedRule
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
  readonly onStep?: (step: JournalStep) => void
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
  /** µs since the Unix epoch: the first and the last moment. */
  readonly start: number
  readonly end: number
}

/** Rejects with KindNotInTrace, RehearsalStalled, OutsideTrace, InvalidControllerError, and the errors of the trace. */
export const rehearse = async (options: RehearsalOptions): Promise<Rehearsed> => {
  const { from, to } = options.window ?? {}
  const window = { from, to, duration: undefined, now: systemClock.wallMicros() }
  const parts = traceChanges(options.items, window)
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
        else if (part.type === "end") await run?.passTo(part.time + (options.settleMs ?? 0) * 1000)
        if (run?.isOver === true) break
      }
      if (run?.isOver === true) break
    }
    if (run === undefined) throw new Error("a trace without a beginning")
    return await run.finish(gaps)
  } finally {
    await parts.return()
    await run?.close()
  }
}

type Beginning = Extract<TracePart, { type: "beginning" }>

class Run {
  readonly #options: RehearsalOptions
  readonly #start: number
  readonly #clock: VirtualClock
  readonly #sandbox: Sandbox
  readonly #feeder: Feeder
  readonly #witness: Witness
  readonly #traffic: Traffic
  readonly #steps: JournalStep[] = []
  /** Of the step under way. */
  #entries: JournalEntry[] = []
  /** Kinds that the trace says it has, and those of the seed. */
  readonly #kinds = new Set<string>()
  #isClosed = false
  /** Of each participant, when the last step began. */
  #activityBefore: ReadonlyArray<number> = []
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
    const sandbox = await Sandbox.start({
      ownWebhooks: ({ hostname, pathname }, body) => {
        // The seed may have others, which are called.
        if (hostname !== ownHost) return undefined
        const [, name, call] = pathname.split("/")
        const asked = options.participants.find((one) => one.name === name)
        return answerReview(body, async (request) => asked?.review?.(call as AdmissionCall, request) ?? {})
      },
      clock,
      random,
      bookmarkInterval: 0,
      ledger: "none",
      requestLogLimit: 1000,
      lifecycle: { collects: (uid) => feeder?.isOfHistory(uid) !== true },
    })
    const works = options.participants.map(({ work }) => work)
    const decision = new FeedDecision(options.feed ?? "others", works)
    feeder = new Feeder({ sandbox, clock, random, decision })
    const run = new Run(options, { time, clock, sandbox, feeder })
    try {
      for (const kind of header?.kinds ?? []) known.add(kind)
      for (const { gvk } of options.seed ?? []) run.#kinds.add(nameOf(gvk))
      for (const kind of known) run.#kinds.add(kind.replace(/^\//, ""))
      await options.pace?.(time)
      await run.#step({ type: "start", objects: objects.length }, async () => {
        run.#witness.seeded(() => {
          for (const { gvk, object } of inOrder(options.seed ?? [])) sandbox.put(gvk, object)
          for (const change of objects) run.#feeder.seed(change)
          for (const { terms } of options.participants)
            for (const { gvk, object } of terms === undefined ? [] : configurationsOf(terms)) sandbox.put(gvk, object)
        })
        // A trace that does not say which kinds it has may have the kind later.
        if (known.size > 0) run.#checkKinds()
        for (const participant of options.participants)
          await participant.start({
            transport: run.#traffic.transportOf(participant.name),
            clock,
            random,
            note: (entry) => run.#entries.push(entry),
          })
      })
      return run
    } catch (error) {
      await run.close()
      throw error
    }
  }

  private constructor(
    options: RehearsalOptions,
    { time, clock, sandbox, feeder }: { time: number; clock: VirtualClock; sandbox: Sandbox; feeder: Feeder },
  ) {
    this.#options = options
    this.#start = time
    this.#clock = clock
    this.#sandbox = sandbox
    this.#feeder = feeder
    this.#witness = new Witness(sandbox, (entry) => this.#entries.push(entry))
    this.#traffic = new Traffic({
      sandbox,
      clock,
      latencyMs: options.latencyMs ?? 0,
      around: (participant, request, carryOut) => this.#witness.around(participant, request, carryOut),
    })
  }

  async feed(change: TraceChange): Promise<void> {
    await this.passTo(change.time)
    if (this.isOver) return
    const { gvk: kind, namespace, name, object } = change
    const place = { kind, namespace, name }
    const { result: fedAs, differences } = this.#witness.fed(place, () => this.#feeder.feed(change))
    const action = object === undefined ? "deleted" : "applied"
    await this.#step({ type: "change", ...place, action, fedAs, differences })
  }

  /** Lets the time pass up to a moment, with every timer in between. */
  async passTo(micros: number): Promise<void> {
    const { pace } = this.#options
    while (!this.isOver) {
      const due = this.#clock.next
      if (due === undefined || due > micros) break
      await pace?.(due)
      this.#clock.moveTo(due)
      await this.#step({ type: "timer" }, () => this.#clock.fire())
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
    return { steps: this.#steps, objects, gaps, start: this.#start, end }
  }

  /** Ends the participants, which may need time for that, and the sandbox. */
  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    let isEnded = false
    const ended = Promise.all(this.#options.participants.map((participant) => participant.close())).finally(() => {
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
    const { participants, until, onStep, signal } = this.#options
    await act()
    this.#activityBefore = participants.map(({ activity }) => activity)
    await rest({
      activity: () =>
        participants.reduce((sum, { activity }) => sum + activity, this.#traffic.activity + this.#witness.changes),
      busy: () => this.#busy(),
      awake: () => this.#awake(),
      stallMs: this.#stallMs,
      time: () => this.#clock.wallMicros(),
    })
    const entries = this.#entries
    this.#entries = []
    if (signal?.aborted === true) this.isOver = true
    if (cause.type === "timer" && entries.length === 0) return
    const step = { time: instantOf(this.#clock.wallMicros()), cause, entries }
    if (this.#options.isKept !== false) this.#steps.push(step)
    onStep?.(step)
    if (until?.(step) === true) this.isOver = true
  }

  /** Participants that did something in the last step. */
  #awake(): ReadonlyArray<string> {
    const { participants } = this.#options
    return participants
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
    const runs = held > 0 ? [] : this.#options.participants.flatMap(({ busy }) => busy)
    return [...requests, ...runs]
  }

  #checkKinds(): void {
    const kinds = new Set([...this.#kinds, ...this.#feeder.kinds])
    for (const { name: controller, work } of this.#options.participants) {
      // One that has a definition and no object in the trace is recorded all the same.
      const isRecorded = (kind: string) => kinds.has(kind) || (isCustom(kind) && this.#sandbox.serves(kind))
      const missing = work.subjects.find(({ kind }) => !isRecorded(kind))
      if (missing !== undefined) throw new KindNotInTrace({ controller, kind: missing.kind, kinds: [...kinds].sort() })
    }
  }
}

const ownHost = "rehearsal"

/** As a host would register them, at an address of this process. */
const configurationsOf = (terms: AdmissionTerms): ReadonlyArray<KindedObject> =>
  (["validate", "mutate"] as const)
    .filter((call) => terms.calls.includes(call))
    .map((call) => {
      const kinds = terms.kinds.flatMap((kind) => guessedKind(kind, true) ?? [])
      const url = `https://${ownHost}/${terms.controller}/${call}`
      return {
        gvk: configurationKinds[call].gvk,
        object: configurationOf(call, terms, {}, kinds, { url }) as KindedObject["object"],
      }
    })

/** Turns of the event loop in which participants have to end; a run that never returns is given up then. */
const closingTurns = 100_000

const nameOf = (gvk: KindedObject["gvk"]): string =>
  typeof gvk === "string" ? gvk : `${gvk.group === "" ? "" : `${gvk.group}/`}${gvk.version}.${gvk.kind}`

/** Groups of Kubernetes itself have no dot, or end in `.k8s.io`. */
const isCustom = (gvk: string): boolean => {
  const { group } = parseGvk(gvk) ?? { group: "" }
  return group.includes(".") && !group.endsWith(".k8s.io")
}

const inOrder = (objects: ReadonlyArray<KindedObject>): ReadonlyArray<KindedObject> => {
  const kinds = inDependencyOrder(new Set(objects.map(({ gvk }) => nameOf(gvk))))
  return kinds.flatMap((kind) => objects.filter(({ gvk }) => nameOf(gvk) === kind))
}

/** Of SimKube's configuration. */
const trackedKinds = (config: Uint8Array): ReadonlyArray<string> => {
  const { trackedObjects = {} } = JSON.parse(Buffer.from(config).toString()) as { readonly trackedObjects?: object }
  return Object.keys(trackedObjects)
}
