/** What a replay would do, without doing it: reads the whole trace, counts, and asks the target what it lacks. */
import { type ApiClient, type ApiObject, type Kind, kinds, ResourceFinder, unlessNotFound } from "../../kube/index.ts"
import { parseGvk } from "../../kube/offline.ts"
import { isStatusSeeded, type SeededKinds } from "../objects/not-replayed.ts"
import { replayLabel } from "../objects/target-object.ts"
import type { OutcomeCounts, ReplayReport } from "../report/replay-report.ts"
import { webhookConfigurations } from "../webhook/pod-webhook.ts"
import type { ReplayOptions } from "./replay.ts"
import { RecordedCluster, refuseCluster, TargetLacks } from "./replay-root.ts"
import { type KindForecast, type ReplaySurvey, type SurveyOptions, surveyReplay } from "./replay-survey.ts"

// What a replay needs and the target does not have or not allow. Writes nothing but access reviews, which leave no trace in the target.

/** One sentence each. */
interface Lacking {
  /** Changes that need it are refused for certain. */
  readonly refused: ReadonlyArray<string>
  /** The same because of missing permissions. */
  readonly forbidden: ReadonlyArray<string>
  /** Objects are accepted, but will not work as recorded. */
  readonly unusable: ReadonlyArray<string>
}

/** What a replay does besides writing the objects of its trace. */
interface LackingOptions {
  /** Name of the replay. */
  readonly name: string
  /** Kinds whose objects get their recorded status at the start. Default: none. */
  readonly seededStatus?: SeededKinds
  /** Whether pods are to lead recorded lives. */
  readonly followsLives: boolean
}

/** Requests are sent at once, as many as the client allows. Rejects with the ApiError of one of them. */
const lackingIn = async (
  client: ApiClient,
  { tally, planner, hasLives }: Pick<ReplaySurvey, "tally" | "planner" | "hasLives">,
  { name: replay, seededStatus = new Set(), followsLives }: LackingOptions,
): Promise<Lacking> => {
  const finder = new ResourceFinder(client.connection)
  const needed = [...tally.kinds, { gvk: "v1.Namespace", deletions: 1, objects: 0 }]
  const ofKinds = needed.map(async ({ gvk, deletions, objects }): Promise<Partial<Lacking>> => {
    const parsed = parseGvk(gvk)
    const kind = parsed && (await unlessNotFound(finder.find(parsed)))
    // A definition in the trace will bring it.
    if (kind === undefined) return { refused: planner.defines(gvk) ? [] : [`it has no kind ${gvk}`] }
    const verbs = ["patch", "create", ...(deletions > 0 ? ["delete"] : [])]
    const mayDoThem = await Promise.all(verbs.map((verb) => mayDo(client, kind, verb)))
    const denied = verbs.filter((_, index) => mayDoThem[index] === false).map((verb) => `${verb} ${kind.plural}`)
    if (objects > 0 && isStatusSeeded(gvk, seededStatus) && !(await mayDo(client, kind, "patch", "status")))
      denied.push(`patch ${kind.plural}/status`)
    return { forbidden: denied.map((what) => `these credentials may not ${what}`) }
  })
  const ofWebhook = async (): Promise<Partial<Lacking>> => {
    if (!followsLives || !hasLives) return {}
    const mayDoThem = await Promise.all(webhookVerbs.map((verb) => mayDo(client, webhookConfigurations, verb)))
    const denied = webhookVerbs.filter((_, index) => mayDoThem[index] === false)
    if (denied.length === 0) return {}
    const what = `these credentials may not ${denied.join(", ")} ${webhookConfigurations.plural}`
    return { unusable: [denied.includes("create") ? `pods will live as it decides: ${what}` : what] }
  }
  const ofNamespaces = [...tally.namespaces].map(async (name): Promise<Partial<Lacking>> => {
    const existing = await unlessNotFound(client.get<ApiObject>(kinds.namespaces, { name }))
    const isOwn = existing === undefined || existing.metadata.labels?.[replayLabel] === replay
    const message = `it has a namespace ${name} that does not belong to this replay; choose another --namespace-prefix`
    return { refused: isOwn ? [] : [message] }
  })
  const ofClasses = [...tally.classes].map(async (reference): Promise<Partial<Lacking>> => {
    const [property = "", name = ""] = reference.split(" ")
    const kind = classKinds[property]
    if (kind === undefined || tally.created.has(name)) return {}
    const isThere = (await unlessNotFound(client.get(kind, { name }))) !== undefined
    return { unusable: isThere ? [] : [`it has no ${kind.gvk.kind} ${name}, which objects of the trace name`] }
  })
  const found = await Promise.all([...ofKinds, ...ofNamespaces, ...ofClasses, ofWebhook()])
  const all = (part: keyof Lacking): ReadonlyArray<string> => [...new Set(found.flatMap((each) => each[part] ?? []))]
  return { refused: [...tally.impossible, ...all("refused")], forbidden: all("forbidden"), unusable: all("unusable") }
}

