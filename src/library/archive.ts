/**
 * A recording on disk, for programs that read it (`kubereel/archive`) without a recorder, or beside one that writes it.
 *
 * ```ts
 * const reader = ArchiveReader.open("/var/lib/kubereel")
 * const cut = reader.cut()
 * for (const event of reader.snapshotAt({ cut, time })) …         // what existed just before that moment
 * for (const event of reader.events({ cut, fromTime: time })) …   // and what happened from then on
 * reader.close()
 * ```
 *
 * Guaranteed: what precedes a cut never changes, so readers of the same cut see the same recording; reading changes nothing in
 * the directory, also one of another user, and does not delay a writer; memory is bounded for a recording of any size. Missing parts are reported: `gaps`.
 *
 * If a recorder may start in the directory while it is read, {@link ArchiveReader.requireUndisturbed} notices it. A recorder with limits may remove what is
 * being read: then methods throw RetentionOutranError.
 *
 * A stream in an object store is read as a directory is that {@link openMirror} keeps:
 *
 * ```ts
 * const mirror = await openMirror("s3://recordings/production")
 * const reader = ArchiveReader.open(mirror.directory)
 * await mirror.update()                                           // what was archived since is there for the reader
 * ```
 *
 * Not guaranteed: the format of the files. {@link ArchiveReader} reads the present one and refuses every other with an error.
 *
 * Times are µs since the Unix epoch. Every method may throw an {@link ArchiveError}. Events are those of `kubereel/trace`.
 */

export {
  type ArchiveError,
  ArchiveIoError,
  ArchiveReader,
  type BlockInfo,
  CorruptArchiveError,
  type EventSelection,
  NewerRecordingError,
  NotARecordingError,
  OlderRecordingError,
  RecordingDisturbedError,
  type RecordingSummary,
  RetentionOutranError,
  type SnapshotSelection,
  StoreUnreadableError,
} from "../archive/index.ts"
export { type Mirror, openMirror, shardsOf } from "../fleet/index.ts"
