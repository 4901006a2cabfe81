/** Everything that decides what the manifests say. The command line fills it in; nothing here is read from anywhere. */
import type { TrackedKind } from "../recorder/configuration/tracked-kind.ts"
import type { Permissions } from "./rights/permissions.ts"

/** Where the recording is kept. */
export interface Volume {
  /** Kubernetes quantity: `10Gi`. An emptyDir is limited to it, a claim asks for it. */
  readonly size: string
  /** Whether a PersistentVolumeClaim keeps the recording when the pod goes. */
  readonly isClaim: boolean
  /** StorageClass of the claim; `undefined`: the cluster's default. */
  readonly storageClass: string | undefined
}

/** Who may export: anybody who reaches the port, those whom the API server lets, or who has a token of a Secret. */
export type Authentication =
  | { readonly tag: "none" }
  | { readonly tag: "kubernetes" }
  | { readonly tag: "token"; readonly secret: SecretKey }

/** A value of a Secret in the recorder's namespace. */
export interface SecretKey {
  readonly name: string
  readonly key: string
}

/** Of that Secret as well: one token, for Prometheus. */
export const metricsKey = "metrics"

export interface ManifestSettings {
  /** Of the Deployment and, unless said otherwise, of everything else. */
  readonly name: string
  /** Where the recorder runs, not what it records. */
  readonly namespace: string
  readonly image: string
  /** Of kubereel, for the label. */
  readonly version: string
  /** The configuration file as it is, comments included. */
  readonly configuration: string
  /** What that file means, `recordedNamespaces` applied. */
  readonly kinds: ReadonlyArray<TrackedKind>
  /** `--namespace` of the recorder; empty: the whole cluster. */
  readonly recordedNamespaces: ReadonlyArray<string>
  readonly allowSecrets: boolean
  readonly permissions: Permissions
  readonly volume: Volume
  readonly fsync: "interval" | "always"
  readonly authentication: Authentication
  /** Where in object stores the recorder may write traces, as `--allow-target` of the recorder takes them. */
  readonly allowedTargets: ReadonlyArray<string>
  /** TCP ports of those stores. */
  readonly targetPorts: ReadonlyArray<number>
  /** Secret with environment variables that let the recorder into those stores; `undefined`: it has none. */
  readonly targetSecret: string | undefined
  /** Address to listen on within the pod: `0.0.0.0`, or `::` where pods have no IPv4 address. */
  readonly bind: string
  /** Objects of the tracked kinds that are alive at once. */
  readonly expectedObjects: number
  /** Changes of them a second, at the busiest. */
  readonly expectedChangesPerSecond: number
  /** TCP ports that the API server listens on, behind its Service. */
  readonly apiServerPorts: ReadonlyArray<number>
  /** CIDR blocks that may reach the recorder, besides the pods that may. */
  readonly allowedBlocks: ReadonlyArray<string>
  /** Objects of the Prometheus operator and a dashboard for Grafana. */
  readonly monitoring: boolean
  /** Namespace of the Prometheus that scrapes. */
  readonly monitoringNamespace: string
}

/** Port of the recorder's HTTP interface, as for `reel record`. */
export const httpPort = 7777

/** User and group of the process, those of distroless' nonroot; the image has no other but root. */
export const userId = 65_532

/** Labels of everything. */
export const labelsOf = ({ name, version }: Pick<ManifestSettings, "name" | "version">) => ({
  ...selectorOf({ name }),
  "app.kubernetes.io/component": "recorder",
  "app.kubernetes.io/part-of": "kubereel",
  "app.kubernetes.io/version": version,
})

/** Labels by which pods are found. Never changes: a Deployment's selector cannot. */
export const selectorOf = ({ name }: Pick<ManifestSettings, "name">) => ({
  "app.kubernetes.io/name": "kubereel",
  "app.kubernetes.io/instance": name,
})
