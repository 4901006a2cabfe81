/**
 * Recorded history replayed into controllers and modules, under a virtual clock.
 *
 * Guarantee: the same trace, controllers and seed have the same journal.
 */

export { HostedController } from "./cast/hosted-controller.ts"
export { HostedModule } from "./cast/hosted-module.ts"
export type { Participant } from "./cast/participant.ts"
export { type FeedRule, type FeedScope, guessedKind, type RecordedChange } from "./feed/feed-rule.ts"
export type { FedAs } from "./feed/feeder.ts"
export type { Bug, Failure } from "./gate/diagnosis.ts"
export { type ExpectRehearsalOptions, expectRehearsal, RehearsalFailed } from "./gate/expect-rehearsal.ts"
export { BadExpectations, checkOf, type Expectations, parseExpectations } from "./gate/expectations.ts"
export { gate, isDisturbing } from "./gate/gate.ts"
export { nameOf, type StepPlace } from "./gate/state-comparison.ts"
export { type GateTrial, linesOf } from "./gate/trial.ts"
export {
  type Difference,
  type DisturbanceEntry,
  type EventEntry,
  instantOf,
  type JournalEntry,
  type JournalObject,
  type JournalStep,
  journalText,
  type LogEntry,
  type ReconcileEntry,
  type SandboxEntry,
  type StepCause,
  type TroubleEntry,
  type WriteEntry,
} from "./journal/journal.ts"
export { KindNotInTrace, RehearsalStalled, type TraceSource } from "./open-trace.ts"
export { loadedParts } from "./rehearsal.ts"
export { type ReplayIntoOptions, ReplayResult, replayInto, type WriteFilter } from "./replay-into.ts"
export { parseSchedule } from "./stage/schedule.ts"
