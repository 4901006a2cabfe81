/** What a replay of a trace would write, counted without a cluster. */
import type { TraceItem } from "../../trace/index.ts"
import { rootNamespace } from "../objects/target-object.ts"
import { mayHaveLives } from "../pods/life-source.ts"
import { OutcomeCounts } from "../report/replay-report.ts"
import { ChangesToWrites } from "./changes-to-writes.ts"
import type { ReplayOptions } from "./replay.ts"
import { traceChanges } from "./trace-changes.ts"
import { type Beginning, type Upcoming, UpcomingChanges } from "./upcoming-changes.ts"

/** The writes of one kind. */
export interface KindForecast {
  readonly gvk: string
  /** Objects that exist at the start. */
  readonly objects: number
  /** Changes after that: objects created or changed, and deletions. */
  readonly applies: number
  readonly deletions: number
}

/** What decides about the writes of a replay; none of it needs the target. */
export type SurveyOptions = Pick<
  ReplayOptions,
  "name" | "items" | "window" | "namespacePrefix" | "placement" | "included" | "signal"
>

/** A trace as far as it was read. */
export interface ReplaySurvey {
  readonly header: Beginning["header"]
  /** µs since the Unix epoch. */
  readonly start: number
  /** µs since the Unix epoch: as far as the trace was read. */
  readonly end: number
  readonly gaps: number
  /** Whether pods can follow lives that the trace has. */
  readonly hasLives: boolean
  readonly tally: Tally
  readonly planner: ChangesToWrites
}

/** Reads the whole trace, or as much of it as `isEnough` allows. Rejects with the error of the source. */
export const surveyReplay = async (
  options: SurveyOptions,
  isEnough: () => boolean = () => false,
): Promise<ReplaySurvey> => {
  const { name, window, namespacePrefix, placement, included, signal } = options
  const root = { apiVersion: "v1", kind: "Namespace", name: rootNamespace(name), uid: "" }
  const planner = new ChangesToWrites({ replay: name, namespacePrefix, placement, root }, included)
  const tally = new Tally()
  const upcoming = new UpcomingChanges(traceChanges(until(options.items, isEnough), window))
  try {
    const { time, header, objects } = await upcoming.open()
    const { configurations } = upcoming
    for (const config of configurations) planner.configure(config)
    const kinds = header?.kinds ?? []
    const hasLives = mayHaveLives({ kinds, hasLifecycles: header?.hasLifecycles === true, configurations })
    planner.expectKinds(kinds)
    planner.expect(objects)
    for (const change of objects) tally.add({ change, planned: planner.plan(change) }, true)
    upcoming.start(planner)
    while (!upcoming.isOver && !signal.aborted) {
      const { head } = upcoming
      if (head === undefined) await upcoming.readAhead()
      else {
        upcoming.take()
        tally.add(head, false)
      }
    }
    return { header, start: time, end: upcoming.end, gaps: upcoming.gaps, hasLives, tally, planner }
  } finally {
    upcoming.close()
  }
}

async function* until(
  items: AsyncIterable<Iterable<TraceItem>>,
  isEnough: () => boolean,
): AsyncGenerator<Iterable<TraceItem>, void> {
  for await (const chunk of items) {
    yield chunk
    if (isEnough()) return
  }
}

/** Properties by which objects name classes of the cluster. */
const classReferences = /"(priorityClassName|storageClassName|ingressClassName|runtimeClassName)":"([^"\\]+)"/g

/** What the writes need. */
class Tally {
  readonly namespaces = new Set<string>()
  readonly skipped = new OutcomeCounts()
  /** Why changes cannot be written at all. */
  readonly impossible = new Set<string>()
  /** `priorityClassName fast`. */
  readonly classes = new Set<string>()
  /** Names of cluster-scoped objects that the replay creates itself. */
  readonly created = new Set<string>()
  readonly #kinds = new Map<string, { gvk: string; objects: number; applies: number; deletions: number }>()

  get kinds(): ReadonlyArray<KindForecast> {
    return [...this.#kinds.values()].toSorted((left, right) => (left.gvk < right.gvk ? -1 : 1))
  }

  add({ change: { gvk }, planned }: Upcoming, isSeed: boolean): void {
    if (planned.tag === "skip") return this.skipped.add(gvk, { tag: "skipped", reason: planned.reason })
    if (planned.tag === "refuse") return void this.impossible.add(planned.message)
    const counts = this.#kinds.get(gvk) ?? { gvk, objects: 0, applies: 0, deletions: 0 }
    this.#kinds.set(gvk, counts)
    if (planned.tag === "delete") counts.deletions++
    else if (isSeed) counts.objects++
    else counts.applies++
    const { namespace, name } = planned.place
    if (gvk === "v1.Namespace") this.namespaces.add(name)
    else if (namespace === "") this.created.add(name)
    else this.namespaces.add(namespace)
    if (planned.tag === "apply")
      for (const [, property = "", value = ""] of planned.body().matchAll(classReferences))
        this.classes.add(`${property} ${value}`)
  }
}
