/** The data directory of a recorder as a source of recorded history. It is only read, so the recorder may be running. */
import * as Schema from "effect/Schema"
import {
  ArchiveReader,
  type Lease,
  NotARecordingError,
  type RecordedWindow,
  recordedTrace,
  takeLease,
} from "../../archive/index.ts"
import { ExportInterrupted, type TraceItem } from "../../trace/index.ts"

/** A directory was named that has nothing to replay. */
export class NoRecording extends Schema.TaggedError<NoRecording>()("NoRecording", {
  directory: Schema.String,
  reason: Schema.String,
}) {
  override get message(): string {
    return `cannot replay ${this.directory}: it is a directory, but ${this.reason}; name a trace, or the data directory of a recorder`
  }
}

/** ms of reading between two turns of the event loop, in which what is due is sent: reading is synchronous. */
const turnMs = 4

/** ms between two looks for a recorder that has started in the directory; a look takes some µs. */
const looksMs = 1000

/** A recording that can be read several times. */
interface RecordedDirectory {
  /** The trace from its beginning. Rejects with {@link NoRecording}, or another ArchiveError. */
  readonly open: () => Promise<AsyncGenerator<Iterable<TraceItem>, void>>
  /** Call it when nothing is read any more. */
  readonly close: () => void
}

/** Reads nothing yet. `signal` ends reading; reading takes a few ms at a time, between turns of the event loop. */
export const recordedDirectory = (
  directory: string,
  window: RecordedWindow,
  signal: AbortSignal,
): RecordedDirectory => {
  const readers = new Set<{ close(): void }>()
  const open = async (): Promise<AsyncGenerator<Iterable<TraceItem>, void>> => {
    // A recorder that runs keeps what is read; where none does, there is no lease.
    const lease = takeLease(directory, { fromTime: window.from ?? 0, purpose: "reading the data directory" })
    const reader = openedUnder(lease, () => openReader(directory))
    const opened = {
      close: () => {
        reader.close()
        lease.release()
      },
    }
    readers.add(opened)
    const close = (): void => {
      if (readers.delete(opened)) opened.close()
    }
    return inTurns(reader, recordedTrace(reader, window), signal, close)
  }
  const close = (): void => {
    for (const reader of readers) reader.close()
    readers.clear()
  }
  return { open, close }
}

const openedUnder = (lease: Lease, open: () => ArchiveReader): ArchiveReader => {
  try {
    return open()
  } catch (error) {
    lease.release()
    throw error
  }
}

const openReader = (directory: string): ArchiveReader => {
  let reader: ArchiveReader
  try {
    reader = ArchiveReader.open(directory)
  } catch (error) {
    if (error instanceof NotARecordingError) throw new NoRecording({ directory, reason: error.reason })
    throw error
  }
  if (reader.summary().events > 0) return reader
  reader.close()
  throw new NoRecording({ directory, reason: "nothing is recorded in it yet" })
}

/** Chunks that are read while they are iterated, each for a few ms; calls `close` at the end, also at an early one. */
async function* inTurns(
  reader: Pick<ArchiveReader, "requireUndisturbed">,
  items: Generator<TraceItem, void, void>,
  signal: AbortSignal,
  close: () => void,
): AsyncGenerator<Iterable<TraceItem>, void> {
  let isOver = false
  let looksAtMs = performance.now() + looksMs
  function* turn(): Generator<TraceItem, void> {
    const endMs = performance.now() + turnMs
    do {
      const next = items.next()
      if (next.done === true) isOver = true
      else yield next.value
    } while (!isOver && performance.now() < endMs)
  }
  try {
    while (!isOver) {
      if (signal.aborted) throw new ExportInterrupted()
      yield turn()
      if (isOver || performance.now() > looksAtMs) {
        reader.requireUndisturbed()
        looksAtMs = performance.now() + looksMs
      }
      await new Promise(setImmediate)
    }
  } finally {
    close()
  }
}
