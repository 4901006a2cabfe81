/**
 * Who a pod of the target is in the terms of the trace: its owners there, and the hash that its spec had before the replay changed it.
 */

import { isRecord } from "../../is-record.ts"
import type { OwnerReference, Pod } from "../../kube/index.ts"
import {
  exitCodeAnnotation,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  podKind,
  restartsAnnotation,
  runTimeAnnotation,
  stablePodSpecHash,
  withMember,
  withoutMember,
} from "../../trace/index.ts"
import { listIn, type Placement } from "../objects/pod-templates.ts"
import { ownerKey } from "./recorded-lives.ts"

// Labels and annotations that say which recorded pod a pod of the replay follows; SimKube's, except for the replay's own label.

/** Decimal, unsigned 64 bits. */
export const stableHashAnnotation = "static.simkube.io/pod-spec-stable-hash"
/** Decimal: counts the pods of an owner with one hash, from 0. */
export const sequenceAnnotation = "static.simkube.io/pod-sequence-number"
/** The bare pod in the place of which this one was created. */
export const originalOwnerAnnotation = "static.simkube.io/original-owner"

const ofOneLife = new Set([
  runTimeAnnotation,
  exitCodeAnnotation,
  restartsAnnotation,
  stableHashAnnotation,
  sequenceAnnotation,
])

/** Whether it belongs to the life of one pod, and not to the one that is created in its place. */
export const isOfOneLife = (key: string): boolean => key.startsWith("simkube.io/kwok-stage-") || ofOneLife.has(key)

/** How the replay changes names and specs. */
export interface IdentityOptions {
  readonly namespacePrefix: string
  readonly placement: Placement
}

/** A controller, as an owner reference names it. */
type PodController = Pick<OwnerReference, "apiVersion" | "kind" | "name">

/** Empty if the object has none. */
export const metadataOf = (object: JsonValue | undefined): JsonObject =>
  isJsonObject(object) && isJsonObject(object.metadata) ? object.metadata : {}

/** The controller of an object by its `metadata`. Sanitised traces have owner references without UIDs, which are still names. */
export const controllerOf = ({ ownerReferences }: JsonObject): PodController | undefined => {
  const controller = listIn(ownerReferences)
    .filter(isJsonObject)
    .find((reference) => reference.controller === true)
  // The root of a replay owns what the replay writes, but created none of it: it is no controller.
  if (controller === undefined) return undefined
  return { apiVersion: String(controller.apiVersion), kind: String(controller.kind), name: String(controller.name) }
}

/**
 * The controllers of a pod as far as its object tells, the nearest first. Names of ReplicaSets end with a hash of the template, and those of a
 * CronJob's Jobs with their minute: without these they are the names of the Deployment and the CronJob.
 */
export const podControllers = (pod: JsonValue | undefined): ReadonlyArray<PodController> => {
  const metadata = metadataOf(pod)
  const nearest = controllerOf(metadata)
  if (nearest === undefined) return []
  const { kind, name } = nearest
  if (kind === "ReplicaSet") {
    const hash = isJsonObject(metadata.labels) ? metadata.labels["pod-template-hash"] : undefined
    // Only Deployments label pods so.
    if (typeof hash === "string" && name.endsWith(`-${hash}`))
      return [nearest, { apiVersion: "apps/v1", kind: "Deployment", name: name.slice(0, -hash.length - 1) }]
  }
  const scheduled = kind === "Job" ? /^(.+)-\d{8,}$/.exec(name)?.[1] : undefined
  return scheduled === undefined ? [nearest] : [nearest, { apiVersion: "batch/v1", kind: "CronJob", name: scheduled }]
}

/** Keys of all under which the trace may know the pod's life: its owners from the nearest up, then itself. */
export const ownersInTrace = (
  namespace: string,
  { metadata }: Pick<Pod, "metadata">,
  chain: ReadonlyArray<PodController>,
  { namespacePrefix }: IdentityOptions,
): ReadonlyArray<string> => {
  const original = withoutPrefix(namespace, namespacePrefix)
  const itself = metadata.annotations?.[originalOwnerAnnotation] ?? metadata.name ?? ""
  return [
    ...chain.map(({ apiVersion, kind, name }) => ownerKey(`${apiVersion}.${kind}`, original, name)),
    ownerKey(podKind, original, itself),
  ]
}

/**
 * The hash of the stable spec without what the replay has added, by which the trace can know it (W-38: SimKube hashes what its own driver
 * has changed, so a custom resource's pods never match). @throws NestingTooDeepError
 */
export const recordedHash = (spec: JsonObject, { placement, namespacePrefix }: IdentityOptions): bigint =>
  stablePodSpecHash(asRecorded(spec, placement, namespacePrefix))

/** The hash and the number that the pod got when it was created. */
export const rememberedIdentity = (pod: unknown): { readonly hash: bigint; readonly number: number } | undefined => {
  const metadata = isRecord(pod) && isRecord(pod.metadata) ? pod.metadata : {}
  const annotations = isRecord(metadata.annotations) ? metadata.annotations : {}
  const [hash, number] = [stableHashAnnotation, sequenceAnnotation].map((name) => String(annotations[name] ?? ""))
  if (hash === undefined || !/^\d{1,20}$/.test(hash) || !/^\d{1,9}$/.test(number ?? "")) return undefined
  return { hash: BigInt(hash), number: Number(number) }
}

const withoutPrefix = (name: string, prefix: string): string =>
  prefix !== "" && name.startsWith(`${prefix}-`) ? name.slice(prefix.length + 1) : name

const asRecorded = (spec: JsonObject, { nodeSelector, taintKey }: Placement, prefix: string): JsonObject => {
  let left = spec
  if (isJsonObject(left.nodeSelector)) {
    let selector = left.nodeSelector
    for (const [key, value] of Object.entries(nodeSelector))
      if (selector[key] === value) selector = withoutMember(selector, key)
    left = withOrWithout(left, "nodeSelector", selector, Object.keys(selector).length)
  }
  if (Array.isArray(left.tolerations) && taintKey !== undefined) {
    const tolerations = listIn(left.tolerations).filter((each) => !(isJsonObject(each) && each.key === taintKey))
    left = withOrWithout(left, "tolerations", tolerations, tolerations.length)
  }
  const { priorityClassName } = left
  return typeof priorityClassName === "string"
    ? withMember(left, "priorityClassName", withoutPrefix(priorityClassName, prefix))
    : left
}

const withOrWithout = (object: JsonObject, key: string, value: JsonValue, size: number): JsonObject =>
  size === 0 ? withoutMember(object, key) : withMember(object, key, value)
