/** The kinds that the benchmarks' cluster has, and where an API server would have them. */

export interface BenchKind {
  readonly kind: string
  /** `apps/v1`; `v1` for the core group. */
  readonly apiVersion: string
  readonly plural: string
  /** Length in bytes of one object as a compact watch line, framing aside. */
  readonly lineBytes: number
}

export const deployments: BenchKind = {
  kind: "Deployment",
  apiVersion: "apps/v1",
  plural: "deployments",
  lineBytes: 2900,
}
export const replicaSets: BenchKind = {
  kind: "ReplicaSet",
  apiVersion: "apps/v1",
  plural: "replicasets",
  lineBytes: 2900,
}
/** 100,000 of them are 430 MB of JSON. */
export const pods: BenchKind = { kind: "Pod", apiVersion: "v1", plural: "pods", lineBytes: 4300 }

/** The three kinds of every scenario. */
export const baseKinds: ReadonlyArray<BenchKind> = [deployments, replicaSets, pods]

/** Custom resources `Kind1` to `Kind<count>`, for what a further kind costs. */
export const furtherKinds = (count: number): ReadonlyArray<BenchKind> =>
  Array.from({ length: count }, (_, index) => ({
    kind: `Kind${index + 1}`,
    apiVersion: "bench.example.com/v1",
    plural: `kind${index + 1}s`,
    lineBytes: 3000,
  }))

/** `/api/v1` or `/apis/<group>/<version>`. */
export const groupPathOf = (kind: BenchKind): string =>
  kind.apiVersion.includes("/") ? `/apis/${kind.apiVersion}` : `/api/${kind.apiVersion}`

/** Path of the kind's collection in all namespaces. */
export const pathOf = (kind: BenchKind): string => `${groupPathOf(kind)}/${kind.plural}`

/** The kind as a recorder's configuration writes it: `apps/v1.Deployment`. */
export const gvkOf = (kind: BenchKind): string => `${kind.apiVersion}.${kind.kind}`
