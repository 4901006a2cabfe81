/** Findings as a person counts them: twenty pods of one Deployment that crash are one thing that is wrong. */

import { type Finding, type FindingCode, findingCodes } from "../../timeline/index.ts"

/** One thing that is wrong. */
export interface FindingGroup {
  /** The same for the same thing, whatever is found later. */
  readonly key: string
  readonly code: FindingCode
  /** What the objects have in common: the name, or the beginning of the generated names. */
  readonly name: string
  readonly namespace: string
  readonly gvk: string
  /** Newest first, at least one. */
  readonly findings: ReadonlyArray<Finding>
  readonly from: number
  /** Absent: one of them is still so. */
  readonly to?: number
}

/** The most serious first: what is broken before what is late. */
const severity: ReadonlyArray<FindingCode> = [
  ...(["node-not-ready", "crash-loop", "out-of-memory", "image-not-pulled", "unscheduled-pod"] as const),
  ...(["failed-pod", "failed-job", "stalled-roll-out", "replicas-missing", "node-under-pressure"] as const),
]

const rankOf = (code: FindingCode): number => {
  const rank = severity.indexOf(code)
  return rank < 0 ? severity.length + findingCodes.indexOf(code) : rank
}

/** Kubernetes makes names of these characters, which spell no words. */
const suffix = "[bcdfghjklmnpqrstvwxz2456789]"
const generated = new RegExp(`(?:-${suffix}{6,10})?-${suffix}{5}$|-\\d+$`)

/** `web-…` for `web-6d5f8c9b7-x2x4z` and `db-0`. A finding does not say who owns its object; generated names do. */
export const stemOf = ({ gvk, name }: Pick<Finding["object"], "gvk" | "name">): string =>
  /\.(?:Pod|Job|ReplicaSet)$/.test(gvk) ? name.replace(generated, "-…") : name

/** By what is wrong, most serious first; within it the newest first. */
export const groupsOf = (findings: ReadonlyArray<Finding>): ReadonlyArray<FindingGroup> => {
  const groups = new Map<string, Finding[]>()
  for (const finding of findings) {
    const { gvk, namespace } = finding.object
    const key = JSON.stringify([finding.code, gvk, namespace, stemOf(finding.object)])
    const known = groups.get(key)
    if (known === undefined) groups.set(key, [finding])
    else known.push(finding)
  }
  return [...groups]
    .flatMap(groupOf)
    .sort((one, other) => rankOf(one.code) - rankOf(other.code) || other.from - one.from)
}

const groupOf = ([key, findings]: readonly [string, ReadonlyArray<Finding>]): ReadonlyArray<FindingGroup> => {
  const sorted = findings.toSorted((one, other) => other.from - one.from)
  const [first] = sorted
  if (first === undefined) return []
  const { gvk, namespace, name } = first.object
  const isOne = sorted.every(({ object }) => object.name === name)
  const isOver = sorted.every(({ to }) => to !== undefined)
  return [
    {
      ...{ key, code: first.code, gvk, namespace, name: isOne ? name : stemOf(first.object), findings: sorted },
      from: sorted.reduce((least, each) => Math.min(least, each.from), first.from),
      ...(isOver && { to: sorted.reduce((most, each) => Math.max(most, each.to ?? 0), 0) }),
    },
  ]
}
