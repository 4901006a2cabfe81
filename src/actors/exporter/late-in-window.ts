/** The late ranges that an export names: those that concern its window and its namespaces, in a bounded number. */
import type { ArchiveReader } from "../../archive/archive-reader.ts"
import type { LateChanges } from "../../trace/event.ts"
import type { CompiledFilters } from "../../trace/selection/filters.ts"
import type { ExportJob } from "./definition.ts"
import { timesOf } from "./export-window.ts"

/** Some 200 bytes each in the first line of a trace, which readers keep in memory. */
const mostRanges = 1000

/** In the order of the times from which on their changes may have happened. */
export const lateInWindow = (
  reader: ArchiveReader,
  job: ExportJob,
  kinds: ReadonlyArray<string>,
  filters: CompiledFilters,
): ReadonlyArray<LateChanges> => {
  const { cut, fromTime, untilTime } = job
  const late = reader
    .lateRanges({ cut, fromTime, untilTime, kinds, ...timesOf(job) })
    .filter((range) => !filters.excludesGap(range))
  return late.length > mostRanges ? joined(late) : late
}

/** One range for each kind and cause, around all of them: less exact, and still true. */
const joined = (late: ReadonlyArray<LateChanges>): ReadonlyArray<LateChanges> => {
  const all = new Map<string, LateChanges>()
  for (const range of late) {
    const key = `${range.gvk} ${range.cause}`
    const before = all.get(key) ?? { ...range, events: 0 }
    all.set(key, {
      ...before,
      namespace: before.namespace === range.namespace ? range.namespace : "",
      notAfter: Math.max(before.notAfter, range.notAfter),
      receivedFrom: Math.min(before.receivedFrom, range.receivedFrom),
      receivedTo: Math.max(before.receivedTo, range.receivedTo),
      events: before.events + range.events,
    })
  }
  return [...all.values()]
}
