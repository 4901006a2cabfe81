/** One rehearsal that is judged: by recorded states or those of another trial, by expectations, and by runs that fail. */
import { microsOf } from "../../trace/index.ts"
import type { ObjectState } from "../journal/object-state.ts"
import { type RehearsalOptions, type Rehearsed, rehearse } from "../rehearsal.ts"
import { type Failure, Story } from "./diagnosis.ts"
import type { ExpectationCheck, Unmet } from "./expectations.ts"
import { type Ignored, isKind, placeOfStep, StateComparison, type StepPlace } from "./state-comparison.ts"

/** What was reached, by the number of the recorded change that led to it. */
type StateLog = ReadonlyArray<{ readonly change: number; readonly state: ObjectState }>

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
  const { comparedWith, expectations, ignored = [], isLogged = false, participants, schedule } = options
  const states = new StateComparison(comparedWith === "recorded" ? ignored : [])
  const story = new Story()
  const log: { change: number; state: ObjectState }[] = []
  const sequence: string[] = []
  /** By text: expectations that were not met, with the first step after which they were not. */
  const unmet = new Map<string, Unmet & { readonly since: StepPlace }>()
  let [start, now] = [0, 0]
  let change = 0
  let compared = 0
  let since: StepPlace = { time: "", text: "the start" }
  const missed = (found: ReadonlyArray<Unmet> = []): void => {
    for (const one of found) if (!unmet.has(one.text)) unmet.set(one.text, { ...one, since })
  }
  const rehearsed = await rehearse({
    ...options,
    audience: {
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
        since = placeOfStep(step, change)
        if (schedule !== undefined && step.cause.type === "change") sequence.push(since.text)
        for (const entry of step.entries) if (entry.type === "disturbance") sequence.push(entry.text)
        while (typeof comparedWith !== "string" && (comparedWith[compared]?.change ?? Number.NaN) <= change)
          states.expect({ ...(comparedWith[compared++]?.state as ObjectState), isWhole: true })
        now = microsOf(step.time) ?? 0
        start ||= now
        missed(expectations?.broken(states, now, start))
        states.stepEnded(step, change)
      },
    },
  })
  missed(expectations?.atEnd(states, now, start))
  const subjects = participants.flatMap(({ work }) => work.subjects.map(({ kind }) => kind))
  const reference = comparedWith === "recorded" ? "the recording" : "the undisturbed rehearsal"
  const isOne = (kinds: Iterable<string>, kind: string): boolean => [...kinds].some((one) => isKind(one, kind))
  const failures = (comparedWith === "nothing" ? [] : states.differing).flatMap((found) => {
    const isTheirs =
      comparedWith !== "recorded" ||
      (isOne(rehearsed.kinds, found.kind) && (story.hasWritten(found) || !found.isWhole || isOne(subjects, found.kind)))
    return (isTheirs ? story.failureOf(found, reference, states.objects(found.kind)) : undefined) ?? []
  })
  for (const { kind, object, text: message, since } of unmet.values())
    failures.push({ bug: "expectation", kind, object, message, since, differences: [] })
  return { failures, rehearsed, log, sequence, failing: story.failing }
}
