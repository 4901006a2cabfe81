/**
 * Tests of controllers against what production did: recorded history is replayed into them, at its own times, on a sandbox that has what was
 * recorded, and the result says what they did.
 *
 * ```ts
 * import { replayInto } from "kubereel/rehearsal"
 *
 * test("every SimplePod of last week's outage has its pod at the end", async () => {
 *   const result = await replayInto(simplePods, "outage.ndjson.zst", { settleMs: 60_000 })
 *   expect(result.trouble).toEqual([])
 *   for (const { metadata } of result.objects("slinky.dev/v1.SimplePod"))
 *     expect(result.object("v1.Pod", `${metadata.namespace}/${metadata.name}`)).toBeDefined()
 * })
 * ```
 *
 * The guide is docs/guides/controllers.md#testing-against-what-production-did.
 */

export {
  BadExpectations,
  type Bug,
  type Difference,
  type DisturbanceEntry,
  type EventEntry,
  type Expectations,
  type ExpectRehearsalOptions,
  expectRehearsal,
  type Failure,
  type FedAs,
  type FeedRule,
  type FeedScope,
  type GateTrial,
  type JournalEntry,
  type JournalObject,
  type JournalStep,
  KindNotInTrace,
  type LogEntry,
  type ReconcileEntry,
  type RecordedChange,
  RehearsalFailed,
  RehearsalStalled,
  type ReplayIntoOptions,
  ReplayResult,
  replayInto,
  type SandboxEntry,
  type StepCause,
  type StepPlace,
  type TraceSource,
  type TroubleEntry,
  type WriteEntry,
  type WriteFilter,
} from "../rehearsal/index.ts"
export type { KindedObject } from "../sandbox/index.ts"
export type { TraceItem } from "../trace/index.ts"
