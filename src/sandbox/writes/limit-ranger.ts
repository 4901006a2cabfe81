/**
 * The admission plug-in LimitRanger of Kubernetes 1.34.4: the defaults of a namespace's LimitRanges for the containers
 * of a new Pod, and the limits that Pods and claims must keep. Its texts are the real server's.
 */
import type { Resource } from "../../apiserver/index.ts"
import { canonicalQuantity, formatGvk, quantityOf } from "../../kube/offline.ts"
import { child, ensured, items, text } from "../rules/fields.ts"
import type { Fields, MutableObject } from "../rules/kind-rules.ts"
import { stateOf } from "../store/object-encoding.ts"
import { refuse } from "../store/refusal.ts"
import { type Amounts, limitsOfPod, requestsOfPod } from "./quotas.ts"
import { forbiddenObject } from "./request/write-failures.ts"
import type { WriteSurroundings } from "./surroundings.ts"

const limitRangeKind = "v1.LimitRange"

/** The limits of all LimitRanges of a namespace. */
const limitsIn = ({ store }: WriteSurroundings, namespace: string): ReadonlyArray<Fields> => {
  const { live } = store.collection(limitRangeKind)
  if (live.size === 0) return []
  return [...live.values()]
    .filter(({ change }) => change.namespace === namespace)
    .flatMap(({ change }) => items(child(stateOf(change), "spec"), "limits"))
}

/** Fills in the defaults of a new Pod's containers, and says so in an annotation. */
export const applyLimitDefaults = (around: WriteSurroundings, resource: Resource, object: MutableObject): void => {
  if (formatGvk(resource.gvk) !== "v1.Pod") return
  const limits = limitsIn(around, text(object.metadata, "namespace")).filter(({ type }) => type === "Container")
  if (limits.length === 0) return
  const defaults: Defaults = {
    requests: Object.assign({}, ...limits.map((limit) => child(limit, "defaultRequest"))),
    limits: Object.assign({}, ...limits.map((limit) => child(limit, "default"))),
  }
  const spec = ensured(object, "spec")
  const said = [
    ...items(spec, "containers").flatMap((container) => fillContainer(container, "container", defaults)),
    ...items(spec, "initContainers").flatMap((container) => fillContainer(container, "init container", defaults)),
  ]
  if (said.length === 0) return
  ensured(object.metadata, "annotations")["kubernetes.io/limit-ranger"] = `LimitRanger plugin set: ${said.join("; ")}`
}

type Defaults = Readonly<Record<"requests" | "limits", Fields>>

const fillContainer = (container: Fields, what: string, defaults: Defaults): ReadonlyArray<string> =>
  (["requests", "limits"] as const).flatMap((member) => {
    const amounts = child(child(container, "resources"), member)
    const missing = Object.keys(defaults[member]).filter((name) => amounts?.[name] === undefined)
    if (missing.length === 0) return []
    const filled = ensured(ensured(container, "resources"), member)
    for (const name of missing) filled[name] = defaults[member][name]
    return [`${missing.sort().join(", ")} ${member.slice(0, -1)} for ${what} ${text(container, "name")}`]
  })

/** Throws Refusal: 403 for a Pod or a claim that breaks a limit. */
export const confirmLimits = (around: WriteSurroundings, resource: Resource, object: MutableObject): void => {
  const gvk = formatGvk(resource.gvk)
  if (gvk !== "v1.Pod" && gvk !== "v1.PersistentVolumeClaim") return
  const limits = limitsIn(around, text(object.metadata, "namespace"))
  const problems = limits.flatMap((limit) =>
    gvk === "v1.Pod" ? podProblems(limit, object) : claimProblems(limit, object),
  )
  if (problems.length === 0) return
  const said = problems.length === 1 ? String(problems[0]) : `[${problems.join(", ")}]`
  refuse(forbiddenObject(resource, text(object.metadata, "name"), said))
}

const podProblems = (limit: Fields, pod: MutableObject): ReadonlyArray<string> => {
  const spec = child(pod, "spec")
  switch (limit.type) {
    case "Container":
      return [...items(spec, "containers"), ...items(spec, "initContainers")].flatMap((container) => {
        const resources = child(container, "resources")
        return broken(limit, child(resources, "requests") ?? {}, child(resources, "limits") ?? {})
      })
    case "Pod":
      return broken(limit, requestsOfPod(spec), limitsOfPod(spec))
    default:
      return []
  }
}

const claimProblems = (limit: Fields, claim: MutableObject): ReadonlyArray<string> => {
  if (limit.type !== "PersistentVolumeClaim") return []
  const requests = child(child(child(claim, "spec"), "resources"), "requests") ?? {}
  return bounds(limit, "min", "max").flatMap(([name, bound, kind]) => {
    const requested = quantityOf(requests[name])
    const { word, isBroken } = kind === "min" ? minimum : maximum
    if (requested !== undefined && !isBroken(requested, quantityOf(bound) ?? 0)) return []
    const usage = `${word} ${name} usage per PersistentVolumeClaim is ${shown(bound)}`
    return [
      requested === undefined
        ? `${usage}.  No request is specified`
        : `${usage}, but request is ${shown(requests[name])}`,
    ]
  })
}

const minimum = { word: "minimum", isBroken: (value: number, bound: number): boolean => value < bound }
const maximum = { word: "maximum", isBroken: (value: number, bound: number): boolean => value > bound }

type Bound = "min" | "max" | "maxLimitRequestRatio"

/** Every bound of a limit: its resource, its amount and its kind. */
const bounds = (limit: Fields, ...kinds: ReadonlyArray<Bound>): ReadonlyArray<readonly [string, unknown, Bound]> =>
  kinds.flatMap((kind) =>
    Object.entries(child(limit, kind) ?? {})
      .sort(([left], [right]) => (left < right ? -1 : 1))
      .map(([name, bound]) => [name, bound, kind] as const),
  )

const broken = (limit: Fields, requests: Amounts, limits: Amounts): ReadonlyArray<string> =>
  bounds(limit, "min", "max", "maxLimitRequestRatio").flatMap(([name, bound, kind]) => {
    const [request, most, enforced] = [quantityOf(requests[name]), quantityOf(limits[name]), quantityOf(bound) ?? 0]
    const per = `per ${text(limit, "type")} is ${shown(bound)}`
    if (kind === "maxLimitRequestRatio") {
      const usage = `${name} max limit to request ratio ${per}`
      if (!request) return [`${usage}, but no request is specified or request is 0`]
      if (!most) return [`${usage}, but no limit is specified or limit is 0`]
      return most / request > enforced ? [`${usage}, but provided ratio is ${(most / request).toFixed(6)}`] : []
    }
    const { word, isBroken } = kind === "min" ? minimum : maximum
    const usage = `${word} ${name} usage ${per}`
    // A minimum is about what is requested, a maximum about what is used at most; the other amount must not contradict
    // it.
    const [needed, first, second] =
      kind === "min" ? (["request", request, most] as const) : (["limit", most, request] as const)
    const other = kind === "min" ? "limit" : "request"
    if (first === undefined) return [`${usage}.  No ${needed} is specified`]
    const amounts = { request: requests[name], limit: limits[name] }
    if (isBroken(first, enforced)) return [`${usage}, but ${needed} is ${shown(amounts[needed])}`]
    return second !== undefined && isBroken(second, enforced)
      ? [`${usage}, but ${other} is ${shown(amounts[other])}`]
      : []
  })

const shown = (amount: unknown): string => String(canonicalQuantity(amount))
