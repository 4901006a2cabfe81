/**
 * The writes of several logs as one sequence in the order of time: those of rotated files, and of API servers beside one another.
 *
 * A file is opened when its time comes, so that a thousand rotated files are not open at once; a pipe, which can be opened only once, is
 * open from the start. Memory is what waits in each open log.
 */
import type { AuditedWrite } from "../audited-write.ts"
import { beginningOf, LogFile, type LogListener, type LogOrder } from "./log-file.ts"

/** A log that is not open yet. */
interface LaterLog {
  readonly order: LogOrder
  readonly beginning: number
}

/** Rejects with InputUnreadable, LogUnreadable and ExportInterrupted. */
export async function* mergedWrites(
  orders: ReadonlyArray<LogOrder>,
  listener: LogListener,
): AsyncGenerator<AuditedWrite, void> {
  const open: LogFile[] = []
  try {
    const later: LaterLog[] = []
    for (const order of orders) {
      const input = await order.open()
      if (orders.length === 1 || input.size === undefined) open.push(new LogFile(input, order, listener))
      else later.push({ order, beginning: await beginningOf(input, order) })
    }
    later.sort((one, other) => one.beginning - other.beginning)
    while (true) {
      const earliest = await earliestOf(open)
      const next = later[0]
      if (next !== undefined && (earliest?.head === undefined || next.beginning <= earliest.head.time)) {
        later.shift()
        open.push(new LogFile(await next.order.open(), next.order, listener))
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
