/** Makes a recording without a writer as small as it can be, and removes what is older than the policy keeps. */
import { ArchiveWriter } from "../archive-writer.ts"
import type { RetentionPolicy } from "../retention/policy.ts"
import { openForReading } from "../tables/schema.ts"

interface Compaction {
  /** Bytes on disk. */
  readonly before: number
  readonly after: number
  /** Events that were removed. */
  readonly removedEvents: number
}

interface CompactionOptions {
  /** Blocks that end after this sequence number stay as they are. Default: none do. */
  readonly heldAfter?: number
  /** µs since the Unix epoch. */
  readonly now?: () => number
}

/**
 * Needs no room beside the recording: free pages are moved to its end some at a time. May be interrupted at any moment.
 *
 * @throws DirectoryInUseError if a recorder runs, NotARecordingError, NewerRecordingError, OlderRecordingError, DiskFullError, ArchiveIoError,
 * CorruptArchiveError
 */
export const compactRecording = (
  directory: string,
  policy: RetentionPolicy,
  { heldAfter = Number.POSITIVE_INFINITY, ...options }: CompactionOptions = {},
): Compaction => {
  // A writer would begin a new recording where there is none.
  openForReading(directory).close()
  const writer = ArchiveWriter.open(directory, options)
  try {
    const before = bytesOf(writer)
    writer.retention.setPolicy(policy)
    writer.retention.hold(heldAfter)
    for (const _ of writer.retention.compact());
    writer.commit()
    writer.shrinkLog()
    return { before, after: bytesOf(writer), removedEvents: writer.retention.statistics.events }
  } finally {
    writer.close()
  }
}

const bytesOf = (writer: ArchiveWriter): number => {
  const { database, log } = writer.retention.diskUse()
  return database + log
}
