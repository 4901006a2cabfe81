/**
 * HorizontalPodAutoscalers are stored as autoscaling/v2 and also served as v1, which has one target, the CPU
 * utilization in percent. v1 keeps everything else in annotations, from which it is restored when v1 is written.
 */
import { entries, list, member, number, text } from "../json-member.ts"
import type { JsonObject, StoredAs } from "../resources.ts"

const prefix = "autoscaling.alpha.kubernetes.io/"
const metricsKey = `${prefix}metrics`
const currentMetricsKey = `${prefix}current-metrics`
const conditionsKey = `${prefix}conditions`
const behaviorKey = `${prefix}behavior`
const ours: ReadonlySet<string> = new Set([metricsKey, currentMetricsKey, conditionsKey, behaviorKey])

/** The target of a v1 object that names none. */
const defaultUtilization = 80

const gvk = { group: "autoscaling", version: "v2", kind: "HorizontalPodAutoscaler" }

const isProcessor = (metric: unknown): boolean =>
  text(metric, "type") === "Resource" && text(metric, "resource", "name") === "cpu"

const processorTarget = (averageUtilization: unknown): JsonObject => ({
  type: "Resource",
  resource: { name: "cpu", target: { type: "Utilization", averageUtilization } },
})

const ownAnnotations = (object: unknown): ReadonlyArray<readonly [string, unknown]> =>
  entries(object, "metadata", "annotations").filter(([key]) => !ours.has(key))

/** The metadata with other annotations, sorted; without the member when there are none. */
const annotated = (object: JsonObject, annotations: ReadonlyArray<readonly [string, unknown]>): JsonObject => {
  const metadata = Object.fromEntries(entries(object, "metadata"))
  const sorted = annotations.toSorted(([left], [right]) => (left < right ? -1 : 1))
  const { annotations: _annotations, ...rest } = metadata
  return sorted.length === 0 ? rest : { ...metadata, annotations: Object.fromEntries(sorted) }
}

const utilizationOf = (metrics: ReadonlyArray<unknown>, side: "target" | "current"): unknown =>
  metrics.filter(isProcessor).map((metric) => member(metric, "resource", side, "averageUtilization"))[0]

const fromStored = (object: JsonObject): JsonObject => {
  const metrics = list(object, "spec", "metrics")
  const others = metrics.filter(
    (metric) => !isProcessor(metric) || member(metric, "resource", "target", "averageUtilization") === undefined,
  )
  const current = list(object, "status", "currentMetrics")
  const conditions = list(object, "status", "conditions")
  const behavior = member(object, "spec", "behavior")
  const added: Array<readonly [string, unknown]> = []
  if (others.length > 0) added.push([metricsKey, JSON.stringify(others.map(metricToV1("target")))])
  if (current.length > 0) added.push([currentMetricsKey, JSON.stringify(current.map(metricToV1("current")))])
  if (behavior !== undefined) added.push([behaviorKey, JSON.stringify(behaviorToV1(behavior))])
  if (conditions.length > 0) added.push([conditionsKey, JSON.stringify(conditions)])
  return {
    kind: gvk.kind,
    apiVersion: "autoscaling/v1",
    metadata: annotated(object, [...ownAnnotations(object), ...added]),
    spec: defined({
      scaleTargetRef: member(object, "spec", "scaleTargetRef"),
      minReplicas: member(object, "spec", "minReplicas"),
      maxReplicas: member(object, "spec", "maxReplicas"),
      targetCPUUtilizationPercentage: utilizationOf(metrics, "target"),
    }),
    status: defined({
      observedGeneration: member(object, "status", "observedGeneration"),
      lastScaleTime: member(object, "status", "lastScaleTime"),
      currentReplicas: number(object, "status", "currentReplicas"),
      desiredReplicas: number(object, "status", "desiredReplicas"),
      currentCPUUtilizationPercentage: utilizationOf(current, "current"),
    }),
  }
}

const toStored = (object: JsonObject): JsonObject => {
  const target = member(object, "spec", "targetCPUUtilizationPercentage")
  const others = annotation(object, metricsKey)
  const metrics = [
    ...(Array.isArray(others) ? others.map(metricToV2("target")) : []),
    ...(target === undefined ? [] : [processorTarget(target)]),
  ]
  const behavior = annotation(object, behaviorKey)
  const conditions = annotation(object, conditionsKey)
  const currentReplicas = number(object, "status", "currentReplicas")
  return {
    kind: gvk.kind,
    apiVersion: "autoscaling/v2",
    metadata: annotated(object, ownAnnotations(object)),
    spec: defined({
      scaleTargetRef: member(object, "spec", "scaleTargetRef"),
      minReplicas: member(object, "spec", "minReplicas"),
      maxReplicas: member(object, "spec", "maxReplicas"),
      metrics: metrics.length === 0 ? [processorTarget(defaultUtilization)] : metrics,
      behavior: behavior === undefined ? undefined : behaviorToV2(behavior),
    }),
    status: defined({
      observedGeneration: member(object, "status", "observedGeneration"),
      lastScaleTime: member(object, "status", "lastScaleTime"),
      currentReplicas: currentReplicas === 0 ? undefined : currentReplicas,
      desiredReplicas: number(object, "status", "desiredReplicas"),
      currentMetrics: currentMetricsOf(object),
      conditions: Array.isArray(conditions) ? conditions : undefined,
    }),
  }
}

