/**
 * Rehearsals of one trace, as a gate that controllers pass or not: undisturbed, then with a restart after single writes, or disturbed as seeds decide.
 *
 * An undisturbed rehearsal is judged by the recording; a disturbed one by the undisturbed one, since controllers are to reach the same whatever
 * disturbs them. What fails is made smaller, as long as it fails in the same way. The trace and the states of one rehearsal are in memory.
 */
import type { Participant } from "../cast/participant.ts"
import { instantOf } from "../journal/journal.ts"
import { KindNotInTrace, RehearsalStalled } from "../open-trace.ts"
import type { RehearsalOptions } from "../rehearsal.ts"
import { parseSchedule, type Schedule, scheduleOf, textOfSchedule } from "../stage/schedule.ts"
import type { Failure } from "./diagnosis.ts"
import { BadExpectations } from "./expectations.ts"
import { type GateTrial, runTrial, type TrialOptions, type Tried } from "./trial.ts"

export interface GateOptions {
  /** Loaded, if anything is to be disturbed. */
  readonly items: RehearsalOptions["items"]
  /** The controllers without any memory: called for each rehearsal, and for each restart in one. */
  readonly cast: () => Promise<ReadonlyArray<Participant>>
  readonly rehearsal: Omit<TrialOptions, "items" | "participants" | "comparedWith" | "schedule" | "recast" | "audience">
  readonly comparedWith: "recorded" | "nothing"
  /** Restarts after the write of that number, from 1, or after each in a rehearsal of its own. */
  readonly restartAt?: number | "every-write" | undefined
  /** Texts of {@link parseSchedule}. */
  readonly seeds?: ReadonlyArray<string>
}

/** ms of a rehearsal's time after the last moment of the trace, for retries after the last disturbance. */
const leastSettleMs = 60_000
/** Rehearsals to make one failure smaller: some seconds for a trace of some hundred changes. */
const mostAttempts = 200

/** Whether more than the undisturbed rehearsal is asked for. */
export const isDisturbing = ({ restartAt, seeds = [] }: Pick<GateOptions, "restartAt" | "seeds">): boolean =>
  restartAt !== undefined || seeds.length > 0

/** The first failure of each sort on each kind is made smaller. Rejects as `rehearse` does, and with BadExpectations for a write or a kind that is not there. */
export async function* gate(options: GateOptions): AsyncGenerator<GateTrial, void> {
  const { restartAt, seeds = [] } = options
  const runs = new Runs(options)
  let begun = performance.now()
  const { failures, failing, rehearsed } = await runs.undisturbed(undefined)
  // Less of the trace is read if the caller ends it.
  if (options.rehearsal.signal?.aborted !== true) options.rehearsal.expectations?.checkKinds(rehearsed)
  const all = [...failures, ...[...failing.values()].map(runFails)]
  yield { name: "undisturbed", failures: all, tookMs: performance.now() - begun, rehearsed }
  const { writes } = rehearsed.disturbable
  const restarted = restartAt === "every-write" ? writes : writes.filter((_, index) => index + 1 === restartAt)
  if (typeof restartAt === "number" && restarted.length === 0)
    throw new BadExpectations({ file: "restart-at", problem: `there are ${writes.length} writes` })
  const planned = [
    ...restarted.map((write) => ({
      name: `restart ${writes.indexOf(write) + 1}`,
      seed: 1,
      schedule: { disturbances: [{ type: "restart" as const, write, changes: 1 }] },
    })),
    ...seeds.flatMap((text) => {
      const read = parseSchedule(text)
      return read === undefined
        ? []
        : { name: `seed ${read.seed}`, schedule: scheduleOf(read.seed, rehearsed.disturbable), ...read }
    }),
  ]
  const shrunk = new Set<string>()
  for (const { name, seed, schedule } of planned) {
    begun = performance.now()
    const { failures } = await runs.disturbed(schedule)
    const trial = { name, failures, tookMs: performance.now() - begun }
    const failure = failures.find(({ bug, kind }) => !shrunk.has(`${bug} ${kind}`))
    for (const { bug, kind } of failures) shrunk.add(`${bug} ${kind}`)
    yield failure === undefined ? trial : { ...trial, shortest: await runs.shortest(seed, schedule, failure) }
  }
}

/** About no single object. */
const about = { kind: "", object: "", differences: [] }

const runFails = (run: Pick<Failure, "message" | "since">): Failure => ({ ...about, ...run, bug: "run-fails" })

