/** Pods, nodes, objects and lateness over the time of a replay, in the trace and in the target. */
import { podKind } from "../../trace/index.ts"
import type { Timeline } from "../report/fidelity-report.ts"
import { rounded } from "./pod-times.ts"
import type { ComparedWrite, TargetReading } from "./target-reading.ts"
import { nodeKind } from "./target-recording.ts"
import type { TracePods } from "./trace-pods.ts"
import type { WriteJournal } from "./write-journal.ts"

/** Something appeared or went; `at`: ms since the first moment of the trace was due. */
interface Step {
  readonly at: number
  readonly change: 1 | -1
}

/** When objects appear and go. */
export class Presence {
  readonly steps: Step[] = []
  readonly #present = new Set<string>()

  /** Of an object that is there already, or gone already, nothing is kept. */
  note(key: string, exists: boolean, at: number): void {
    if (this.#present.has(key) === exists) return
    if (exists) this.#present.add(key)
    else this.#present.delete(key)
    this.steps.push({ at, change: exists ? 1 : -1 })
  }
}

/** That of a kind, which is made if there is none. */
export const presenceIn = (kinds: Map<string, Presence>, gvk: string): Presence => {
  const presence = kinds.get(gvk) ?? new Presence()
  kinds.set(gvk, presence)
  return presence
}

/** Enough for a chart that fills a screen. */
const mostPoints = 600

/** Lengths of a step in ms that people can read. */
const lengths = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 15_000, 30_000, 60_000, 120_000, 300_000]

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
  const end = Math.max(1, endMs, lastDue)
  const stepMs = lengths.find((each) => end / each <= mostPoints) ?? Math.ceil(end / mostPoints / 600_000) * 600_000
  const points = Math.min(mostPoints, Math.ceil(end / stepMs))
  /** Moments outside belong to the first or the last. */
  const stepOf = (at: number): number => Math.min(points - 1, Math.max(0, Math.floor(at / stepMs)))
  /** What there is at the end of each step. */
  const counts = (changes: ReadonlyArray<Step>): ReadonlyArray<number> => {
    const ends = new Array<number>(points).fill(0)
    for (const { at, change } of changes) {
      const index = stepOf(at)
      ends[index] = (ends[index] ?? 0) + change
    }
    let sum = 0
    return ends.map((change) => (sum += change))
  }
  const latest = (writes: ReadonlyArray<{ readonly due: number | undefined; readonly at: number | undefined }>) => {
    const maxima = new Array<number | null>(points).fill(null)
    for (const { due, at } of writes) {
      if (due === undefined || at === undefined) continue
      const index = stepOf(due)
      maxima[index] = Math.max(maxima[index] ?? Number.NEGATIVE_INFINITY, rounded(at - due))
    }
    return maxima
  }
  const phases = ({ steps }: Pick<TracePods, "steps">) =>
    Object.fromEntries([...Map.groupBy(steps, ({ phase }) => phase)].map(([phase, some]) => [phase, counts(some)]))
  const expected = expectedObjects(journal)
  const changing = [...expected].filter(([, { steps }]) => steps.length > 0)
  const frequent = changing.toSorted(([, { steps: left }], [, { steps: right }]) => right.length - left.length)
  const kinds = frequent.map(([gvk]) => gvk)
  const byKind = (present: ReadonlyMap<string, Presence>) => {
    const stepsOf = (gvk: string): ReadonlyArray<Step> => present.get(gvk)?.steps ?? []
    const counted = kinds.slice(0, mostKinds).map((gvk) => [gvk, counts(stepsOf(gvk))] as const)
    const others = kinds.slice(mostKinds)
    return Object.fromEntries(others.length > 0 ? [...counted, ["others", counts(others.flatMap(stepsOf))]] : counted)
  }
  const { writes, nodes } = journal
  return {
    stepMs,
    points,
    pods: {
      recorded: tracePods === undefined ? null : phases(tracePods),
      replayed: unmeasured.has(podKind) ? null : phases(target.pods),
    },
    nodes: {
      recorded: nodes.length === 0 ? null : counts(nodesOf(journal)),
      replayed: unmeasured.has(nodeKind) ? null : counts(target.nodes.steps),
    },
    objects: { recorded: byKind(expected), replayed: byKind(target.objects) },
    lateMs: {
      sent: latest(writes.map(({ due, sent }) => ({ due, at: sent }))),
      answered: latest(writes.map(({ due, sent, settled }) => ({ due, at: sent === undefined ? undefined : settled }))),
      observed: latest(observed.map(({ write, observed: at }) => ({ due: write.due, at }))),
    },
  }
}

/** What the trace has of the objects that are replayed, at the times at which it was due. */
const expectedObjects = (journal: WriteJournal): ReadonlyMap<string, Presence> => {
  const kinds = new Map<string, Presence>()
  for (const [key, { place, writes }] of journal.objects)
    for (const { verb, due = 0 } of writes) presenceIn(kinds, place.gvk).note(key, verb === "apply", due)
  return kinds
}

const nodesOf = ({ nodes }: WriteJournal): ReadonlyArray<Step> => {
  const present = new Presence()
  for (const { name, exists, at } of nodes) present.note(name, exists, at)
  return present.steps
}
