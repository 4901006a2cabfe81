/**
 * The actors of a recorder: watcher, store, owner resolver, exporter, reader. Each runs in a worker thread of its own; here is what the recorder needs in
 * order to start and to call them.
 *
 * Guarantee: a watcher names objects of its own kind only; the store is the only writer of a recording; none of them waits for a look-up or an export in order to
 * take in changes.
 */

export {
  ArchivingFailed,
  type ArchivistConfig,
  type ArchivistControl,
  type ArchivistReport,
  archivistDefinition,
  StreamOfAnotherShard,
} from "./archivist/archivist-interface.ts"
export {
  type ExporterConfig,
  type ExporterControl,
  type ExportJob,
  ExportRefused,
  exporterDefinition,
  type IncompleteKind,
  type RequestedKinds,
  type StartedTrace,
} from "./exporter/exporter-interface.ts"
export { clockTolerance, incompleteKinds, instantOf, type RequestedWindow } from "./exporter/incomplete-kinds.ts"
export {
  archivistName,
  exporterName,
  observationsMailbox,
  ownerAnswersMailbox,
  ownerQuestionsMailbox,
  ownerResolverName,
  readerName,
  storedStateMailbox,
  storeName,
  watcherName,
} from "./names.ts"
export { openOwnershipGraph } from "./owner-resolver/graph.ts"
export { defaultLookUpLimits } from "./owner-resolver/look-up-queue.ts"
export {
  maximumNamed,
  type OwnerResolverConfig,
  type OwnerResolverReport,
  ownerResolverDefinition,
  type Settled,
} from "./owner-resolver/owner-resolver-interface.ts"
export { type EventForm, encodedItem, itemEnd } from "./reader/event-encoding.ts"
export type { Question } from "./reader/question.ts"
export {
  type ReadCoverage,
  type ReaderConfig,
  type ReaderControl,
  ReadingFailed,
  type ReadKind,
  readerDefinition,
} from "./reader/reader-interface.ts"
export type { ReaderEnding } from "./reader/subscription.ts"
export {
  type AuditBatch,
  type ExpectedKinds,
  type RetentionSettings,
  type StoreConfig,
  type StoreControl,
  type StoreReport,
  type StoreUnavailable,
  storeDefinition,
} from "./store/store-interface.ts"
export type { KindDefinition } from "./watcher/definitions.ts"
export { combinedState, type NamespaceState } from "./watcher/namespace-states.ts"
export {
  type WatcherConfig,
  type WatcherControl,
  type WatcherReport,
  watcherDefinition,
} from "./watcher/watcher-interface.ts"
