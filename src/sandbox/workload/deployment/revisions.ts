/** Revision numbers, and the annotations that hold them in Deployments and their ReplicaSets. */

import type { StringMap } from "../../../kube/client/objects.ts"
import type { ReplicaSet } from "../replica-set/replica-set-object.ts"
import { type Deployment, maxSurge, replicasOf } from "./deployment-object.ts"

const prefix = "deployment.kubernetes.io"
export const revisionAnnotation = `${prefix}/revision`
const historyAnnotation = `${prefix}/revision-history`
export const desiredAnnotation = `${prefix}/desired-replicas`
export const maximumAnnotation = `${prefix}/max-replicas`

/** Not copied from the Deployment to its ReplicaSets. */
const own = new Set([
  "kubectl.kubernetes.io/last-applied-configuration",
  revisionAnnotation,
  historyAnnotation,
  desiredAnnotation,
  maximumAnnotation,
  "deprecated.deployment.rollback.to",
])

/** Characters of the history annotation; more than some 100 revisions are of no use. */
const maximumHistory = 2000

/** 0 without one; `undefined` if it is not a number. */
export const revisionOf = ({ metadata }: ReplicaSet): number | undefined => {
  const text = metadata.annotations?.[revisionAnnotation]
  if (text === undefined) return 0
  return /^[+-]?\d+$/.test(text) ? Number(text) : undefined
}

export const nextRevision = (old: ReadonlyArray<ReplicaSet>): number =>
  Math.max(0, ...old.map((replicaSet) => revisionOf(replicaSet) ?? 0)) + 1

/** The annotations of the new ReplicaSet at this revision; for an existing one, sizes are left to scaling. */
export const newReplicaSetAnnotations = (
  deployment: Deployment,
  annotations: StringMap,
  revision: number,
  exists: boolean,
): StringMap => {
  const next: Record<string, string> = { ...annotations }
  for (const [name, value] of Object.entries(deployment.metadata.annotations ?? {})) {
    if (!own.has(name)) next[name] = value
  }
  const before = annotations[revisionAnnotation]
  if (before === undefined || before === "" || /^[+-]?\d+$/.test(before)) {
    if (Number(before ?? 0) < revision) {
      next[revisionAnnotation] = String(revision)
      if (before !== undefined) next[historyAnnotation] = grownHistory(annotations[historyAnnotation] ?? "", before)
    }
  }
  return exists ? next : { ...next, ...sizeAnnotations(deployment) }
}

const grownHistory = (history: string, revision: string): string => {
  if (history === "") return revision
  const entries = [...history.split(","), revision]
  while (entries.join(",").length > maximumHistory && entries.length > 1) entries.shift()
  return entries.join(",")
}

/** The Deployment's size and maximum size when the ReplicaSet was last scaled: the base of proportional scaling. */
export const sizeAnnotations = (deployment: Deployment): StringMap => ({
  [desiredAnnotation]: String(replicasOf(deployment)),
  [maximumAnnotation]: String(replicasOf(deployment) + maxSurge(deployment)),
})

/** A size annotation as a number; `undefined` if it is missing or not an int32. */
export const annotatedSize = (replicaSet: ReplicaSet, annotation: string): number | undefined => {
  const text = replicaSet.metadata.annotations?.[annotation] ?? ""
  return /^\d+$/.test(text) && Number(text) < 2 ** 31 ? Number(text) : undefined
}
