/**
 * The writes of several logs as one sequence in the order of time: those of rotated files, and of API servers beside
 * one another.
 *
 * A file is opened when its time comes, so that a thousand rotated files are not open at once; a pipe, which can be
 * opened only once, is open from the start. Memory is what waits in each open log.
 */
import type { AuditedWrite } from "../shapes/audited-write.ts"
import { beginningOf, LogFile, type LogListener, type LogSource } from "./log-file.ts"

/** A log that is not open yet. */
interface LaterLog {
  readonly source: LogSource
  readonly beginning: number
}

/** Rejects with InputUnreadable, LogUnreadable and ExportInterrupted. */
export async function* mergedWrites(
  sources: ReadonlyArray<LogSource>,
  listener: LogListener,
): AsyncGenerator<AuditedWrite, void> {
  const open: LogFile[] = []
  try {
    const later: LaterLog[] = []
    for (const source of sources) {
      const input = await source.open()
      if (sources.length === 1 || input.size === undefined) open.push(new LogFile(input, source, listener))
      else later.push({ source, beginning: await beginningOf(input, source) })
    }
    later.sort((one, other) => one.beginning - other.beginning)
    while (true) {
      const earliest = await earliestOf(open)
      const next = later[0]
      if (next !== undefined && (earliest?.head === undefined || next.beginning <= earliest.head.time)) {
        later.shift()
        open.push(new LogFile(await next.source.open(), next.source, listener))
      } else if (earliest?.head !== undefined) {
        yield earliest.head
        earliest.advance()
      } else return
    }
  } finally {
    await Promise.all(open.map((log) => log.close()))
  }
}

/** The log whose next write is the first of all; removes those that have ended. */
const earliestOf = async (open: LogFile[]): Promise<LogFile | undefined> => {
  let earliest: LogFile | undefined
  for (const log of [...open]) {
    if (log.head === undefined && !(await log.fill())) {
      open.splice(open.indexOf(log), 1)
      await log.close()
      continue
    }
    if (earliest === undefined || (log.head as AuditedWrite).time < (earliest.head as AuditedWrite).time) earliest = log
  }
  return earliest
}

/**
 * Recognises a write that the logs have twice: in files that overlap, from collectors that deliver at least once, in a
 * file under two names. The writes come in the order of time, and both entries have the same time, so memory is the
 * writes of one microsecond.
 */
export class RepeatedWrites {
  #time = Number.NEGATIVE_INFINITY
  readonly #seen = new Set<string>()

  /** Whether it is the one of an earlier call. A write without an ID never is. */
  has({ time, id, verb, resource, subresource, namespace, name }: AuditedWrite): boolean {
    if (id === "") return false
    if (time !== this.#time) this.#seen.clear()
    this.#time = time
    const key = `${id} ${verb} ${resource} ${subresource} ${namespace} ${name}`
    const isRepeated = this.#seen.has(key)
    this.#seen.add(key)
    return isRepeated
  }
}
