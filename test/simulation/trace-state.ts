/**
 * What a cluster has to contain when a trace was replayed until a moment: computed from the changes and from what docs/guides/replay.md
 * promises, with none of the code that replays.
 */
import { type ApiClient, type ApiObject, type Kind, NotFoundError, ResourceFinder } from "../../src/kube/index.ts"
import { parseGvk } from "../../src/kube/offline.ts"
import type { TraceItem } from "../../src/trace/index.ts"

/** An object of a trace, in its last state. */
interface TraceObject {
  readonly gvk: string
  readonly namespace: string
  readonly name: string
  readonly object: Members
}

type Members = { readonly [name: string]: unknown }

interface Reference {
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
  readonly uid?: string
  readonly controller?: boolean
}

interface Metadata {
  readonly labels?: Members
  readonly annotations?: Members
  readonly ownerReferences?: ReadonlyArray<Reference>
}

export type TraceState = ReadonlyMap<string, TraceObject>

/** The objects that exist just before a moment (µs since the Unix epoch), by kind, namespace and name. Default: at the end. */
export const stateAt = (items: Iterable<TraceItem>, moment = Number.POSITIVE_INFINITY): TraceState => {
  const state = new Map<string, TraceObject>()
  for (const item of items) {
    if (item.type !== "event" || item.event.type !== "object") continue
    const { time, action, gvk, namespace, name, object } = item.event
    if (!item.isSnapshot && time >= moment) continue
    const key = `${gvk} ${namespace}/${name}`
    if (action === "applied")
      state.set(key, { gvk, namespace, name, object: JSON.parse(Buffer.from(object).toString()) })
    else state.delete(key)
  }
  return state
}

/** Kinds that stay behind with the recorded cluster. */
const neverReplayed = new Set(["v1.Node", "v1.PersistentVolume", "coordination.k8s.io/v1.Lease"])

const prefix = "virtual"

/**
 * How the target differs from the state: `apps/v1.Deployment virtual-shop/web: /spec/replicas is 2, not 3`. Empty if every object is there
 * with every value of the trace, belongs to its owners, and nothing else has the replay's label.
 *
 * @param kindsOfTrace kinds whose objects create others
 */
export const differences = async (
  client: ApiClient,
  state: TraceState,
  kindsOfTrace: ReadonlySet<string>,
): Promise<ReadonlyArray<string>> => {
  const finder = new ResourceFinder(client.connection)
  const wrong: string[] = []
  const kindOf = async (gvk: string): Promise<Kind> => {
    const parsed = parseGvk(gvk)
    if (parsed === undefined) throw new Error(`${gvk} is no GVK`)
    return finder.find(parsed)
  }
  const expected = [...state.values()].filter((each) => isReplayed(each, kindsOfTrace))
  const uids = new Map<string, string>()
  const found = new Map<string, ApiObject>()
  for (const each of expected) {
    const place = placeOf(each)
    const actual = await client.get<ApiObject>(await kindOf(each.gvk), place).catch((error: unknown) => {
      if (error instanceof NotFoundError) return undefined
      throw error
    })
    const title = `${each.gvk} ${place.namespace}/${place.name}`
    if (actual === undefined) wrong.push(`${title} is missing`)
    else {
      found.set(title, actual)
      uids.set(`${each.gvk} ${each.namespace}/${each.name}`, actual.metadata.uid ?? "")
    }
  }
  for (const each of expected) {
    const title = `${each.gvk} ${placeOf(each).namespace}/${placeOf(each).name}`
    const actual = found.get(title)
    if (actual === undefined) continue
    const { metadata = {}, status: _status, ...content } = each.object
    const { labels = {}, annotations = {}, ownerReferences = [] } = metadata as Metadata
    const wanted = renamed({ metadata: { labels, annotations }, ...content }, each.gvk, state) as Members
    wrong.push(...lacking(wanted, actual, "").map((problem) => `${title}: ${problem}`))
    wrong.push(...wrongOwners(each, ownerReferences, actual, uids).map((problem) => `${title}: ${problem}`))
  }
  for (const gvk of new Set([...kindsOfTrace, ...[...state.values()].map((each) => each.gvk)])) {
    // A kind whose definition is not there has no objects.
    const kind = await kindOf(gvk).catch(() => undefined)
    if (kind === undefined) continue
    const { items } = await client.list<ApiObject>(kind, { labelSelector: "kubereel.dev/replay" })
    for (const { metadata } of items) {
      const title = `${gvk} ${metadata.namespace ?? ""}/${metadata.name}`
      // The root, and namespaces that the trace does not describe.
      if (!found.has(title) && gvk !== "v1.Namespace") wrong.push(`${title} is not in the trace`)
    }
  }
  return wrong
}

