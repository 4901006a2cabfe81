/** Who wrote, out of log files, for a recording that exists already. */
import { type AuthoredWrite, ExportInterrupted } from "../../trace/index.ts"
import { type AuditImport, type ImportError, type ImportProgress, isImportError, namedLogs } from "../import-order.ts"
import { mergedWrites } from "../reading/merged-writes.ts"
import { SeenTexts } from "../seen-texts.ts"
import { authoredWrites } from "./authored-writes.ts"

/** Writes that are handed over at once. */
const batchWrites = 1000

/** What to read, and where it goes. */
interface AuthorsImport extends Pick<AuditImport, "logs" | "openInput" | "signal" | "onProgress"> {
  /** Keeps a batch; returns how many of its writes are kept. `range`: µs since the Unix epoch. What it throws ends the import. */
  readonly add: (writes: ReadonlyArray<AuthoredWrite>, range: { readonly from: number; readonly to: number }) => number
}

/** What was read, and how much of it is kept. */
interface AuthorsSummary {
  /** Lines, or elements of documents. */
  readonly texts: number
  /** Successful writes. */
  readonly writes: number
  /** Writes of which the log says to which object they were made, and those of recorded kinds. */
  readonly named: number
  readonly kept: number
  /** Texts that are no audit entries. */
  readonly unknown: number
}

/** The result. */
type AuthorsOutcome =
  | { readonly tag: "imported"; readonly summary: AuthorsSummary }
  | { readonly tag: "failed"; readonly error: ImportError }

/** Reads logs in any order, several times over if need be. Rejects only for defects, and with what `add` throws; what was added until then stays. */
export const importAuthors = async (given: AuthorsImport): Promise<AuthorsOutcome> => {
  const progress: ImportProgress = { bytesRead: 0, changes: 0, isWriting: false }
  const seen = new SeenTexts((bytes) => {
    progress.bytesRead += bytes
    given.onProgress(progress)
  })
  const logs = namedLogs(given)
  let [writes, named, kept] = [0, 0, 0]
  let batch: AuthoredWrite[] = []
  const flush = (): void => {
    if (given.signal.aborted) throw new ExportInterrupted()
    kept += given.add(batch, { from: seen.from, to: seen.to })
    named += batch.length
    progress.changes = named
    batch = []
  }
  try {
    for await (const write of mergedWrites(logs, seen)) {
      writes++
      batch.push(...authoredWrites(write))
      if (batch.length >= batchWrites) flush()
    }
    if (writes === 0) throw seen.nothing()
    flush()
    return { tag: "imported", summary: { texts: seen.texts, writes, named, kept, unknown: seen.unknown.count } }
  } catch (cause) {
    if (!isImportError(cause)) throw cause
    return { tag: "failed", error: cause }
  }
}
