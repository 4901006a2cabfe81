/** What a comparison needs of the recording of the target; and pods, nodes, objects and lateness over the time of a replay. */
import type { Pod } from "../../kube/index.ts"
import { exactJsonIn, type ObjectEvent, podKind } from "../../trace/index.ts"
import { rememberedIdentity } from "../pods/pod-identity.ts"
import { keyOf } from "../replay/changes-to-writes.ts"
import type { Timeline } from "../report/fidelity-report.ts"
import { PodTimes, podPhase, rounded } from "./pod-times.ts"
import { type ComparedWrite, StateComparison } from "./state-comparison.ts"
import { nodeKind } from "./target-recording.ts"
import { ownerIn, type TracePods } from "./trace-pods.ts"
import type { WriteJournal } from "./write-journal.ts"

/** Something appeared or went; `at`: ms since the first moment of the trace was due. */
interface Step {
  readonly at: number
  readonly change: 1 | -1
}

/** The namespaces of the replay, in the target. */
export const replayedNamespaces = (journal: WriteJournal): ReadonlySet<string> => {
  const places = [...journal.objects.values()].map(({ place }) => place)
  return new Set(places.map(({ gvk, namespace, name }) => (gvk === "v1.Namespace" ? name : namespace)))
}

/** Reads the recording of the target, event by event. */
export class TargetReading {
  readonly states: StateComparison
  readonly pods = new PodTimes()
  /** Pods that no webhook has marked. */
  unasked = 0
  readonly nodes: Step[] = []
  /** By kind: when an object of the replay appeared or went. */
  readonly objects = new Map<string, Step[]>()
  readonly #namespaces: ReadonlySet<string>
  readonly #tracePods: Pick<TracePods, "met">
  readonly #journal: WriteJournal
  readonly #startMicros: number
  readonly #present = new Set<string>()

  /** `startMicros`: µs since the Unix epoch at which the first moment was due. `tracePods`: meets each pod in one of the `namespaces`. */
  constructor(
    journal: WriteJournal,
    startMicros: number,
    namespaces: ReadonlySet<string>,
    tracePods: Pick<TracePods, "met">,
  ) {
    this.#journal = journal
    this.#startMicros = startMicros
    this.#namespaces = namespaces
    this.#tracePods = tracePods
    this.states = new StateComparison(journal)
  }

  read(event: ObjectEvent): void {
    const { gvk, namespace, name, time, action } = event
    const at = (time - this.#startMicros) / 1000
    const key = keyOf(event)
    const isOurs = this.#journal.objects.has(key)
    if (isOurs) this.states.observe(event, at)
    if (gvk === podKind && this.#namespaces.has(namespace)) {
      const pod = action === "applied" ? exactJsonIn(event.object) : undefined
      const phase = action === "applied" ? podPhase(pod) : undefined
      const owner = ownerIn(this.#journal, namespace, name, pod)
      const life = this.pods.observe(`${namespace}/${name}`, Math.max(0, at), at < 0, owner, phase)
      if (life !== undefined) {
        this.#tracePods.met(life, namespace, pod)
        if (rememberedIdentity((pod ?? {}) as unknown as Pod) === undefined) this.unasked++
      }
    }
    if (!isOurs && gvk !== nodeKind) return
    const exists = action === "applied"
    if (exists === this.#present.has(key)) return
    if (exists) this.#present.add(key)
    else this.#present.delete(key)
    const step: Step = { at, change: exists ? 1 : -1 }
    if (gvk === nodeKind) this.nodes.push(step)
    if (isOurs) listOf(this.objects, gvk).push(step)
  }
}

/** The list of a key, which is made if there is none. */
const listOf = <T>(lists: Map<string, T[]>, key: string): T[] => {
  const list = lists.get(key) ?? []
  lists.set(key, list)
  return list
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
  const frequent = [...expected].toSorted(([, left], [, right]) => right.length - left.length).map(([gvk]) => gvk)
  const byKind = (steps: ReadonlyMap<string, ReadonlyArray<Step>>) => {
    const shown = frequent.slice(0, mostKinds)
    const others = frequent.slice(mostKinds).flatMap((gvk) => steps.get(gvk) ?? [])
    const counted = shown.map((gvk) => [gvk, counts(steps.get(gvk) ?? [])] as const)
    return Object.fromEntries(frequent.length > mostKinds ? [...counted, ["others", counts(others)]] : counted)
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
      recorded: nodes.length === 0 ? null : counts(presence(nodes)),
      replayed: unmeasured.has(nodeKind) ? null : counts(target.nodes),
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