const isReplayed = ({ gvk, object }: TraceObject, kindsOfTrace: ReadonlySet<string>): boolean => {
  const { ownerReferences = [] } = (object.metadata ?? {}) as Metadata
  const creator = ownerReferences.find(({ controller }) => controller === true)
  return !neverReplayed.has(gvk) && !(creator && kindsOfTrace.has(`${creator.apiVersion}.${creator.kind}`))
}

const placeOf = ({ gvk, namespace, name }: Pick<TraceObject, "gvk" | "namespace" | "name">) => {
  if (namespace !== "") return { namespace: `${prefix}-${namespace}`, name }
  return { namespace: "", name: gvk.endsWith(".CustomResourceDefinition") ? name : `${prefix}-${name}` }
}

/** References to what has another name in the target. */
const renamed = (object: Members, gvk: string, state: TraceState): unknown => {
  const visit = (value: unknown, key: string): unknown => {
    if (key === "priorityClassName" && state.has(`scheduling.k8s.io/v1.PriorityClass /${String(value)}`))
      return `${prefix}-${String(value)}`
    if (Array.isArray(value)) return value.map((element) => visit(element, ""))
    if (typeof value !== "object" || value === null) return value
    const copy: Record<string, unknown> = {}
    for (const [name, member] of Object.entries(value)) {
      const isSubject = gvk.endsWith("Binding") && name === "namespace"
      const isRole = gvk.endsWith("Binding") && key === "roleRef" && name === "name"
      copy[name] = isSubject || isRole ? `${prefix}-${String(member)}` : visit(member, name)
    }
    return copy
  }
  return visit(object, "")
}

/** Values of `expected` that `actual` does not have. Servers and the replay may add members, and tolerations. */
const lacking = (expected: unknown, actual: unknown, path: string): ReadonlyArray<string> => {
  // Ports of a container would be taken on the node.
  if (/\/(?:initContainers|containers)\/\d+\/ports$/.test(path)) return []
  if (Array.isArray(expected) && Array.isArray(actual)) {
    const isLonger = actual.length > expected.length && !path.endsWith("/tolerations")
    const problems = expected.flatMap((element, index) => lacking(element, actual[index], `${path}/${index}`))
    return isLonger ? [...problems, `${path} has ${actual.length} elements, not ${expected.length}`] : problems
  }
  if (typeof expected === "object" && expected !== null) {
    const members = typeof actual === "object" && actual !== null ? (actual as Members) : {}
    return Object.entries(expected).flatMap(([name, value]) => lacking(value, members[name], `${path}/${name}`))
  }
  return withoutSuffix(expected) === withoutSuffix(actual) || expected === null
    ? []
    : [`${path} is ${JSON.stringify(actual)}, not ${JSON.stringify(expected)}`]
}

/** Admission names the volume of a pod's token anew. */
const withoutSuffix = (value: unknown): unknown =>
  typeof value === "string" ? value.replace(/^(kube-api-access-)[a-z0-9]{5}$/, "$1") : value

/** Owners that are replayed have the UIDs that the target gave them; the others are left out. */
const wrongOwners = (
  { namespace }: TraceObject,
  references: ReadonlyArray<Reference>,
  { metadata }: ApiObject,
  uids: ReadonlyMap<string, string>,
): ReadonlyArray<string> => {
  const wanted = references.flatMap(({ apiVersion, kind, name }) => {
    const gvk = `${apiVersion}.${kind}`
    const own = uids.get(`${gvk} ${namespace}/${name}`)
    const uid = own ?? uids.get(`${gvk} /${name}`)
    if (uid === undefined) return []
    return [`${kind} ${placeOf({ gvk, namespace: own === undefined ? "" : namespace, name }).name} ${uid}`]
  })
  const actual = (metadata.ownerReferences ?? [])
    .filter(({ name }) => !name.startsWith("kubereel-replay-"))
    .map(({ kind, name, uid }) => `${kind} ${name} ${uid}`)
  return wanted.toSorted().join() === actual.toSorted().join()
    ? []
    : [`its owners are [${actual.join()}], not [${wanted.join()}]`]
}
