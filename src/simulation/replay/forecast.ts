/**
 * What a replay would do, without doing it: reads the whole trace, counts, and asks the target what it lacks. Writes nothing but access
 * reviews, which leave no trace in the target.
 */
import type { ApiClient } from "../../kube/client/api-client.ts"
import { NotFoundError } from "../../kube/client/api-errors.ts"
import { kinds } from "../../kube/client/kinds.ts"
import type { ApiObject } from "../../kube/client/objects.ts"
import { ResourceFinder } from "../../kube/client/resource-finder.ts"
import { parseGvk } from "../../kube/gvk.ts"
import type { Kind } from "../../kube/kind.ts"
import { replayLabel } from "../objects/target-object.ts"
import { ChangesToWrites } from "./changes-to-writes.ts"
import type { ReplayOptions } from "./replay.ts"
import { OutcomeCounts } from "./replay-report.ts"
import { traceChanges } from "./trace-changes.ts"
import { type Upcoming, UpcomingChanges } from "./upcoming-changes.ts"

/** The writes of one kind. */
export interface KindForecast {
  readonly gvk: string
  /** Objects that exist at the start. */
  readonly objects: number
  /** Changes after that: objects created or changed, and deletions. */
  readonly applies: number
  readonly deletions: number
}

export interface ReplayForecast {
  readonly version: 1
  /** µs since the Unix epoch. */
  readonly trace: { readonly start: number; readonly end: number }
  /** ms that it takes at the requested speed; `null` at speed `max`. */
  readonly expectedMs: number | null
  readonly kinds: ReadonlyArray<KindForecast>
  readonly namespaces: ReadonlyArray<string>
  readonly gaps: number
  readonly skipped: OutcomeCounts["skips"]
  /** One sentence for each thing that the target does not have or not allow. */
  readonly lacking: ReadonlyArray<string>
}

export type ForecastOptions = Pick<
  ReplayOptions,
  "name" | "items" | "window" | "client" | "speed" | "namespacePrefix" | "placement" | "included" | "signal"
>

/** Rejects with the error of the source, or with the ApiError of a request. */
export const forecastReplay = async (options: ForecastOptions): Promise<ReplayForecast> => {
  const { name, client, speed, namespacePrefix, placement, included, signal } = options
  const root = { apiVersion: "v1", kind: "Namespace", name: `kubereel-replay-${name}`, uid: "" }
  const planner = new ChangesToWrites({ replay: name, namespacePrefix, placement, root }, included)
  const tally = new Tally()
  const upcoming = new UpcomingChanges(traceChanges(options.items, options.window), planner)
  try {
    const { time, seed } = await upcoming.beginning()
    for (const each of seed) tally.add(each, true)
    while (!upcoming.isOver && !signal.aborted) {
      const { head } = upcoming
      if (head === undefined) await upcoming.readAhead()
      else {
        upcoming.take()
        tally.add(head, false)
      }
    }
    const { end, gaps } = upcoming
    return {
      version: 1,
      trace: { start: time, end },
      expectedMs: speed === "max" ? null : (end - time) / 1000 / speed,
      kinds: tally.kinds,
      namespaces: [...tally.namespaces].toSorted(),
      gaps,
      skipped: tally.skipped.skips,
      lacking: await lackingIn(client, tally, name),
    }
  } finally {
    await upcoming.close()
  }
}

/** Properties by which objects name classes of the cluster. */
const classReferences = /"(priorityClassName|storageClassName|ingressClassName|runtimeClassName)":"([^"\\]+)"/g

const classKinds: Readonly<Record<string, Kind>> = {
  priorityClassName: classKind("scheduling.k8s.io", "PriorityClass", "priorityclasses"),
  storageClassName: classKind("storage.k8s.io", "StorageClass", "storageclasses"),
  ingressClassName: classKind("networking.k8s.io", "IngressClass", "ingressclasses"),
  runtimeClassName: classKind("node.k8s.io", "RuntimeClass", "runtimeclasses"),
}

function classKind(group: string, kind: string, plural: string): Kind {
  return { gvk: { group, version: "v1", kind }, plural, namespaced: false }
}

/** What the writes need. */
class Tally {
  readonly namespaces = new Set<string>()
  readonly skipped = new OutcomeCounts()
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

const lackingIn = async (client: ApiClient, tally: Tally, replay: string): Promise<ReadonlyArray<string>> => {
  const finder = new ResourceFinder(client.connection)
  const lacking: string[] = []
  for (const { gvk, deletions } of [...tally.kinds, { gvk: "v1.Namespace", deletions: 1 }]) {
    const parsed = parseGvk(gvk)
    const kind = parsed && (await unlessMissing(finder.find(parsed)))
    if (kind === undefined) lacking.push(`it has no kind ${gvk}`)
    else
      for (const verb of ["patch", "create", ...(deletions > 0 ? ["delete"] : [])])
        if (!(await mayDo(client, kind, verb))) lacking.push(`these credentials may not ${verb} ${kind.plural}`)
  }
  for (const name of tally.namespaces) {
    const existing = await unlessMissing(client.get<ApiObject>(kinds.namespaces, { name }))
    if (existing !== undefined && existing.metadata.labels?.[replayLabel] !== replay)
      lacking.push(`it has a namespace ${name} that does not belong to this replay; choose another --namespace-prefix`)
  }
  for (const reference of tally.classes) {
    const [property = "", name = ""] = reference.split(" ")
    const kind = classKinds[property]
    if (kind === undefined || tally.created.has(name)) continue
    if ((await unlessMissing(client.get(kind, { name }))) === undefined)
      lacking.push(`it has no ${kind.gvk.kind} ${name}, which objects of the trace name`)
  }
  return [...new Set(lacking)]
}

const unlessMissing = async <T>(answer: Promise<T>): Promise<T | undefined> => {
  try {
    return await answer
  } catch (error) {
    if (error instanceof NotFoundError) return undefined
    throw error
  }
}

const reviews: Kind = {
  gvk: { group: "authorization.k8s.io", version: "v1", kind: "SelfSubjectAccessReview" },
  plural: "selfsubjectaccessreviews",
  namespaced: false,
}

const mayDo = async (client: ApiClient, { gvk, plural }: Kind, verb: string): Promise<boolean> => {
  const review = {
    apiVersion: "authorization.k8s.io/v1",
    kind: "SelfSubjectAccessReview",
    metadata: { name: "" },
    spec: { resourceAttributes: { group: gvk.group, resource: plural, verb } },
  }
  const { status } = await client.create<ApiObject>(reviews, review, { isRepeatable: true })
  return (status as { readonly allowed?: boolean } | undefined)?.allowed === true
}
