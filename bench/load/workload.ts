/** The options of the generator: how large its cluster is and what happens in it. */
import { type BenchKind, baseKinds, furtherKinds } from "./bench-kinds.ts"
import type { GeneratorOptions } from "./generator.ts"

/** The scenario's default applies to each that is not given. */
export interface Workload {
  /** Events a second; default as fast as the reader takes them. */
  readonly rate?: number
  /** Share of events that change `status` alone, 0 to 1. */
  readonly heartbeatShare?: number
  /** Length of a Deployment and ReplicaSet as a compact watch line, bytes. */
  readonly objectBytes?: number
  /** Kinds followed: Deployments, ReplicaSets, Pods, then custom resources. */
  readonly kinds?: number
  /** Deployments, and as many ReplicaSets. */
  readonly objects?: number
  readonly pods?: number
}

export type WorkloadOption = keyof Workload

export const smallestObjectBytes = 1000
/** An API server rejects objects above 1.5 MB; Deployments beyond a third of that do not occur. */
export const largestObjectBytes = 500_000
export const mostKinds = 160

/** Bytes of objects in a list without a given number: 1,000 of the usual size, fewer of large ones. */
const listBytes = 64e6
const usualObjects = 1000

/** The first `count` kinds. */
export const kindsOf = ({ kinds = baseKinds.length }: Workload): ReadonlyArray<BenchKind> => [
  ...baseKinds.slice(0, kinds),
  ...furtherKinds(Math.max(0, kinds - baseKinds.length)),
]

export const generatorOptionsOf = (workload: Workload): GeneratorOptions => {
  const { heartbeatShare, objectBytes, objects, pods, kinds = 0 } = workload
  const fitting = objectBytes === undefined ? usualObjects : Math.floor(listBytes / objectBytes)
  const workloads = objects ?? Math.min(usualObjects, fitting)
  return {
    listed: { Deployment: workloads, ReplicaSet: workloads, ...(pods !== undefined && { Pod: pods }) },
    furtherKinds: Math.max(0, kinds - baseKinds.length),
    ...(heartbeatShare !== undefined && { heartbeatShare }),
    ...(objectBytes !== undefined && { objectBytes }),
  }
}

/** For the line below a table; empty for the scenario's own. */
export const describeWorkload = ({ rate, heartbeatShare, objectBytes, kinds, objects, pods }: Workload): string =>
  [
    rate === undefined ? "" : `${rate.toLocaleString("en")} events/s`,
    heartbeatShare === undefined ? "" : `${Math.round(heartbeatShare * 100)} % heartbeats`,
    objectBytes === undefined ? "" : `objects of ${objectBytes.toLocaleString("en")} bytes`,
    kinds === undefined ? "" : `${kinds} kinds`,
    objects === undefined ? "" : `${objects.toLocaleString("en")} Deployments and ReplicaSets`,
    pods === undefined ? "" : `${pods.toLocaleString("en")} Pods`,
  ]
    .filter((part) => part !== "")
    .join(", ")
