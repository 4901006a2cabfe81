/**
 * Questions about the past of a cluster, answered from a recording on disk: pure functions over an open {@link QueriedRecording}, without actors.
 *
 * ```ts
 * const recording = QueriedRecording.open("/var/lib/kubereel")
 * recordedKinds(recording); recordedRange(recording)          // what can be asked, and from when to when
 * stateAt(recording, { gvk: "v1.Pod", namespace: "shop", time })    // objects at a moment, in pages, in one of two orders
 * changes(recording, { kinds: ["apps/v1.Deployment"], name: "web", from, to, withBefore: true })   // history, events
 * stateDifferences(recording, { from, to })                   // what two moments differ in
 * ownerTree(recording, { gvk, namespace, name })              // what an object owned
 * ```
 *
 * Answers are generators: what is taken is read, memory is bounded for a recording of any size, and whoever stops taking holds nothing. The bytes of an object
 * are valid until the next item is taken. The value that a generator returns says what the answer may lack ({@link Shortcomings}): gaps, time that is not
 * recorded, damaged blocks that it met; `isComplete` of it is the short form. The cut is that of the moment at which the recording was opened or refreshed.
 *
 * Times are µs since the Unix epoch; a moment includes what happened at it.
 */
export { type ChangesEnd, type ChangesQuestion, type ChangeType, changes, type RecordedChange } from "./changes.ts"
export type { ObjectSelection } from "./objects/object-selection.ts"
export { eventsAbout, ownersAbove, ownerTree, type TreeObject } from "./owner-tree.ts"
export { QueriedRecording, type QueriedRecordingOptions } from "./queried-recording.ts"
export { QuestionRefused } from "./query-errors.ts"
export { type RecordedKindFacts, type RecordedRange, recordedKinds, recordedRange } from "./recorded-kinds.ts"
export { isComplete, type Shortcomings } from "./shortcomings.ts"
export { type StateEnd, type StateQuestion, stateAt } from "./state-at.ts"
export { type DifferencesQuestion, type StateDifference, stateDifferences } from "./state-differences.ts"
