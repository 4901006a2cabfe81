/**
 * A recording on disk: written by one process, read by any, with the queries about the past.
 *
 * Guarantee: what is committed survives a kill at any moment; what precedes a cut never changes; what is missing is reported as a gap; damage costs what is
 * damaged and nothing else. Times are µs since the Unix epoch. Every function may throw an {@link ArchiveError}.
 */

export {
  ArchiveReader,
  type BlockInfo,
  type EventSelection,
  type RecordingSummary,
  type SnapshotSelection,
} from "./archive-reader.ts"
export { ArchiveWriter } from "./archive-writer.ts"
export { type BlobSource, type FarBlob, provideBlobSource, referenceTo } from "./blocks/far-blobs.ts"
export { KnownIntact } from "./damage/known-intact.ts"
export { salvageRecording } from "./damage/salvage-recording.ts"
export { type DamagedBlock, verifyRecording } from "./damage/verify-recording.ts"
export {
  type ArchiveError,
  ArchiveIoError,
  CorruptArchiveError,
  DirectoryInUseError,
  DirectoryNotWritableError,
  DiskFullError,
  isArchiveError,
  NewerRecordingError,
  NotARecordingError,
  OlderRecordingError,
  RecordingDisturbedError,
  RetentionOutranError,
  StoreUnreadableError,
  toArchiveError,
} from "./directory/archive-errors.ts"
export { directoryInUse, lockDirectory, thisProcess } from "./directory/directory-lock.ts"
export { exposureOf } from "./directory/private-files.ts"
export { type Lease, takeLease } from "./leases/lease.ts"
export { type Pin, PinRefused, type PinRequest, pinPlaces, pinSources } from "./pins/pin.ts"
export { type ChangeAuthor, ChangeAuthors } from "./queries/change-authors.ts"
export { type ChangeType, changeSteps, type RecordedChange } from "./queries/changes.ts"
export { type LiveChange, LiveChanges } from "./queries/live-changes.ts"
export type { ObjectSelection } from "./queries/objects/object-selection.ts"
export { eventsAbout, ownersAbove, ownerTree, type TreeObject } from "./queries/owner-tree.ts"
export { QueriedRecording } from "./queries/queried-recording.ts"
export { QuestionRefused } from "./queries/query-errors.ts"
export { keptSettings, recordedKinds, recordedRange, StatusRecordedByKind } from "./queries/recorded-kinds.ts"
export type { Shortcomings } from "./queries/shortcomings.ts"
export { stateSteps } from "./queries/state-at.ts"
export { differenceSteps, type StateDifference } from "./queries/state-differences.ts"
export { findingSteps } from "./queries/timeline/found-wrong.ts"
export { histogramOf } from "./queries/timeline/histogram.ts"
export { lanesOf } from "./queries/timeline/lanes.ts"
export { tileSteps } from "./queries/timeline/tiles.ts"
export { TimelineCache } from "./queries/timeline/timeline-cache.ts"
export { type OpenedWindow, openedWindow } from "./reading/first-lists.ts"
export { readCoverage } from "./reading/recorded-coverage.ts"
export { readRecordedSince } from "./reading/recorded-since.ts"
export { type RecordingFacts, readKeptText, readOverview, readRecordingFacts } from "./reading/recording-facts.ts"
export { countWindow } from "./reading/window-counts.ts"
export type { WindowLimits } from "./reading/window-objects.ts"
export { type RecordedWindow, recordedTrace } from "./recorded-trace.ts"
export { type DiskUse, lendReserve } from "./retention/disk-reserve.ts"
export { type RetentionPolicy, removesAnything } from "./retention/policy.ts"
export type { Retention } from "./retention/retention.ts"
export { type AuditedRange, auditedRangeIn } from "./rows/author-rows.ts"
export { decodeDiscovery, discoveryKey, withDiscovered } from "./rows/discovery.ts"
export { readGaps } from "./rows/gap-rows.ts"
export type { KindState } from "./rows/kind-table.ts"
export { FIRST_LISTS_KEY, HELD_AFTER_KEY, RECORDER_KEY, redactedIn, TENURE_KEY } from "./rows/metadata.ts"
export type { AnsweredOwner, NamedOwner } from "./rows/owner-sets.ts"
export { beginSending, endSending, noteSent } from "./rows/unsent-writes.ts"
export { openOrBegin, setAsideReplaced } from "./set-aside.ts"
export {
  blobsOf,
  type Delta,
  type DeltaRow,
  fromTheBeginning,
  type Position,
  type ShippedTable,
  shippedTables,
} from "./shipping/delta.ts"
export { isOpenPart } from "./shipping/delta-applier.ts"
export { DeltaReader } from "./shipping/delta-reader.ts"
export { everyRow, kindsIn } from "./shipping/every-row.ts"
export { RecordingCopy } from "./shipping/recording-copy.ts"
export { MIRROR_KEY, RecordingMirror } from "./shipping/recording-mirror.ts"
export { DATABASE_FILE, databaseIdentity, isBeingWritten, MIRROR_FILE } from "./tables/reading-access.ts"
export { openForReading } from "./tables/schema.ts"
export { requireSoundTables } from "./tables/sound-rows.ts"
export { NoHistoryInTrace, recordTrace } from "./trace-recording.ts"
export { backupRecording } from "./upkeep/backup-recording.ts"
export { compactRecording } from "./upkeep/compact-recording.ts"
export { pinRecording, readPins, removePin } from "./upkeep/pinned-recording.ts"
export { type RecordingInfo, readRecordingInfo } from "./upkeep/recording-info.ts"
export type { AppendResult, CommitResult } from "./writing.ts"
