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

export type { KindedObject } from "../sandbox/index.ts"
export type { TraceItem } from "../trace/trace-item.ts"
export type { FeedRule, FeedScope, RecordedChange } from "./feed/feed-rule.ts"
export type { FedAs } from "./feed/feeder.ts"
export type {
  Difference,
  EventEntry,
  JournalEntry,
  JournalObject,
  JournalStep,
  LogEntry,
  ReconcileEntry,
  SandboxEntry,
  StepCause,
  TroubleEntry,
  WriteEntry,
} from "./journal/journal.ts"
export type { TraceSource } from "./open-trace.ts"
export { KindNotInTrace, RehearsalStalled } from "./open-trace.ts"
export { type ReplayIntoOptions, ReplayResult, replayInto, type WriteFilter } from "./replay-into.ts"