class Runs {
  readonly #options: GateOptions
  /** By the changes that are fed: of all, and the last other one. */
  readonly #references = new Map<string, Tried>()

  constructor(options: GateOptions) {
    this.#options = options
  }

  /** `changes`: those that are fed; default: all. */
  async undisturbed(changes: Schedule["changes"]): Promise<Tried> {
    const key = changes?.join() ?? ""
    const known = this.#references.get(key)
    if (known !== undefined) return known
    const { comparedWith, rehearsal } = this.#options
    const isWhole = changes === undefined
    const tried = await this.#try(
      { disturbances: [], changes },
      { comparedWith: isWhole ? comparedWith : "nothing", onStep: isWhole ? rehearsal.onStep : undefined },
    )
    for (const old of this.#references.keys()) if (old !== "") this.#references.delete(old)
    this.#references.set(key, tried)
    return tried
  }

  /** What fails that does not fail undisturbed, and what happened. */
  async disturbed(schedule: Schedule): Promise<Pick<Tried, "failures" | "sequence">> {
    const reference = await this.undisturbed(schedule.changes)
    try {
      const { failures, failing, sequence } = await this.#try(schedule, { comparedWith: reference.log })
      const known = new Set(reference.failures.map(({ message }) => message))
      const runs = [...failing].filter(([run]) => !reference.failing.has(run))
      return {
        failures: [
          ...failures.filter(({ bug, message }) => bug !== "expectation" || !known.has(message)),
          ...runs.map(([, run]) => runFails(run)),
        ],
        sequence,
      }
    } catch (cause) {
      if (!(cause instanceof RehearsalStalled)) throw cause
      const since = { time: instantOf(cause.time), text: "then" }
      return { failures: [{ ...about, bug: "stalls", message: cause.message, since }], sequence: [] }
    }
  }

  /** A part of the schedule and of the trace that still has the failure. */
  async shortest(seed: number, schedule: Schedule, { bug, kind }: Failure): Promise<GateTrial["shortest"]> {
    let attempts = 0
    const fails = async (candidate: Schedule): Promise<boolean> => {
      if (attempts++ >= mostAttempts || !(await this.#hasReference(candidate.changes))) return false
      const { failures } = await this.disturbed(candidate)
      return failures.some((other) => other.bug === bug && other.kind === kind)
    }
    const count = (await this.undisturbed(undefined)).rehearsed.disturbable.changes
    const all = schedule.changes ?? Array.from({ length: count }, (_, index) => index + 1)
    const disturbances = await smallest(schedule.disturbances, (fewer) => fails({ ...schedule, disturbances: fewer }))
    const changes = await smallest(all, (fewer) => fails({ disturbances, changes: fewer }))
    const found = { disturbances, ...(changes.length < count && { changes }) }
    const { sequence: steps } = await this.disturbed(found)
    return { steps, again: textOfSchedule(seed, found) }
  }

  /** A part of the trace may stop the controllers for want of what is left out, or lack the definition of a kind: it then says nothing. */
  async #hasReference(changes: Schedule["changes"]): Promise<boolean> {
    try {
      await this.undisturbed(changes)
      return true
    } catch (cause) {
      if (cause instanceof RehearsalStalled || cause instanceof KindNotInTrace) return false
      throw cause
    }
  }

  async #try(schedule: Schedule, more: Pick<TrialOptions, "comparedWith" | "onStep">): Promise<Tried> {
    const { items, cast, rehearsal } = this.#options
    const disturbing = isDisturbing(this.#options) && {
      ...{ schedule, recast: cast, isLogged: true },
      settleMs: Math.max(rehearsal.settleMs ?? 0, leastSettleMs),
    }
    return runTrial({ ...rehearsal, onStep: undefined, ...more, ...disturbing, items, participants: await cast() })
  }
}

/** Leaves out ever smaller parts, as long as the rest fails: not the smallest of all, but one of which nothing can be left out. */
const smallest = async <Item>(
  items: ReadonlyArray<Item>,
  fails: (fewer: ReadonlyArray<Item>) => Promise<boolean>,
): Promise<ReadonlyArray<Item>> => {
  let left = items
  for (let size = Math.ceil(left.length / 2); size > 0; size = size === 1 ? 0 : Math.ceil(size / 2))
    for (let at = 0; at < left.length; ) {
      const fewer = left.toSpliced(at, size)
      if (await fails(fewer)) left = fewer
      else at += size
    }
  return left
}
