/**
 * The pod templates inside an object: pods go to virtual nodes, tolerate their taint, say which namespace they were
 * recorded in, and expose no ports of a node (docs/facts/simkube.md). Existing selectors and tolerations are kept
 * (W-45).
 */
import {
  changedAt,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  pathOf,
  withMember,
  withoutMember,
} from "../../trace/index.ts"

/** Key of the taint of virtual nodes, as kwok's and SimKube's have it. */
export const virtualNodeTaint = "kwok-provider"

/** What pods of a replay need in order to be scheduled onto virtual nodes. */
export interface Placement {
  /** Added to `nodeSelector`, replacing a value of the same key. SimKube's nodes: `type: virtual`. */
  readonly nodeSelector: Readonly<Record<string, string>>
  /** Key of the taint of virtual nodes, tolerated with effect NoSchedule; `undefined`: none. Usually {@link virtualNodeTaint}. */
  readonly taintKey: string | undefined
}

/** Changes in the templates of one object. */
export interface TemplateChange {
  /** The namespace in the trace. */
  readonly originalNamespace: string
  readonly placement: Placement
  /** Called with each pod spec, for references to objects that have other names in the target. */
  readonly renamed: (spec: JsonObject) => JsonObject
}

/** Annotation of templates and of bare pods: the namespace in the trace, which the prefix may hide. */
export const originalNamespaceAnnotation = "static.simkube.io/original-namespace"

/**
 * The object with its templates changed. `paths`: extended JSON pointers, in which `*` is every element of an array.
 */
export const placePods = (object: JsonObject, paths: ReadonlyArray<string>, change: TemplateChange): JsonObject => {
  let placed: JsonValue = object
  for (const path of paths) placed = changedAt(placed, pathOf(path), (template) => placeTemplate(template, change))
  return isJsonObject(placed) ? placed : object
}

const placeTemplate = (template: JsonObject, { originalNamespace, placement, renamed }: TemplateChange): JsonObject => {
  const spec = template.spec
  if (!isJsonObject(spec)) return template
  const metadata = isJsonObject(template.metadata) ? template.metadata : {}
  const annotations = isJsonObject(metadata.annotations) ? metadata.annotations : {}
  const annotated = withMember(
    metadata,
    "annotations",
    withMember(annotations, originalNamespaceAnnotation, originalNamespace),
  )
  return withMember(withMember(template, "metadata", annotated), "spec", placeSpec(renamed(spec), placement))
}

const placeSpec = (spec: JsonObject, { nodeSelector, taintKey }: Placement): JsonObject => {
  let placed = spec
  const selector = isJsonObject(spec.nodeSelector) ? spec.nodeSelector : {}
  if (Object.keys(nodeSelector).length > 0)
    placed = withMember(placed, "nodeSelector", { ...selector, ...nodeSelector })
  const tolerations = listIn(spec.tolerations)
  if (taintKey !== undefined && !tolerations.some((each) => isJsonObject(each) && each.key === taintKey))
    placed = withMember(placed, "tolerations", [
      ...tolerations,
      { key: taintKey, operator: "Exists", effect: "NoSchedule" },
    ])
  for (const key of ["containers", "initContainers"]) {
    const containers = spec[key]
    if (Array.isArray(containers)) placed = withMember(placed, key, listIn(containers).map(withoutPorts))
  }
  return placed
}

/** The elements of a list; none of anything else. */
export const listIn = (value: JsonValue | undefined): ReadonlyArray<JsonValue> => (Array.isArray(value) ? value : [])

const withoutPorts = (container: JsonValue): JsonValue =>
  isJsonObject(container) ? withoutMember(container, "ports") : container
