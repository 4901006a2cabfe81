/**
 * Rehearsals of one trace, as a gate that controllers pass or not: undisturbed, then with a restart after single writes, or disturbed as seeds decide.
 *
 * An undisturbed rehearsal is judged by the recording; a disturbed one by the undisturbed one, since controllers are to reach the same whatever
 * disturbs them. What fails is made smaller, as long as it fails in the same way. The trace and the states of one rehearsal are in memory.
 */
import type { TracePart } from "../../simulation/index.ts"
import type { Participant } from "../cast/participant.ts"
import { instantOf } from "../journal/journal.ts"
import { RehearsalStalled } from "../open-trace.ts"
import { parseSchedule, type Schedule, scheduleOf, textOfSchedule } from "../stage/schedule.ts"
import type { Failure } from "./diagnosis.ts"
import { type GateTrial, runTrial, type TrialOptions, type Tried } from "./trial.ts"

export interface GateOptions {
  readonly parts: ReadonlyArray<TracePart>
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

/** Rejects as `rehearse` does. */
export async function* gate(options: GateOptions): AsyncGenerator<GateTrial, void> {
  const { restartAt, seeds = [] } = options
  const runs = new Runs(options)
  const [whole, tookMs] = await timed(() => runs.undisturbed(undefined))
  yield { name: "undisturbed", failures: whole.failures, tookMs, rehearsed: whole.rehearsed }
  const { disturbable } = whole.rehearsed
  const planned: { readonly name: string; readonly seed: number; readonly schedule: Schedule }[] = []
  for (const [index, write] of disturbable.writes.entries())
    if (restartAt === "every-write" || restartAt === index + 1)
      planned.push({
        name: `restart ${index + 1}`,
        seed: 1,
        schedule: { disturbances: [{ type: "restart", write, changes: 1 }] },
      })
  for (const text of seeds) {
    const read = parseSchedule(text)
    if (read === undefined) continue
    const { seed, schedule = scheduleOf(seed, disturbable) } = read
    planned.push({ name: `seed ${seed}`, seed, schedule })
  }
  for (const { name, seed, schedule } of planned) {
    const [{ failures }, took] = await timed(() => runs.disturbed(schedule))
    const [first] = failures
    const shortest = first && (await runs.shortest(seed, schedule, first))
    yield { name, failures, tookMs: took, shortest }
  }
}

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
    const tried = await this.#try(
      { disturbances: [], changes },
      changes === undefined
        ? { comparedWith, isLogged: true, onStep: rehearsal.onStep }
        : { comparedWith: "nothing", isLogged: true },
    )
    for (const old of this.#references.keys()) if (old !== "") this.#references.delete(old)
    this.#references.set(key, tried)
    return tried
  }

  /** What fails that does not fail undisturbed, and what happened. */
  async disturbed(
    schedule: Schedule,
  ): Promise<{ readonly failures: ReadonlyArray<Failure>; readonly steps: ReadonlyArray<string> }> {
    const reference = await this.undisturbed(schedule.changes)
    const about = { kind: "", object: "", differences: [] }
    try {
      const tried = await this.#try(schedule, { comparedWith: reference.log })
      const failures = tried.failures.filter(
        ({ bug, message }) => bug !== "expectation" || !reference.failures.some((other) => other.message === message),
      )
      for (const [run, { text, at }] of tried.failing)
        if (!reference.failing.has(run))
          failures.push({ ...about, bug: "run-fails", message: `the last run failed: ${text}`, since: at })
      return { failures, steps: tried.sequence }
    } catch (cause) {
      if (!(cause instanceof RehearsalStalled)) throw cause
      const since = { time: instantOf(cause.time), text: "then" }
      return { failures: [{ ...about, bug: "stalls", message: cause.message, since }], steps: [] }
    }
  }

  /** A part of the schedule and of the trace that still has the failure. */
  async shortest(seed: number, schedule: Schedule, { bug, kind }: Failure): Promise<GateTrial["shortest"]> {
    let attempts = 0
    const fails = async (candidate: Schedule): Promise<boolean> => {
      if (attempts++ >= mostAttempts) return false
      const { failures } = await this.disturbed(candidate)
      return failures.some((other) => other.bug === bug && other.kind === kind)
    }
    const count = (await this.undisturbed(undefined)).rehearsed.disturbable.changes
    const all = schedule.changes ?? Array.from({ length: count }, (_, index) => index + 1)
    const disturbances = await smallest(schedule.disturbances, (fewer) => fails({ ...schedule, disturbances: fewer }))
    const changes = await smallest(all, (fewer) => fails({ disturbances, changes: fewer }))
    const found = { disturbances, ...(changes.length < count && { changes }) }
    const { steps } = await this.disturbed(found)
    return { steps, again: textOfSchedule(seed, found) }
  }

  async #try(schedule: Schedule, more: Pick<TrialOptions, "comparedWith" | "isLogged" | "onStep">): Promise<Tried> {
    const { parts: items, cast, rehearsal } = this.#options
    const settleMs = Math.max(rehearsal.settleMs ?? 0, leastSettleMs)
    const common = { ...rehearsal, onStep: undefined, ...more }
    return runTrial({ ...common, items, schedule, settleMs, participants: await cast(), recast: cast })
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

const timed = async <Result>(run: () => Promise<Result>): Promise<readonly [Result, ms: number]> => {
  const begun = performance.now()
  const result = await run()
  return [result, performance.now() - begun]
}
