/** Pods, nodes, objects and lateness over the time of a replay, as the trace has them and as the target had them. */
import { podKind } from "../../trace/pods/pod-lives-kind.ts"
import type { Timeline } from "../report/fidelity-report.ts"
import { rounded } from "./spread.ts"
import type { ComparedWrite } from "./state-comparison.ts"
import { listOf, nodeKind, type Step, type TargetReading } from "./target-reading.ts"
import type { TracePods } from "./trace-pods.ts"
import type { WriteJournal } from "./write-journal.ts"

// Numbers over the time of a run, in at most {@link mostPoints} steps of equal length.

/** Enough for a chart that fills a screen. */
const mostPoints = 600

/** Lengths of a step in ms that people can read. */
const lengths = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 15_000, 30_000, 60_000, 120_000, 300_000]

/** The steps of one run; all times are ms from its beginning. */
class TimeLine {
  /** ms of a step. */
  readonly stepMs: number
  readonly points: number

  /** From 0 to `endMs`. */
  constructor(endMs: number) {
    const end = Math.max(1, endMs)
    const length = lengths.find((each) => end / each <= mostPoints)
    this.stepMs = length ?? Math.ceil(end / mostPoints / 600_000) * 600_000
    this.points = Math.min(mostPoints, Math.ceil(end / this.stepMs))
  }

  /** The step that contains a moment; moments outside belong to the first or the last. */
  indexOf(ms: number): number {
    return Math.min(this.points - 1, Math.max(0, Math.floor(ms / this.stepMs)))
  }

  /** What there is at the end of each step, from its changes. */
  counts(changes: Iterable<{ readonly at: number; readonly change: number }>): ReadonlyArray<number> {
    const counts = new Array<number>(this.points).fill(0)
    for (const { at, change } of changes) {
      const index = this.indexOf(at)
      counts[index] = (counts[index] as number) + change
    }
    for (let index = 1; index < counts.length; index++)
      counts[index] = (counts[index] as number) + (counts[index - 1] as number)
    return counts
  }

  /** The largest value of each step; `null` where there is none. */
  maxima(values: Iterable<{ readonly at: number; readonly value: number }>): ReadonlyArray<number | null> {
    const maxima = new Array<number | null>(this.points).fill(null)
    for (const { at, value } of values) {
      const index = this.indexOf(at)
      maxima[index] = Math.max(maxima[index] ?? value, value)
    }
    return maxima
  }
}

/** Kinds with a line of their own; the others share one. */
const mostKinds = 8

/** `tracePods`: `undefined` if the trace has none. `endMs`: when the recording ended, in ms after the first moment. */
export const timelineOf = (
  journal: WriteJournal,
  target: TargetReading,
  tracePods: Pick<TracePods, "steps"> | undefined,
  observed: ReadonlyArray<ComparedWrite>,
  endMs: number,
  unmeasured: ReadonlySet<string>,
): Timeline => {
  const lastDue = journal.writes.findLast(({ due }) => due !== undefined)?.due ?? 0
  const line = new TimeLine(Math.max(endMs, lastDue))
  const phases = ({ steps }: Pick<TracePods, "steps">) =>
    Object.fromEntries([...Map.groupBy(steps, ({ phase }) => phase)].map(([phase, some]) => [phase, line.counts(some)]))
  const expected = expectedObjects(journal)
  const frequent = [...expected].toSorted(([, left], [, right]) => right.length - left.length).map(([gvk]) => gvk)
  const byKind = (steps: ReadonlyMap<string, ReadonlyArray<Step>>) => {
    const shown = frequent.slice(0, mostKinds)
    const others = frequent.slice(mostKinds).flatMap((gvk) => steps.get(gvk) ?? [])
    const counted = shown.map((gvk) => [gvk, line.counts(steps.get(gvk) ?? [])] as const)
    return Object.fromEntries(frequent.length > mostKinds ? [...counted, ["others", line.counts(others)]] : counted)
  }
  const nodes = presence(journal.nodes)
  const late = (writes: Iterable<{ readonly due: number | undefined; readonly at: number | undefined }>) =>
    line
      .maxima(
        [...writes].flatMap(({ due, at }) =>
          due === undefined || at === undefined ? [] : [{ at: due, value: at - due }],
        ),
      )
      .map((value) => (value === null ? null : rounded(value)))
  const { writes } = journal
  return {
    stepMs: line.stepMs,
    points: line.points,
    pods: {
      recorded: tracePods === undefined ? null : phases(tracePods),
      replayed: unmeasured.has(podKind) ? null : phases(target.pods),
    },
    nodes: {
      recorded: journal.nodes.length === 0 ? null : line.counts(nodes),
      replayed: unmeasured.has(nodeKind) ? null : line.counts(target.nodes),
    },
    objects: { recorded: byKind(expected), replayed: byKind(target.objects) },
    lateMs: {
      sent: late(writes.map(({ due, sent }) => ({ due, at: sent }))),
      answered: late(writes.map(({ due, sent, settled }) => ({ due, at: sent === undefined ? undefined : settled }))),
      observed: late(observed.map(({ write, observed: at }) => ({ due: write.due, at }))),
    },
  }
}

/** What the trace has of the objects that are replayed, at the times at which it was due. */
const expectedObjects = (journal: WriteJournal): ReadonlyMap<string, ReadonlyArray<Step>> => {
  const steps = new Map<string, Step[]>()
  for (const { place, writes } of journal.objects.values()) {
    let exists = false
    for (const { verb, due = 0 } of writes) {
      if ((verb === "apply") === exists) continue
      exists = verb === "apply"
      listOf(steps, place.gvk).push({ at: due, change: exists ? 1 : -1 })
    }
  }
  return steps
}

const presence = (changes: WriteJournal["nodes"]): ReadonlyArray<Step> => {
  const present = new Set<string>()
  return changes.flatMap(({ name, at, exists }): ReadonlyArray<Step> => {
    if (present.has(name) === exists) return []
    if (exists) present.add(name)
    else present.delete(name)
    return [{ at, change: exists ? 1 : -1 }]
  })
}