/** Registered and removed. */
const webhookVerbs = ["create", "delete"]

const classKinds: Readonly<Record<string, Kind>> = {
  priorityClassName: classKind("scheduling.k8s.io", "PriorityClass", "priorityclasses"),
  storageClassName: classKind("storage.k8s.io", "StorageClass", "storageclasses"),
  ingressClassName: classKind("networking.k8s.io", "IngressClass", "ingressclasses"),
  runtimeClassName: classKind("node.k8s.io", "RuntimeClass", "runtimeclasses"),
}

function classKind(group: string, kind: string, plural: string): Kind {
  return { gvk: { group, version: "v1", kind }, plural, namespaced: false }
}

const reviews: Kind = {
  gvk: { group: "authorization.k8s.io", version: "v1", kind: "SelfSubjectAccessReview" },
  plural: "selfsubjectaccessreviews",
  namespaced: false,
}

const mayDo = async (
  client: ApiClient,
  { gvk, plural }: Kind,
  verb: string,
  subresource?: string,
): Promise<boolean> => {
  const review = {
    apiVersion: "authorization.k8s.io/v1",
    kind: "SelfSubjectAccessReview",
    metadata: { name: "" },
    spec: { resourceAttributes: { group: gvk.group, resource: plural, verb, subresource } },
  }
  const { status } = await client.create<ApiObject>(reviews, review, { isRepeatable: true })
  return (status as { readonly allowed?: boolean } | undefined)?.allowed === true
}

/** What `--dry-run` prints and writes as JSON. */
export interface ReplayForecast {
  readonly version: 1
  /** µs since the Unix epoch. */
  readonly trace: { readonly start: number; readonly end: number }
  /** ms that it takes at the requested speed; `null` at speed `max`. */
  readonly expectedMs: number | null
  readonly kinds: ReadonlyArray<KindForecast>
  readonly namespaces: ReadonlyArray<string>
  readonly gaps: number
  /** Kinds of which the trace says that it lacks something. */
  readonly incomplete: ReplayReport["incomplete"]
  readonly skipped: OutcomeCounts["skips"]
  /** For people: what may be different from what they expect, one sentence each. */
  readonly warnings: ReadonlyArray<string>
  /** One sentence for each thing that the target does not have or not allow. */
  readonly lacking: ReadonlyArray<string>
}

/** The options of the replay, as far as they decide what it would do. */
export type ForecastOptions = SurveyOptions &
  LackingOptions &
  Pick<ReplayOptions, "client" | "speed" | "intoRecordedCluster"> & {
    /** Makes the target serve custom kinds that the trace does not define, if it can. Default: it lacks them. */
    readonly serveKinds?: (kinds: ReadonlyMap<string, boolean>) => void
  }

/** Rejects with the error of the source, or with the ApiError of a request. */
export const forecastReplay = async (options: ForecastOptions): Promise<ReplayForecast> => {
  const { client, speed } = options
  const survey = await surveyReplay(options)
  const { header, start, end, gaps, tally, planner } = survey
  options.serveKinds?.(planner.undefinedKinds)
  const { refused, forbidden, unusable } = await lackingIn(client, survey, options)
  return {
    version: 1,
    trace: { start, end },
    expectedMs: speed === "max" ? null : (end - start) / 1000 / speed,
    kinds: tally.kinds,
    namespaces: [...tally.namespaces].toSorted(),
    gaps,
    incomplete: header?.incomplete ?? [],
    skipped: tally.skipped.skips,
    warnings: planner.warnings,
    lacking: [...(await wrongCluster(options, header?.clusterUid)), ...refused, ...forbidden, ...unusable],
  }
}

/** Rejects with TargetLacks if changes that were read will be refused for certain, and with the ApiError of a request. */
export const refuseLacking = async (
  client: ApiClient,
  survey: ReplaySurvey,
  options: LackingOptions,
): Promise<void> => {
  const { refused, forbidden } = await lackingIn(client, survey, options)
  if (refused.length + forbidden.length > 0) throw new TargetLacks({ refused, forbidden })
}

const wrongCluster = async (
  { client, intoRecordedCluster }: ForecastOptions,
  recorded: string | undefined,
): Promise<ReadonlyArray<string>> => {
  if (recorded === undefined || intoRecordedCluster) return []
  try {
    await refuseCluster(client, recorded)
    return []
  } catch (error) {
    if (error instanceof RecordedCluster)
      return ["it is the one that was recorded; --into-recorded-cluster allows that"]
    throw error
  }
}
