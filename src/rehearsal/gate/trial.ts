/** One rehearsal that is judged: by recorded states or those of another trial, by expectations, and by runs that fail. */
import { microsOf } from "../../trace/index.ts"
import { type RehearsalOptions, type Rehearsed, rehearse } from "../rehearsal.ts"
import { type Failure, Story } from "./diagnosis.ts"
import type { ExpectationCheck, Unmet } from "./expectations.ts"
import {
  type Ignored,
  isKind,
  type ObjectDifference,
  type ObjectState,
  placeOfStep,
  StateComparison,
  type StepPlace,
} from "./state-comparison.ts"

/** What was reached, by the number of the recorded change that led to it. */
export type StateLog = ReadonlyArray<{ readonly change: number; readonly state: ObjectState }>

export interface TrialOptions extends RehearsalOptions {
  readonly expectations?: ExpectationCheck | undefined
  readonly ignored?: ReadonlyArray<Ignored>
  /** `recorded`: with the recorded states, as far as controllers have anything to do with them. Else with what another trial reached. */
  readonly comparedWith: "recorded" | "nothing" | StateLog
  /** Whether what is reached is kept, for other trials to be compared with. Default false. */
  readonly isLogged?: boolean
}

/** A judged rehearsal, in a report. */
export interface GateTrial {
  /** `undisturbed`, or what disturbed it. */
  readonly name: string
  readonly failures: ReadonlyArray<Failure>
  /** ms of real time. */
  readonly tookMs: number
  /** Of the undisturbed one. */
  readonly rehearsed?: Rehearsed
  /** Of a disturbed one: the shortest sequence found that has the first failure, and the text of `--seed` for it. */
  readonly shortest?: { readonly steps: ReadonlyArray<string>; readonly again: string } | undefined
}

/** What failed in it, in lines for people; none if it has passed. */
export const linesOf = ({ name, failures, shortest }: GateTrial): ReadonlyArray<string> => [
  ...failures.map(({ message, since }) => `${name}: ${message} (since ${since.text})`),
  ...(shortest === undefined ? [] : ["the shortest sequence found that fails so:"]),
  ...(shortest?.steps ?? []).map((step) => `  ${step}`),
  ...(shortest === undefined ? [] : [`again with the seed "${shortest.again}"`]),
]

export interface Tried {
  readonly failures: ReadonlyArray<Failure>
  readonly rehearsed: Rehearsed
  readonly log: StateLog
  /** For people: the recorded changes that were fed, and what disturbed the controllers. Empty without a schedule. */
  readonly sequence: ReadonlyArray<string>
  /** Runs whose last one failed, each with when. */
  readonly failing: Story["failing"]
}

/** Rejects as `rehearse` does. */
export const runTrial = async (options: TrialOptions): Promise<Tried> => {
  const { comparedWith, ignored = [], isLogged = false, participants } = options
  const states = new StateComparison(comparedWith === "recorded" ? ignored : [])
  const story = new Story()
  const log: { change: number; state: ObjectState }[] = []
  const sequence: string[] = []
  const expectations = options.expectations?.begun()
  /** By text: the first step at which an invariant did not hold. */
  const broken = new Map<string, { unmet: Unmet; since: StepPlace }>()
  let change = 0
  let expectedUpTo = 0
  let last: StepPlace = { time: "", text: "the start" }
  const expectUpTo = (number: number): void => {
    if (typeof comparedWith === "string") return
    for (
      let entry = comparedWith[expectedUpTo];
      entry !== undefined && entry.change <= number;
      entry = comparedWith[++expectedUpTo]
    )
      states.expect({ ...entry.state, isWhole: true })
  }
  const audience: TrialOptions["audience"] = {
    recorded: (state) => {
      if (comparedWith === "recorded") states.expect(state)
    },
    reached: (state) => {
      states.reach(state)
      if (isLogged) log.push({ change, state })
    },
    changeBegins: (number) => {
      change = number
    },
    stepEnded: (step) => {
      story.add(step, change)
      last = placeOfStep(step, change)
      if (options.schedule !== undefined) {
        if (step.cause.type === "change") sequence.push(last.text)
        for (const entry of step.entries) if (entry.type === "disturbance") sequence.push(entry.text)
      }
      expectUpTo(change)
      states.stepEnded(step, change)
      if (expectations === undefined) return
      expectations.reach(microsOf(step.time) ?? 0)
      for (const unmet of expectations.broken(states))
        if (!broken.has(unmet.text)) broken.set(unmet.text, { unmet, since: last })
    },
  }
  const rehearsed = await rehearse({ ...options, audience })
  const failures: Failure[] = []
  const subjects = participants.flatMap(({ work }) => work.subjects.map(({ kind }) => kind))
  const isTheirs = (found: ObjectDifference): boolean =>
    comparedWith !== "recorded" ||
    (has(rehearsed.kinds, found.kind) &&
      (story.hasWritten(found) || !found.isWhole || subjects.some((kind) => isKind(kind, found.kind))))
  const reference = comparedWith === "recorded" ? "the recording" : "the undisturbed rehearsal"
  for (const found of comparedWith === "nothing" ? [] : states.differing) {
    const failure = isTheirs(found) ? story.failureOf(found, reference, states.objects(found.kind)) : undefined
    if (failure !== undefined) failures.push(failure)
  }
  const unmet = (expectations?.unmet(states) ?? []).map((one) => ({ unmet: one, since: last }))
  for (const {
    unmet: { kind, object, text },
    since,
  } of [...broken.values(), ...unmet])
    failures.push({ bug: "expectation", kind, object, message: text, since, differences: [] })
  return { failures, rehearsed, log, sequence, failing: story.failing }
}

const has = (kinds: Iterable<string>, kind: string): boolean => [...kinds].some((one) => isKind(one, kind))