/** The annotation holds more than the one number. */
const currentMetricsOf = (object: JsonObject): unknown => {
  const metrics = annotation(object, currentMetricsKey)
  if (Array.isArray(metrics)) return metrics.map(metricToV2("current"))
  const averageUtilization = member(object, "status", "currentCPUUtilizationPercentage")
  if (averageUtilization === undefined) return null
  return [{ type: "Resource", resource: { name: "cpu", current: { averageUtilization } } }]
}

/** An annotation's JSON; `undefined` when absent or not JSON, which the server ignores. */
const annotation = (object: JsonObject, key: string): unknown => {
  const json = text(object, "metadata", "annotations", key)
  if (json === "") return undefined
  try {
    return JSON.parse(json)
  } catch {
    // Not written by the server: treated as absent.
    return undefined
  }
}

const renamed = (value: unknown, rename: (key: string) => string): unknown => {
  if (Array.isArray(value)) return value.map((item) => renamed(item, rename))
  if (value === null || typeof value !== "object") return value
  const members = Object.entries(value).filter(([, item]) => item !== null)
  return Object.fromEntries(members.map(([key, item]) => [rename(key), renamed(item, rename)]))
}

/** The only annotation with Go's own field names and nulls. */
const behaviorToV1 = (behavior: unknown): JsonObject => {
  const rules = (key: string): unknown => {
    const found = member(behavior, key)
    if (found === undefined) return null
    return {
      StabilizationWindowSeconds: member(found, "stabilizationWindowSeconds") ?? null,
      SelectPolicy: member(found, "selectPolicy") ?? null,
      Policies: renamed(member(found, "policies") ?? null, (name) => name.slice(0, 1).toUpperCase() + name.slice(1)),
      Tolerance: member(found, "tolerance") ?? null,
    }
  }
  return { ScaleUp: rules("scaleUp"), ScaleDown: rules("scaleDown") }
}

const behaviorToV2 = (behavior: unknown): unknown =>
  renamed(behavior, (name) => name.slice(0, 1).toLowerCase() + name.slice(1))

export const storedAsNewAutoscaler: StoredAs = { gvk, toStored, fromStored }

// Metrics of autoscalers as v1 writes them, in annotations. `@` in a name of the table below is `target` in a specification and
// `current` in a status.

/** A member of v1, its path in v2, and where v1 writes `0` for an absent one. */
type MetricMember = readonly [v1: string, v2: string, zero?: "always" | "current"]

const resourceMembers: ReadonlyArray<MetricMember> = [
  ["name", "name"],
  ["@AverageUtilization", "@.averageUtilization"],
  ["@AverageValue", "@.averageValue", "current"],
  ["container", "container"],
]

/** By type: the member that describes it, and what that holds, in the order of the Go structs of v1. */
const metricTypes = new Map<string, readonly [member: string, members: ReadonlyArray<MetricMember>]>([
  ["Resource", ["resource", resourceMembers]],
  ["ContainerResource", ["containerResource", resourceMembers]],
  [
    "Object",
    [
      "object",
      [
        ["target", "describedObject"],
        ["metricName", "metric.name"],
        ["@Value", "@.value", "always"],
        ["selector", "metric.selector"],
        ["averageValue", "@.averageValue"],
      ],
    ],
  ],
  [
    "Pods",
    [
      "pods",
      [
        ["metricName", "metric.name"],
        ["@AverageValue", "@.averageValue", "always"],
        ["selector", "metric.selector"],
      ],
    ],
  ],
  [
    "External",
    [
      "external",
      [
        ["metricName", "metric.name"],
        ["metricSelector", "metric.selector"],
        ["@Value", "@.value", "current"],
        ["@AverageValue", "@.averageValue"],
      ],
    ],
  ],
])

type Side = "target" | "current"

const metricToV1 =
  (side: Side) =>
  (metric: unknown): JsonObject => {
    const type = text(metric, "type")
    const [key, members] = metricTypes.get(type) ?? []
    if (key === undefined || members === undefined) return { type }
    const values = members.map(([v1, v2, zero]) => {
      const value = member(metric, key, ...v2.replace("@", side).split("."))
      return [v1.replace("@", side), value ?? (zero === "always" || zero === side ? "0" : undefined)]
    })
    return { type, [key]: defined(Object.fromEntries(values)) }
  }

const metricToV2 =
  (side: Side) =>
  (metric: unknown): JsonObject => {
    const type = text(metric, "type")
    const [key, members] = metricTypes.get(type) ?? []
    if (key === undefined || members === undefined) return { type }
    const described: Record<string, unknown> = {}
    const amounts: Record<string, unknown> = {}
    const identifier: Record<string, unknown> = {}
    for (const [v1, v2] of members) {
      const value = member(metric, key, v1.replace("@", side))
      const [first = "", second] = v2.split(".")
      if (value === undefined) continue
      if (second === undefined) described[first] = value
      else if (first === "@") amounts[second] = value
      else identifier[second] = value
    }
    const shown = side === "target" ? { type: targetType(type, amounts), ...amounts } : amounts
    const isResource = members === resourceMembers
    return { type, [key]: { ...described, ...(!isResource && { metric: identifier }), [side]: shown } }
  }

const targetType = (type: string, { value, averageValue, averageUtilization }: JsonObject): string => {
  if (averageUtilization !== undefined) return "Utilization"
  const isAverage = type === "Object" ? averageValue !== undefined : value === undefined
  return isAverage ? "AverageValue" : "Value"
}

/** Without the members that are undefined. */
const defined = (members: Readonly<Record<string, unknown>>): JsonObject =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined))
