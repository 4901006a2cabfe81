/**
 * The rules for what counts as a change of an object, as a small tree, compiled once per kind. A pointer into an
 * array names elements by their index. A pointer outside what `detect` covers, or below an ignored one, changes
 * nothing.
 */

import * as Schema from "effect/Schema"
import { parseJsonPointer } from "../../json-pointer.ts"
import { formatGvk, type GroupVersionKind } from "../../kinds/gvk.ts"
import { hasStatus } from "../../statuses.ts"

/**
 * When an object counts as changed: `all`: at every new resourceVersion, or, where fields are ignored, when anything but those and the server's own
 * bookkeeping differs; `content`: as `all` with ignored fields, without its status; `spec`: when its `spec` differs (SimKube's rule).
 */
export type Detect = "all" | "content" | "spec"

/** An `ignore` entry is not a JSON pointer to a part of an object. */
export class InvalidPointerError extends Schema.TaggedError<InvalidPointerError>()("InvalidPointerError", {
  pointer: Schema.String,
}) {
  override get message() {
    return `"${this.pointer}" is not a JSON pointer to a part of an object: write for example /metadata/annotations/a~1b`
  }
}

/** One place on the path to something that is treated differently from its surroundings. */
export interface DetectNode {
  /** Whether this place counts, except where a child says otherwise. */
  readonly keep: boolean
  /** By member name, or by index for the elements of an array. */
  readonly children: ReadonlyMap<string, DetectNode>
}

export interface DetectRules {
  /** The only kind whose objects belong in the stream. */
  readonly gvk: GroupVersionKind
  readonly detect: Detect
  /** Every new resourceVersion is a change: there is nothing to compare. */
  readonly countsAll: boolean
  /** The object itself. */
  readonly root: DetectNode
}

interface GrowingNode {
  keep: boolean
  children: Map<string, GrowingNode>
}

const node = (keep: boolean): GrowingNode => ({ keep, children: new Map() })

const ignorePlace = (root: GrowingNode, tokens: ReadonlyArray<string>): void => {
  let at = root
  for (const [index, token] of tokens.entries()) {
    let child = at.children.get(token)
    if (child === undefined) {
      if (!at.keep) return
      child = node(true)
      at.children.set(token, child)
    }
    if (index === tokens.length - 1) {
      child.keep = false
      child.children.clear()
    }
    at = child
  }
}

/**
 * The server's own bookkeeping, which is not compared for any kind. It includes `apiVersion` and `kind`, because items are scanned as lists have them, with
 * neither, and an object must look the same in a list and in a watch, also next to older recordings.
 */
const bookkeeping: ReadonlyArray<ReadonlyArray<string>> = [
  ["apiVersion"],
  ["kind"],
  ["metadata", "resourceVersion"],
  ["metadata", "generation"],
  ["metadata", "managedFields"],
]

/** SimKube removes `nodeName` from tracked Pods before it compares them: scheduling does not count as a change of the Pod. */
const notSpec: ReadonlyMap<string, ReadonlyArray<string>> = new Map([["v1.Pod", ["spec", "nodeName"]]])

/**
 * @param options.ignore JSON pointers that never count, in addition to what `detect` leaves out
 * @throws InvalidPointerError naming the first entry of `ignore` that is not a valid pointer
 */
export const compileDetectRules = (options: {
  readonly detect: Detect
  readonly ignore: ReadonlyArray<string>
  readonly gvk: GroupVersionKind
}): DetectRules => {
  const countsAll = options.detect === "all" && options.ignore.length === 0
  const root = node(!countsAll && options.detect !== "spec")
  for (const tokens of bookkeeping) ignorePlace(root, tokens)
  if (options.detect === "content") ignorePlace(root, ["status"])
  if (options.detect === "spec") {
    root.children.set("spec", node(true))
    const place = notSpec.get(formatGvk(options.gvk))
    if (place !== undefined) ignorePlace(root, place)
  }
  for (const pointer of options.ignore) {
    const tokens = parseJsonPointer(pointer)
    if (tokens === undefined) throw new InvalidPointerError({ pointer })
    ignorePlace(root, tokens)
  }
  return { gvk: options.gvk, detect: options.detect, countsAll, root }
}

/** `all` for kinds that can have a status: readiness in the past would be wrong without it. `content` for the others. */
export const defaultDetect = (gvk: GroupVersionKind): Detect => (hasStatus(gvk) ? "all" : "content")

/** Members of any kind that only signal liveness or repeat the status, and are rewritten every few seconds. */
const noise: ReadonlyArray<string> = [
  // Leader election on Endpoints, ConfigMaps and PersistentVolumeClaims (client-go's resource locks before Leases, and
  // its ports to other languages): a JSON record whose renewTime the leader rewrites every retry period, 2 s by default
  // (kubernetes/kubernetes#34627 and #41635 report the load on watchers). Argo CD's default list has it too.
  "/metadata/annotations/control-plane.alpha.kubernetes.io~1leader",
  // cluster-autoscaler stamps its ConfigMap cluster-autoscaler-status at every scan, 10 s by default (ConfigMapLastUpdatedKey in its
  // clusterstate/utils/status.go). The text under data.status contains the time as well; to track that ConfigMap, ignore /data/status,
  // which is not a default because other ConfigMaps have such a key.
  "/metadata/annotations/cluster-autoscaler.kubernetes.io~1last-updated",
  // autoscaling/v1 has no fields for these parts of a HorizontalPodAutoscaler's status, so the API server writes them as annotations on
  // output (MetricStatusesAnnotation and HorizontalPodAutoscalerConditionsAnnotation in kubernetes/pkg/apis/autoscaling/annotations.go). In
  // autoscaling/v2 they are status, which `content` leaves out as well.
  "/metadata/annotations/autoscaling.alpha.kubernetes.io~1current-metrics",
  "/metadata/annotations/autoscaling.alpha.kubernetes.io~1conditions",
]

/** Kinds of coordination.k8s.io whose spec contains a sign of life. */
const signsOfLife: ReadonlyMap<string, ReadonlyArray<string>> = new Map([
  // Every holder renews its Lease every 2 s, every kubelet its node's Lease in kube-node-lease every 10 s.
  ["Lease", ["/spec/renewTime"]],
  // The coordinator pings a candidate in pingTime; the candidate responds in renewTime (LeaseCandidateSpec).
  ["LeaseCandidate", ["/spec/pingTime", "/spec/renewTime"]],
])

/**
 * JSON pointers that never count unless configured otherwise: leader election and autoscaler noise, which would make a quiet cluster look
 * busy for ever. None with `all`, which means every version.
 */
export const defaultIgnore = (gvk: GroupVersionKind, detect: Detect): ReadonlyArray<string> =>
  detect === "all" ? [] : gvk.group === "coordination.k8s.io" ? [...noise, ...(signsOfLife.get(gvk.kind) ?? [])] : noise
