/** What is different between two traces, for programs. Times are µs. */
import type { ComparedTraceFacts, TraceComparison } from "../../trace/comparison/compare-traces.ts"
import { formatExactJson, type JsonValue } from "../../trace/json/exact-json.ts"

/** A document for JSON.stringify. */
export const traceDiffJson = (paths: readonly [string, string], comparison: TraceComparison): object => {
  const { traces, onlyInFirst, onlyInSecond, changed, changes, times, isSame } = comparison
  return {
    version: 1,
    isSame,
    a: traceOf(paths[0], traces[0]),
    b: traceOf(paths[1], traces[1]),
    onlyInA: onlyInFirst,
    onlyInB: onlyInSecond,
    changed: changed.map(({ object, differences, ...others }) => ({
      ...object,
      ...others,
      ...(differences !== undefined && {
        differences: differences.map(({ path, before, after }) => ({
          path,
          ...(before !== undefined && { a: plain(before) }),
          ...(after !== undefined && { b: plain(after) }),
        })),
      }),
    })),
    changes: changes.map(({ object, onlyInFirst: first, onlyInSecond: second }) => ({
      ...{ ...object, onlyInA: first, onlyInB: second },
    })),
    times: { ...times, largest: times.largest.map(({ object, offset, shift }) => ({ ...object, offset, shift })) },
  }
}

const traceOf = (path: string, { start, events, changes, objects, gaps, incomplete }: ComparedTraceFacts): object => ({
  ...{ path, events, changes, objects, gaps, incomplete },
  ...(start !== undefined && { start }),
})

/** JSON.stringify knows no integers beyond 2^53; they become the nearest number. */
const plain = (value: JsonValue): unknown => JSON.parse(formatExactJson(value))
